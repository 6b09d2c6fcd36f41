// SPDX-License-Identifier: GPL-3.0-or-later
// Every count the bins imply at a scale, against casting every value at that scale by the formats' definitions.
#include "engine/amp/what_if.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "engine/core/rng.h"
#include "tests/engine/lab/reference_format.h"

namespace halfscope {
namespace {

TensorStatistics measured(const std::vector<float>& values)
{
    TensorStatistics s;
    for (const float value : values) {
        const float magnitude = std::abs(value);
        if (magnitude == 0.0F) {
            ++s.classes[ValueClass::Zero];
            continue;
        }
        ++s.classes[ValueClass::Normal]; // whatever it is: only the total is used
        ++s.histogram.at(std::ilogb(magnitude));
        s.absMin = s.absMin == 0.0F ? magnitude : std::min(s.absMin, magnitude);
        s.absMax = std::max(s.absMax, magnitude);
    }
    return s;
}

struct Truth {
    double flushed = 0;
    double subnormal = 0;
    double normal = 0;
    double overflow = 0;
    double ties = 0;      // exactly at the edge of flushing
    double roundedUp = 0; // below the smallest normal, and normal after rounding
    double topBin = 0;    // in the octave that the first overflow cuts
};

Truth cast(const std::vector<float>& values, const reference::Format& f, const FloatFormat& format, double scale)
{
    Truth t;
    for (const float value : values) {
        if (value == 0.0F)
            continue;
        const double product = std::abs(static_cast<double>(value)) * scale;
        const double scaled = reference::convert(reference::formats().back(), product).value; // to FP32
        const std::string fate = scaled == 0          ? "flushed"
                                 : std::isinf(scaled) ? "saturating"
                                                      : reference::convert(f, scaled).valueClass;
        (fate == "flushed"     ? t.flushed
         : fate == "subnormal" ? t.subnormal
         : fate == "normal"    ? t.normal
                               : t.overflow) += 1;
        t.ties += scaled == format.flushUpTo ? 1 : 0;
        t.roundedUp += scaled < format.smallestNormal && fate == "normal" ? 1 : 0;
        t.topBin += std::isfinite(scaled) && scaled > 0 &&
                            std::ilogb(scaled) == std::ilogb(std::nextafter(format.overflowFrom, 0.0))
                        ? 1
                        : 0;
    }
    return t;
}

void expectWithin(const Bounded& b, double truth, const std::string& what)
{
    EXPECT_LE(b.low, truth) << what;
    EXPECT_GE(b.high, truth) << what;
    EXPECT_LE(b.low, b.value + 1e-9) << what;
    EXPECT_GE(b.high, b.value - 1e-9) << what;
}

// Like gradients: spread over many octaves, with zeros, equal values, powers of two and, in some, FP16's own grid.
std::vector<float> tensor(Rng& rng, int kind)
{
    std::vector<float> values;
    const double mean = -18.0 + 6.0 * rng.normal();
    const double width = kind == 0 ? 3.0 : 8.0;
    for (int i = 0; i < 2000; ++i) {
        double magnitude = std::exp2(mean + width * rng.normal());
        if (kind == 2)
            magnitude = std::exp2(std::floor(std::log2(magnitude)));
        if (kind == 3)
            magnitude = reference::convert(reference::formats()[0], magnitude * 65536.0).value / 65536.0;
        const double clipped = std::min(magnitude, 0x1p100);
        values.push_back(static_cast<float>(rng.below(50) == 0 ? 0.0 : rng.below(2) == 0 ? clipped : -clipped));
    }
    return values;
}

TEST(WhatIf, BoundsHoldAtEveryScaleInEveryFormat)
{
    Rng rng(11);
    int cut = 0;
    for (int round = 0; round < 12; ++round) {
        const std::vector<float> values = tensor(rng, round % 4);
        const TensorStatistics s = measured(values);
        for (const reference::Format& f : reference::formats()) {
            const FloatFormat& format = floatFormat(*parseFormat(f.key));
            for (double log2Scale = -12; log2Scale <= 44; log2Scale += 1.75) {
                const double scale = static_cast<double>(static_cast<float>(std::exp2(log2Scale)));
                const Truth t = cast(values, f, format, scale);
                const ClassEstimate e = estimateClasses(s, format, scale);
                const std::string what = f.key + " at 2^" + std::to_string(log2Scale);
                expectWithin(e.flushed, t.flushed, what + " flushed");
                expectWithin(e.subnormal, t.subnormal, what + " subnormal");
                expectWithin(e.normal, t.normal, what + " normal");
                expectWithin(e.overflow, t.overflow, what + " overflow");
                const double sum = e.flushed.value + e.subnormal.value + e.normal.value + e.overflow.value;
                EXPECT_NEAR(sum, t.flushed + t.subnormal + t.normal + t.overflow, 1e-6);
                // Whether anything at all is lost is certain.
                EXPECT_EQ(e.overflow.low > 0, t.overflow > 0) << what;
                EXPECT_EQ(e.overflow.high > 0, t.overflow > 0) << what;
                EXPECT_EQ(e.flushed.low > 0, t.flushed > 0) << what;
                EXPECT_EQ(e.flushed.high > 0, t.flushed > 0) << what;
                cut += e.flushed.exact() ? 0 : 1;
            }
        }
    }
    EXPECT_GT(cut, 100); // bins were indeed cut
}

TEST(WhatIf, AtPowersOfTwoOnlyEdgeValuesAreMissed)
{
    Rng rng(12);
    double ties = 0;
    for (int round = 0; round < 12; ++round) {
        const std::vector<float> values = tensor(rng, round % 4);
        const TensorStatistics s = measured(values);
        for (const reference::Format& f : reference::formats()) {
            const FloatFormat& format = floatFormat(*parseFormat(f.key));
            for (int log2Scale = -12; log2Scale <= 44; ++log2Scale) {
                const double scale = std::ldexp(1.0, log2Scale);
                const Truth t = cast(values, f, format, scale);
                const ClassEstimate e = estimateClasses(s, format, scale);
                const std::string what = f.key + " at 2^" + std::to_string(log2Scale);
                EXPECT_LE(std::abs(e.flushed.value - t.flushed), t.ties + 1e-9) << what;
                EXPECT_LE(std::abs(e.subnormal.value - t.subnormal), t.ties + t.roundedUp + 1e-9) << what;
                // 65520 is 2^-12 of an octave short of 2^16; E4M3 ends amid an octave.
                EXPECT_LE(std::abs(e.overflow.value - t.overflow), t.topBin + 1e-9) << what;
                ties += t.ties;
            }
        }
    }
    EXPECT_GT(ties, 0); // the hard case came up
}

TEST(WhatIf, WithoutEdgeValuesPowersOfTwoAreExact)
{
    Rng rng(13);
    std::vector<float> values;
    for (int i = 0; i < 5000; ++i) // in the middle half of their octaves: nothing is near an edge
        values.push_back(
            static_cast<float>(std::ldexp(1.25 + 0.5 * rng.uniform(), static_cast<int>(rng.below(50)) - 45)));
    const TensorStatistics s = measured(values);
    const reference::Format& f = reference::formats()[0];
    for (int log2Scale = -10; log2Scale <= 40; ++log2Scale) {
        const double scale = std::ldexp(1.0, log2Scale);
        const Truth t = cast(values, f, floatFormat(FormatId::Fp16), scale);
        const ClassEstimate e = estimateClasses(s, floatFormat(FormatId::Fp16), scale);
        EXPECT_EQ(e.flushed.value, t.flushed) << log2Scale;
        EXPECT_EQ(e.subnormal.value, t.subnormal) << log2Scale;
        EXPECT_NEAR(e.overflow.value, t.overflow, 2.0 * t.topBin * 0x1p-11) << log2Scale;
    }
}

TEST(WhatIf, ACutBinIsDividedEvenly)
{
    TensorStatistics s;
    s.histogram.at(-25) = 1000;
    s.histogram.at(-30) = 1;
    s.histogram.at(0) = 1;
    s.absMin = 0x1p-30F;
    s.absMax = 1.0F;
    // The flush edge 2^-25 / S at a quarter of the bin -25.
    const ClassEstimate e = estimateClasses(s, floatFormat(FormatId::Fp16), std::exp2(-0.25));
    EXPECT_NEAR(e.flushed.value, 1 + 250.0, 1e-9);
    EXPECT_EQ(e.flushed.low, 1);
    EXPECT_EQ(e.flushed.high, 1001);
    EXPECT_NEAR(e.subnormal.value, 750.0, 1e-9);
    EXPECT_EQ(e.normal.low, 1);
    EXPECT_EQ(e.normal.high, 1);
    EXPECT_TRUE(e.overflow.exact());
}

TEST(WhatIf, TheLargestValueDecidesAboutOverflow)
{
    const TensorStatistics s = measured({1.0F, 1.5F, 1.75F});
    const FloatFormat& fp16 = floatFormat(FormatId::Fp16);
    EXPECT_EQ(estimateClasses(s, fp16, 65519.0 / 1.75).overflow.high, 0);
    EXPECT_GE(estimateClasses(s, fp16, 65521.0 / 1.75).overflow.low, 1);
    EXPECT_EQ(estimateClasses(s, fp16, 65536.0).overflow.low, 3);
}

TEST(WhatIf, ValuesBeyondFp32AreInNoBinAndOverflow)
{
    TensorStatistics s;
    s.unscaledToInfinity = 7;
    EXPECT_EQ(estimateClasses(s, floatFormat(FormatId::Fp16), 1.0).overflow.low, 7);
    const ClassEstimate tiny = estimateClasses(s, floatFormat(FormatId::Fp16), 0x1p-120);
    EXPECT_EQ(tiny.overflow.low, 0);
    EXPECT_EQ(tiny.overflow.high, 7);
    EXPECT_EQ(tiny.normal.high, 7);
}

TEST(WhatIf, TheCurveRisesInScaleAndJumpsWhereTheExtremesAre)
{
    Rng rng(14);
    const std::vector<FormatPart> parts = {{FormatId::Fp16, measured(tensor(rng, 1))},
                                           {FormatId::Fp32, measured(tensor(rng, 0))}};
    const std::vector<WhatIfPoint> curve = whatIfCurve(parts, -10, 40);
    ASSERT_GT(curve.size(), 50U * 8U);
    EXPECT_EQ(curve.front().scale, 0x1p-10);
    EXPECT_EQ(curve.back().scale, 0x1p40);
    for (std::size_t i = 1; i < curve.size(); ++i) {
        EXPECT_LT(curve[i - 1].scale, curve[i].scale);
        EXPECT_GE(curve[i - 1].classes.flushed.value, curve[i].classes.flushed.value - 1e-9);
        EXPECT_LE(curve[i - 1].classes.overflow.value, curve[i].classes.overflow.value + 1e-9);
    }
    for (int k = -10; k <= 40; ++k)
        EXPECT_TRUE(std::ranges::any_of(curve, [&](const WhatIfPoint& p) { return p.scale == std::ldexp(1.0, k); }));
    // The first overflow: none just below, one or more just above.
    const double onset = 65520.0 / static_cast<double>(parts[0].second.absMax);
    for (std::size_t i = 1; i < curve.size(); ++i) {
        if (curve[i - 1].classes.overflow.high == 0 && curve[i].classes.overflow.low > 0) {
            EXPECT_NEAR(curve[i].scale / onset, 1.0, 1e-5);
            EXPECT_NEAR(curve[i - 1].scale / onset, 1.0, 1e-5);
        }
    }
}

TEST(WhatIf, TheRangeIsOfTheNarrowFormatsAlone)
{
    std::vector<float> values(1000, 0x1p-20F);
    values.push_back(0x1p-40F);
    values.push_back(0.75F);
    const std::vector<FormatPart> parts = {{FormatId::Fp16, measured(values)}, {FormatId::Fp32, measured({1e20F})}};
    const auto range = scaleRange(parts, 0.01);
    ASSERT_TRUE(range);
    EXPECT_EQ(range->format, FormatId::Fp16);
    EXPECT_EQ(range->band.low, -5.0);
    EXPECT_EQ(range->band.trueMinimum, 15.0);
    EXPECT_DOUBLE_EQ(range->band.high, std::log2(65520.0 / 0.75));
    EXPECT_EQ(range->suggested, 32768.0); // 65504 / 0.75 / 2 = 43669
    EXPECT_FALSE(scaleRange(std::vector<FormatPart>{{FormatId::Fp32, measured(values)}}, 0.01));
    EXPECT_FALSE(scaleRange(std::vector<FormatPart>{{FormatId::Fp16, measured({0.0F})}}, 0.01));
}

} // namespace
} // namespace halfscope
