// SPDX-License-Identifier: GPL-3.0-or-later
// The net holds: each planted mistake is seen, plainly or by the sanitizer whose business it is.
#include "planted_kernels.h"

#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backend/cuda/device_memory.h"
#include "simt.h"

namespace halfscope::test {
namespace {

using ::testing::HasSubstr;

template <typename T>
struct DeviceArray {
    explicit DeviceArray(std::size_t count) : memory(cuda::allocateDevice(count * sizeof(T), "a test")), size(count)
    {
        std::iota(data(), data() + size, T{0});
    }
    T* data() { return static_cast<T*>(memory.get()); }
    std::vector<T> values() { return {data(), data() + size}; }

    std::shared_ptr<void> memory;
    std::size_t size;
};

std::string errorOf(const std::function<void()>& work)
{
    try {
        work();
    } catch (const simt::Error& error) {
        return error.what();
    }
    return "no error";
}

std::vector<float> reversedIn(simt::Order order, void (*kernel)(float*))
{
    const simt::Options before = simt::options();
    simt::options().order = order;
    DeviceArray<float> x(cuda::kThreads);
    cuda::launch(nullptr, 1, 0, kernel, x.data());
    simt::options() = before;
    return x.values();
}

TEST(Planted, ARemovedBarrierShowsInTheOrderOfThreads)
{
    EXPECT_EQ(reversedIn(simt::Order::Forward, reverse), reversedIn(simt::Order::Reverse, reverse));
#ifndef __SANITIZE_THREAD__ // which would end the program
    EXPECT_NE(reversedIn(simt::Order::Forward, reverseWithoutBarrier),
              reversedIn(simt::Order::Reverse, reverseWithoutBarrier));
#endif
}

TEST(Planted, DivergentBarriersAreReported)
{
    DeviceArray<float> x(cuda::kThreads);
    const std::string other = errorOf([&] { cuda::launch(nullptr, 1, 0, barrierForSome, x.data(), 40U); });
    EXPECT_THAT(other, HasSubstr("wait at different __syncthreads"));
    EXPECT_THAT(other, HasSubstr("planted_kernels.h:"));
    EXPECT_THAT(errorOf([] { cuda::launch(nullptr, 1, 0, returnBeforeBarrier, 40U); }), HasSubstr("returned"));
    // And the stand-in still works.
    EXPECT_EQ(reversedIn(simt::Order::Forward, reverse), reversedIn(simt::Order::Shuffled, reverse));
}

TEST(Planted, AShuffleThatSomeLanesMissIsReported)
{
    DeviceArray<float> x(cuda::kThreads);
    EXPECT_THAT(errorOf([&] { cuda::launch(nullptr, 1, 0, shuffleForSome, x.data(), 20U); }), HasSubstr("deadlock"));
}

TEST(Planted, ImpossibleGridsAreReported)
{
    EXPECT_THAT(errorOf([] { cuda::launch(nullptr, 0, 0, returnBeforeBarrier, 256U); }), HasSubstr("grid"));
    EXPECT_THAT(errorOf([] { cuda::launch(nullptr, 1, 50 * 1024, returnBeforeBarrier, 256U); }),
                HasSubstr("shared memory"));
}

#ifdef __SANITIZE_ADDRESS__
TEST(PlantedDeathTest, OverrunsOfGlobalAndSharedMemory)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            DeviceArray<float> x(300);
            cuda::launch(nullptr, 2, 0, writeBeyondEnd, x.data());
        },
        "heap-buffer-overflow");
    EXPECT_DEATH(
        {
            DeviceArray<unsigned> x(cuda::kThreads);
            cuda::launch(nullptr, 1, 250 * sizeof(unsigned), writeBeyondShared, x.data());
        },
        "heap-buffer-overflow");
}
#endif

#ifdef __SANITIZE_THREAD__
TEST(PlantedDeathTest, ThreadsThatDoNotWait)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // The sanitizer ends the program with 66, at once or, where it is told to go on, at the end.
    const auto end = ::testing::ExitedWithCode(66);
    EXPECT_EXIT(
        {
            DeviceArray<float> x(cuda::kThreads);
            cuda::launch(nullptr, 1, 0, reverseWithoutBarrier, x.data());
            std::exit(0);
        },
        end, "data race");
    EXPECT_EXIT(
        {
            DeviceArray<unsigned> counter(1);
            cuda::launch(nullptr, 1, sizeof(unsigned), countWithoutAtomic, counter.data());
            std::exit(0);
        },
        end, "data race");
}
#endif

} // namespace
} // namespace halfscope::test
