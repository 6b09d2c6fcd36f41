// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/statistical_rules.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/rng.h"
#include "engine/numerics/cast.h"

namespace halfscope {
namespace {

GradientFacts factsOf(const std::vector<float>& scaled, double scale, FormatId format = FormatId::Fp16)
{
    TensorStatistics s;
    castAndMeasure(format, scaled.data(), nullptr, scaled.size(), static_cast<float>(1.0 / scale), s);
    GradientFacts facts;
    facts.add(s, format);
    return facts;
}

// Values from the published rule's own arithmetic, run in NumPy with a limit of 2^16 and clipping to [1, 2^24]; see the
// research notes on OpenSeq2Seq's LogMax.
TEST(LogNormalRule, TraceOfThePublishedRule)
{
    LogNormalRule rule;
    EXPECT_FALSE(rule.log2Scale(16).has_value());
    const double maxima[] = {3, 3, 4, 2, 3, 5, 3, 3};
    const double expected[] = {13, 13, 11.2063, 10.8165, 11.0472, 9.7446, 9.9875, 10.1847};
    for (int i = 0; i < 8; ++i) {
        rule.observe(maxima[i]);
        EXPECT_NEAR(*rule.log2Scale(16), expected[i], 5e-5) << i;
    }
}

// If the maxima are log-normal, one step in a thousand is above the limit: with 100,000 draws the count is binomial
// with mean 100 and deviation 10, and the running estimates add some.
TEST(LogNormalRule, LetsAboutOneStepInAThousandThrough)
{
    Rng rng(7);
    LogNormalRule rule;
    int over = 0;
    constexpr int kSteps = 100'000;
    for (int i = 0; i < kSteps; ++i) {
        const double x = -12.0 + 1.5 * rng.normal();
        if (i > 2000)
            over += *rule.log2Scale(16) + x > 16 ? 1 : 0;
        rule.observe(x);
    }
    EXPECT_GT(over, 30);
    EXPECT_LT(over, 300);
}

TEST(ScaleAdvisor, AnOverflowIsEnteredWithItsSizeAndEmptyStepsNotAtAll)
{
    const ScalerConfig bounds;
    ScaleAdvisor advisor;
    advisor.observe(factsOf({1.0F, -2.0F}, 1.0), 1.0, 0.01, bounds);
    const double before = advisor.advice().logNormal;
    EXPECT_EQ(before, 0x1p14);                                      // 65520 / 2 is a hair below 2^15
    advisor.observe(factsOf({0.0F, 0.0F}, 1.0), 1.0, 0.01, bounds); // nothing to learn
    EXPECT_EQ(advisor.advice().logNormal, before);
    for (int i = 0; i < 5000; ++i)
        advisor.observe(factsOf({1.0F, -2.0F}, 1.0), 1.0, 0.01, bounds);
    advisor.observe(factsOf({1.0F, HUGE_VALF}, 1.0), 1.0, 0.01, bounds); // at least 2^16
    const double dip = advisor.advice().logNormal;
    EXPECT_LT(dip, before);
    EXPECT_GE(dip, before / 8);
    for (int i = 0; i < 200; ++i)
        advisor.observe(factsOf({1.0F, -2.0F}, 1.0), 1.0, 0.01, bounds);
    EXPECT_GE(advisor.advice().logNormal, before / 4); // not pinned for thousands of steps
}

TEST(PreventiveScale, HalvesWhenTheTopOctavesFillUp)
{
    // 8190 = 65520 / 8 is where the top octaves begin; in whole bins that is 2^13.
    EXPECT_EQ(preventiveScale(factsOf({8192.0F, 1.0F}, 1.0), 1.0), 0.5);
    EXPECT_EQ(preventiveScale(factsOf({8191.0F, 1.0F}, 1.0), 1.0), 2.0);
    EXPECT_EQ(preventiveScale(factsOf({8192.0F, 1.0F}, 256.0), 256.0), 128.0); // judged as scaled
    EXPECT_EQ(preventiveScale(factsOf({8191.0F, 1.0F}, 256.0), 256.0), 512.0);
    EXPECT_EQ(preventiveScale(factsOf({1.0F, HUGE_VALF}, 1.0), 1.0), 0.5);
    // One value in more than ten million is let pass.
    GradientFacts many = factsOf({8192.0F}, 1.0);
    many.histogram.at(0) = 10'000'001;
    EXPECT_EQ(preventiveScale(many, 1.0), 2.0);
    many.histogram.at(0) = 9'000'000;
    EXPECT_EQ(preventiveScale(many, 1.0), 0.5);
}

TEST(StabilityBandScale, MovesOnlyWhenOutside)
{
    std::vector<float> values(100, 0x1p-20F);
    values.push_back(1.0F);
    const GradientFacts facts = factsOf(values, 1.0);
    // The band: 2^-24 / 2^-20 = 2^-4 to 65504.
    EXPECT_EQ(stabilityBandScale(facts, 1.0, 0.01), 1.0);
    EXPECT_EQ(stabilityBandScale(facts, 0x1p-4, 0.01), 0x1p-4);
    EXPECT_EQ(stabilityBandScale(facts, 0x1p-9, 0.01), 0x1p-4);
    EXPECT_EQ(stabilityBandScale(facts, 60000.0, 0.01), 60000.0);
    EXPECT_EQ(stabilityBandScale(facts, 0x1p20, 0.01), 0x1p14); // an octave below the top
    // An empty band: the top wins, for an overflow costs a step.
    std::vector<float> wide = {0x1p-60F, 1.0F};
    EXPECT_EQ(stabilityBandScale(factsOf(wide, 1.0), 1.0, 0.01), 0x1p14);
    EXPECT_EQ(stabilityBandScale(factsOf({0.0F}, 1.0), 8.0, 0.01), 8.0);
}

TEST(ScaleAdvisor, KeepsToTheBoundsAndNeedsANarrowFormat)
{
    ScalerConfig bounds;
    bounds.maxScale = 1024;
    ScaleAdvisor advisor;
    advisor.observe(factsOf({1.0F}, 1024.0), 1024.0, 0.01, bounds);
    EXPECT_EQ(advisor.advice().logNormal, 1024.0);
    EXPECT_EQ(advisor.advice().preventive, 1024.0);
    for (const FormatId format : {FormatId::Fp32, FormatId::Tf32, FormatId::Bf16}) {
        advisor.observe(factsOf({1.0F}, 1.0, format), 1.0, 0.01, bounds);
        EXPECT_EQ(advisor.advice(), ScaleAdvice{});
    }
}

} // namespace
} // namespace halfscope
