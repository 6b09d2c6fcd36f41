// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/machine_rates.h"

#include <gtest/gtest.h>
#include <vector>

#include "engine/backend/backend_registry.h"

namespace halfscope {
namespace {

RateOptions quick()
{
    RateOptions options;
    options.shape = {64, 48, 32};
    options.seconds = 0.01;
    options.threads = 2;
    return options;
}

TEST(MachineRates, MeasuresEveryFormatOnEveryBackendThereIs)
{
    const MachineRates rates = measureMachine(quick());
    EXPECT_TRUE(rates.complete);
    EXPECT_EQ(rates.threads, 2);
    std::size_t expected = 0;
    for (const BackendInfo& backend : listBackends()) {
        if (!backend.available) {
            EXPECT_EQ(rates.find(backend.key, FormatId::Fp32), nullptr);
            continue;
        }
        for (const FloatFormat& format : floatFormats()) {
            ++expected;
            const ProductRate* product = rates.find(backend.key, format.id);
            ASSERT_NE(product, nullptr) << backend.key << " " << format.key;
            EXPECT_EQ(product->problem, "");
            EXPECT_GE(product->rate.runs, 3);
            EXPECT_GT(product->rate.low, 0);
            EXPECT_LE(product->rate.low, product->rate.median);
            EXPECT_LE(product->rate.median, product->rate.high);
            EXPECT_EQ(product->native, makeBackend(backend.key)->multipliesNatively(format.id));
        }
    }
    EXPECT_EQ(rates.products.size(), expected);
    EXPECT_GT(rates.copy.median, 0);
    EXPECT_GT(rates.multiplyAdd.median, 0);
}

// What is emulated must never pass for hardware: on the CPU backend that is everything but FP32.
TEST(MachineRates, TheCpuBackendMultipliesNothingButFp32Itself)
{
    const auto cpu = makeBackend("cpu", 1);
    for (const FloatFormat& format : floatFormats()) {
        EXPECT_EQ(cpu->multipliesNatively(format.id), format.id == FormatId::Fp32) << format.key;
        EXPECT_EQ(cpu->attendsNatively(format.id), format.id == FormatId::Fp32) << format.key;
    }
}

// A product cannot be faster than multiply-adds that wait for nothing. A busy machine may disturb either, so the best
// of both are compared, with room.
TEST(MachineRates, AProductIsNoFasterThanTheBestOfTheProcessor)
{
    RateOptions options = quick();
    options.shape = {256, 256, 256};
    options.seconds = 0.15;
    options.threads = 1;
    const MachineRates rates = measureMachine(options);
    EXPECT_LE(rates.find("cpu", FormatId::Fp32)->rate.high, 1.5 * rates.multiplyAdd.high);
}

TEST(MachineRates, GivesUpWhenTold)
{
    RateOptions options = quick();
    std::vector<double> shares;
    options.goOn = [&](double share, const std::string& what) {
        shares.push_back(share);
        return what.find("FP16 on cpu") == std::string::npos;
    };
    const MachineRates rates = measureMachine(options);
    EXPECT_FALSE(rates.complete);
    EXPECT_GT(rates.multiplyAdd.runs, 0);
    EXPECT_NE(rates.find("cpu", FormatId::Fp32), nullptr);
    EXPECT_EQ(rates.find("cpu", FormatId::Fp16), nullptr);
    for (std::size_t i = 1; i < shares.size(); ++i)
        EXPECT_LE(shares[i - 1], shares[i]);
    EXPECT_LT(shares.back(), 1.0);
}

} // namespace
} // namespace halfscope
