// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/thread_pool.h"

#include <chrono>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace halfscope::test {
namespace {

constexpr double kAlwaysFork = 1e12; // nanoseconds of work

TEST(ThreadPool, RunsEveryChunkOnce)
{
    for (const int threads : {1, 2, 3, 5, 16}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        for (const std::int64_t chunks : {0, 1, 2, 3, 7, 100, 5000}) {
            std::vector<int> count(static_cast<std::size_t>(chunks), 0); // plain: TSan would see two writers
            pool.parallelFor(chunks, kAlwaysFork, [&](std::int64_t chunk, int worker) {
                ++count[static_cast<std::size_t>(chunk)];
                EXPECT_GE(worker, 0);
                EXPECT_LT(worker, threads);
            });
            for (const int c : count)
                ASSERT_EQ(c, 1);
        }
    }
}

TEST(ThreadPool, UsesAsManyThreadsAsProcessorsByDefault)
{
    ThreadPool pool(0);
    EXPECT_EQ(pool.threads(), std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

TEST(ThreadPool, NoTwoChunksShareAWorkerAtOnce)
{
    ThreadPool pool(4);
    std::vector<std::atomic<int>> busy(4);
    for (int round = 0; round < 200; ++round)
        pool.parallelFor(50, kAlwaysFork, [&](std::int64_t, int worker) {
            EXPECT_EQ(busy[static_cast<std::size_t>(worker)].fetch_add(1), 0);
            EXPECT_EQ(busy[static_cast<std::size_t>(worker)].fetch_sub(1), 1);
        });
}

TEST(ThreadPool, SmallJobsStayOnTheCaller)
{
    ThreadPool pool(4);
    const auto self = std::this_thread::get_id();
    for (int i = 0; i < 100; ++i)
        pool.parallelFor(8, ThreadPool::kInlineNanoseconds / 2.0, [&](std::int64_t, int worker) {
            EXPECT_EQ(std::this_thread::get_id(), self);
            EXPECT_EQ(worker, 0);
        });
}

TEST(ThreadPool, NestedJobsRunInlineWithTheSameWorker)
{
    ThreadPool pool(3);
    std::atomic<int> total{0};
    pool.parallelFor(20, kAlwaysFork, [&](std::int64_t, int outer) {
        const auto self = std::this_thread::get_id();
        pool.parallelFor(5, kAlwaysFork, [&](std::int64_t, int inner) {
            EXPECT_EQ(inner, outer);
            EXPECT_EQ(std::this_thread::get_id(), self);
            ++total;
        });
    });
    EXPECT_EQ(total, 100);
}

TEST(ThreadPool, ExceptionsReachTheCallerAndThePoolGoesOn)
{
    for (const int threads : {1, 4}) {
        ThreadPool pool(threads);
        for (int round = 0; round < 50; ++round) {
            std::atomic<int> begun{0};
            try {
                pool.parallelFor(1000, kAlwaysFork, [&](std::int64_t chunk, int) {
                    ++begun;
                    if (chunk == 10)
                        throw std::runtime_error("chunk ten");
                });
                FAIL() << "the exception was lost";
            } catch (const std::runtime_error& error) {
                EXPECT_STREQ(error.what(), "chunk ten");
            }
            EXPECT_GE(begun, 1);
            std::atomic<int> after{0};
            pool.parallelFor(64, kAlwaysFork, [&](std::int64_t, int) { ++after; });
            EXPECT_EQ(after, 64);
        }
    }
}

// The caller alone can finish a job: a worker that gets no processor must not be waited for.
TEST(ThreadPool, AStuckWorkerHoldsUpOnlyItsOwnChunk)
{
    ThreadPool pool(2);
    std::atomic<bool> release{false};
    std::atomic<int> done{0};
    std::thread helper([&] {
        // Every chunk but the one that waits is done by the other thread.
        while (done.load() != 99)
            std::this_thread::yield();
        release = true;
    });
    std::atomic<bool> first{true};
    pool.parallelFor(100, kAlwaysFork, [&](std::int64_t, int) {
        if (first.exchange(false)) {
            while (!release.load())
                std::this_thread::yield();
        } else {
            ++done;
        }
    });
    helper.join();
    EXPECT_EQ(done, 99);
}

// Jobs of all sizes in a row, with pauses long enough for workers to fall asleep, on more threads than processors.
TEST(ThreadPool, SurvivesAStormOfJobs)
{
    for (const int threads : {2, 3, 8}) {
        ThreadPool pool(threads);
        std::uint64_t total = 0;
        std::uint64_t want = 0;
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
        for (std::uint64_t round = 0; std::chrono::steady_clock::now() < end; ++round) {
            const auto chunks = static_cast<std::int64_t>(round % 37);
            std::vector<std::uint64_t> values(static_cast<std::size_t>(chunks));
            pool.parallelFor(chunks, kAlwaysFork, [&](std::int64_t chunk, int) {
                values[static_cast<std::size_t>(chunk)] = static_cast<std::uint64_t>(chunk) + round;
            });
            total = std::accumulate(values.begin(), values.end(), total);
            for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
                want += static_cast<std::uint64_t>(chunk) + round;
            if (round % 64 == 0)
                std::this_thread::sleep_for(std::chrono::microseconds(round % 3 == 0 ? 0 : 300));
        }
        EXPECT_EQ(total, want);
    }
}

TEST(ThreadPool, ManyPoolsComeAndGo)
{
    for (int i = 0; i < 200; ++i) {
        ThreadPool pool(1 + i % 5);
        std::atomic<int> sum{0};
        if (i % 3 != 0)
            pool.parallelFor(10, kAlwaysFork, [&](std::int64_t, int) { ++sum; });
        EXPECT_EQ(sum, i % 3 != 0 ? 10 : 0);
    }
}

TEST(ThreadPool, AnIdlePoolUsesNoProcessorTime)
{
    ThreadPool pool(8);
    pool.parallelFor(100, kAlwaysFork, [](std::int64_t, int) {});
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // let them spin out
    const std::clock_t before = std::clock();                   // of the whole process
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    EXPECT_LT(used, 0.03) << "seconds of processor time in 0.3 s of doing nothing";
}

} // namespace
} // namespace halfscope::test
