// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/step_history.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace halfscope {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Compared as bits: a NaN is equal to itself, and -0.0 is not 0.0.
template <typename T>
bool same(T a, T b)
{
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

bool identical(const StepRecord& a, const StepRecord& b)
{
    return a.step == b.step && a.outcome == b.outcome && a.scaleEvent == b.scaleEvent && a.foundInf == b.foundInf &&
           a.overflowModule == b.overflowModule && a.overflowTap == b.overflowTap &&
           a.forwardSaturatedModule == b.forwardSaturatedModule && a.lostWeightsModule == b.lostWeightsModule &&
           a.bandFormat == b.bandFormat && same(a.bandAbsMin, b.bandAbsMin) && same(a.bandAbsMax, b.bandAbsMax) &&
           same(a.bandLowQuantile, b.bandLowQuantile) && same(a.loss, b.loss) && same(a.scale, b.scale) &&
           same(a.scaleNext, b.scaleNext) && a.growthTracker == b.growthTracker &&
           a.hysteresisLeft == b.hysteresisLeft && same(a.gradNorm, b.gradNorm) &&
           same(a.learningRate, b.learningRate) && a.appliedSteps == b.appliedSteps &&
           a.skippedSteps == b.skippedSteps && same(a.accuracy, b.accuracy) &&
           same(a.validationLoss, b.validationLoss) && same(a.validationAccuracy, b.validationAccuracy) &&
           same(a.gradAbsMin, b.gradAbsMin) && same(a.gradAbsMax, b.gradAbsMax) &&
           same(a.gradLowQuantile, b.gradLowQuantile) && same(a.shadowLoss, b.shadowLoss) && same(a.stepMs, b.stepMs) &&
           same(a.forwardMs, b.forwardMs) && same(a.backwardMs, b.backwardMs) && same(a.optimizerMs, b.optimizerMs) &&
           same(a.statisticsMs, b.statisticsMs) && same(a.shadowMs, b.shadowMs);
}

// Every field takes every kind of value it can have.
StepRecord wild(std::int64_t step, std::mt19937_64& random)
{
    const auto anyDouble = [&] { return std::bit_cast<double>(random()); };
    const auto anyFloat = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); };
    StepRecord r;
    r.step = step;
    r.outcome = static_cast<StepOutcome>(random() % 3);
    r.scaleEvent = random() % 2 != 0 ? ScaleEvent::Grew : ScaleEvent::None;
    r.foundInf = random() % 2 != 0;
    r.overflowModule = static_cast<std::int16_t>(random());
    r.overflowTap = static_cast<std::int8_t>(random());
    r.forwardSaturatedModule = static_cast<std::int16_t>(random());
    r.lostWeightsModule = static_cast<std::int16_t>(random());
    r.bandFormat = static_cast<FormatId>(random() % 5);
    r.bandAbsMin = anyFloat();
    r.bandAbsMax = anyFloat();
    r.bandLowQuantile = anyFloat();
    r.loss = anyDouble();
    r.scale = anyFloat();
    r.scaleNext = anyFloat();
    r.growthTracker = static_cast<std::int64_t>(random());
    r.hysteresisLeft = static_cast<std::int32_t>(random());
    r.gradNorm = random() % 2 != 0 ? kNan : -0.0;
    r.learningRate = anyFloat();
    r.appliedSteps = static_cast<std::int64_t>(random());
    r.skippedSteps = static_cast<std::int64_t>(random());
    r.accuracy = static_cast<double>(random() % 65) / 64.0;
    r.validationLoss = random() % 10 == 0 ? anyDouble() : kNan;
    r.gradAbsMin = anyFloat();
    r.gradAbsMax = anyFloat();
    r.gradLowQuantile = std::ldexp(1.0F, static_cast<int>(random() % 100) - 50);
    r.shadowLoss = std::numeric_limits<double>::infinity();
    r.stepMs = anyFloat();
    r.forwardMs = anyFloat();
    r.backwardMs = anyFloat();
    r.optimizerMs = anyFloat();
    r.statisticsMs = anyFloat();
    r.shadowMs = anyFloat();
    return r;
}

TEST(StepHistory, GivesEveryBitBack)
{
    std::mt19937_64 random(1);
    std::vector<StepRecord> all;
    StepHistory history;
    for (std::int64_t step = 1; step <= 5000; ++step) {
        all.push_back(wild(step, random));
        history.push_back(all.back());
    }
    ASSERT_EQ(history.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_TRUE(identical(history[i], all[i])) << i;
    EXPECT_TRUE(identical(history.back(), all.back()));
    std::size_t at = 0;
    for (const StepRecord& record : history)
        ASSERT_TRUE(identical(record, all[at++]));
    EXPECT_EQ(at, all.size());
    for (const std::int64_t step : {-3, 1, 2, 1024, 1025, 4096, 4097, 5000})
        EXPECT_EQ((*history.from(step)).step, std::max<std::int64_t>(step, 1));
    EXPECT_TRUE(history.from(5001) == history.end());
    EXPECT_THROW(static_cast<void>(history[5000]), std::out_of_range);
    EXPECT_THROW(history.push_back(all.front()), std::invalid_argument);
    const StepHistory copy = history;
    history.clear();
    EXPECT_TRUE(history.empty());
    EXPECT_TRUE(identical(copy[4999], all[4999])); // on its own
}

StepRecord plain(std::int64_t step)
{
    const std::uint64_t x = static_cast<std::uint64_t>(step) * 0x9E3779B97F4A7C15ULL;
    const auto noise = [x](int salt) { return static_cast<double>((x >> (8 + salt)) & 0xFFFFFF) * 0x1p-24; };
    StepRecord r;
    r.step = step;
    r.loss = static_cast<double>(static_cast<float>(2.0 + noise(1)));
    r.scale = r.scaleNext = 65536.0F;
    r.growthTracker = step % 2000;
    r.gradNorm = 1.0 + noise(3);
    r.appliedSteps = step;
    r.accuracy = noise(5) / 3.0;
    r.gradAbsMin = static_cast<float>(1e-9 + 1e-9 * noise(7));
    r.gradAbsMax = static_cast<float>(0.1 + noise(9));
    r.gradLowQuantile = 0x1p-28F;
    r.stepMs = static_cast<float>(1 + noise(11));
    r.forwardMs = static_cast<float>(1 + noise(13));
    r.backwardMs = static_cast<float>(1 + noise(15));
    r.optimizerMs = static_cast<float>(1 + noise(17));
    r.statisticsMs = static_cast<float>(1 + noise(19));
    if (step % 70'001 == 0) {
        r.outcome = StepOutcome::SkippedOverflow;
        r.foundInf = true;
        r.scaleNext = 32768.0F;
    }
    return r;
}

// Old steps are thinned, never changed: what is left is as it was, extremes and skips are left, and memory stays small.
TEST(StepHistory, ThinsOldStepsAndKeepsTheirExtremes)
{
    constexpr std::int64_t kSteps = 2'000'000;
    StepHistory history;
    std::size_t atMillion = 0;
    for (std::int64_t step = 1; step <= kSteps; ++step) {
        history.push_back(plain(step));
        if (step == 1'000'000)
            atMillion = history.bytes();
    }
    EXPECT_LE(atMillion, std::size_t{1'000'000} * 60); // 17 fields are constant or short, the others random
    EXPECT_LE(history.bytes(), std::size_t{StepHistory::kWholeSteps} * 60 + 12'000'000);
    std::cout << "1,000,000 steps: " << atMillion << " bytes; 2,000,000: " << history.bytes() << " bytes\n";

    const auto whole = static_cast<std::int64_t>(history.firstWhole());
    ASSERT_GT(whole, 900'000);
    std::int64_t last = 0;
    auto at = history.begin();
    for (std::int64_t group = 0; group < whole / 64; ++group) {
        double least = 1e9;
        double most = -1e9;
        float gradMost = 0;
        int skips = 0;
        double leastKept = 1e9;
        double mostKept = -1e9;
        float gradMostKept = 0;
        int skipsKept = 0;
        for (std::int64_t step = group * 64 + 1; step <= group * 64 + 64; ++step) {
            const StepRecord r = plain(step);
            least = std::min(least, r.loss);
            most = std::max(most, r.loss);
            gradMost = std::max(gradMost, r.gradAbsMax);
            skips += r.foundInf ? 1 : 0;
        }
        for (; at != history.end() && (*at).step <= group * 64 + 64; ++at) {
            const StepRecord r = *at;
            ASSERT_GT(r.step, last);
            last = r.step;
            ASSERT_TRUE(identical(r, plain(r.step)));
            leastKept = std::min(leastKept, r.loss);
            mostKept = std::max(mostKept, r.loss);
            gradMostKept = std::max(gradMostKept, r.gradAbsMax);
            skipsKept += r.foundInf ? 1 : 0;
        }
        ASSERT_EQ(least, leastKept);
        ASSERT_EQ(most, mostKept);
        ASSERT_EQ(gradMost, gradMostKept);
        ASSERT_EQ(skips, skipsKept);
    }
    // By index: the step itself or a kept one close by, which says that it is another.
    for (std::int64_t step = 1; step <= kSteps; step += 997) {
        const StepRecord r = history[static_cast<std::size_t>(step - 1)];
        ASSERT_LE(std::abs(r.step - step), 64);
        ASSERT_TRUE(identical(r, plain(r.step)));
        if (step > whole) {
            ASSERT_EQ(r.step, step);
        }
    }
}

} // namespace
} // namespace halfscope
