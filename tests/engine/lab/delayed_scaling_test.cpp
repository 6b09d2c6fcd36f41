// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/delayed_scaling.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include <gtest/gtest.h>

#include "engine/core/rng.h"

namespace halfscope {
namespace {

// By trial: the largest power of two that keeps amax within the largest number.
TEST(DelayedScaling, TheScaleIsTheLargestPowerOfTwoThatFits)
{
    Rng rng(7);
    for (const FormatId format : {FormatId::Fp8E4M3, FormatId::Fp8E5M2}) {
        const double largest = floatFormat(format).largest;
        for (int i = 0; i < 2000; ++i) {
            float amax =
                std::ldexp(1.0F + static_cast<float>(rng.below(1000)) / 1000.0F, static_cast<int>(rng.below(60)) - 30);
            if (i < 20) // where the quotient is a power of two, or just not
                amax = std::nextafter(static_cast<float>(largest) * std::ldexp(1.0F, i - 10),
                                      i % 2 == 0 ? 0.0F : std::numeric_limits<float>::infinity());
            const double scale = fp8Scale(format, amax, 0);
            EXPECT_LE(scale * static_cast<double>(amax), largest);
            EXPECT_GT(2.0 * scale * static_cast<double>(amax), largest);
            EXPECT_EQ(fp8Scale(format, amax, 3), static_cast<float>(scale / 8.0));
        }
        EXPECT_EQ(fp8Scale(format, static_cast<float>(largest), 0), 1.0F);
        EXPECT_EQ(fp8Scale(format, std::numeric_limits<float>::denorm_min(), 0), 0x1p100F);
        EXPECT_EQ(fp8Scale(format, std::numeric_limits<float>::max(), 0), 0x1p-100F);
    }
}

TEST(DelayedScaling, FollowsTheMaximumOfItsHistory)
{
    const Fp8Scaling recipe{.history = 4};
    DelayedScale scale;
    std::deque<float> past;
    Rng rng(3);
    EXPECT_EQ(scale.scale(), 1.0F) << "nothing is known in the first step";
    for (int step = 0; step < 200; ++step) {
        const float amax = std::ldexp(1.0F, static_cast<int>(rng.below(20)) - 10) * 1.25F;
        scale.observe(amax / 2);
        scale.observe(amax);
        scale.observe(amax / 4);
        const float before = scale.scale();
        EXPECT_EQ(before, past.empty() ? 1.0F : fp8Scale(FormatId::Fp8E5M2, *std::ranges::max_element(past), 0))
            << "of past steps only";
        scale.advance(recipe, FormatId::Fp8E5M2);
        past.push_front(amax);
        if (past.size() > 4)
            past.pop_back();
    }
}

TEST(DelayedScaling, AStepOfZerosLeavesTheHistoryAlone)
{
    EXPECT_EQ(Fp8Scaling{}.history, 1024) << "the original's";
    const Fp8Scaling recipe{.history = 2};
    DelayedScale scale;
    const auto step = [&](float amax) {
        scale.observe(amax);
        scale.advance(recipe, FormatId::Fp8E4M3);
        return scale.scale();
    };
    EXPECT_EQ(step(4.0F), 64.0F); // 448 / 4 = 112
    EXPECT_EQ(step(1.0F), 64.0F);
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(step(0.0F), 64.0F) << "4 is still one of the two";
    EXPECT_EQ(step(1.0F), 256.0F) << "and now it is not: 448 / 1";
}

TEST(DelayedScaling, StaysWhereNothingIsKnown)
{
    const Fp8Scaling recipe{.history = 1};
    DelayedScale scale;
    scale.observe(2.0F);
    scale.advance(recipe, FormatId::Fp8E4M3);
    EXPECT_EQ(scale.scale(), 128.0F); // 448 / 2 = 224
    scale.observe(0.0F);
    scale.advance(recipe, FormatId::Fp8E4M3);
    EXPECT_EQ(scale.scale(), 128.0F) << "all zeros";
    scale.observe(std::numeric_limits<float>::infinity());
    scale.advance(recipe, FormatId::Fp8E4M3);
    EXPECT_EQ(scale.scale(), 128.0F) << "overflowed";
    scale.advance({.delayed = false}, FormatId::Fp8E4M3);
    EXPECT_EQ(scale.scale(), 1.0F);
}

} // namespace
} // namespace halfscope
