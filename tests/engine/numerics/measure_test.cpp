// SPDX-License-Identifier: GPL-3.0-or-later
// The measuring cast against a brute-force count, at every instruction set this CPU has.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "engine/core/rng.h"
#include "engine/numerics/cast.h"
#include "format_oracle.h"

namespace halfscope {
namespace {

using test::LevelGuard;

TensorStatistics bruteForce(FormatId format, const std::vector<float>& values, float inverseScale)
{
    TensorStatistics s;
    double sums[16] = {};
    double squares[16] = {};
    for (std::size_t i = 0; i < values.size(); ++i) {
        ++s.classes[classify(format, values[i])];
        const float x = values[i] * inverseScale;
        if (!std::isfinite(x)) {
            s.unscaledToInfinity += std::isfinite(values[i]) && values[i] != 0.0F ? 1 : 0;
            continue;
        }
        sums[i % 16] += static_cast<double>(x);
        squares[i % 16] += static_cast<double>(x) * static_cast<double>(x);
        if (x == 0.0F)
            continue;
        int exponent = 0;
        std::frexp(x, &exponent); // |x| = m * 2^exponent, m in [1/2, 1)
        ++s.histogram.at(exponent - 1);
        const float magnitude = std::fabs(x);
        s.absMin = s.absMax == 0.0F ? magnitude : std::min(s.absMin, magnitude);
        s.absMax = std::max(s.absMax, magnitude);
    }
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) {
            sums[i] += sums[i + half];
            squares[i] += squares[i + half];
        }
    }
    s.sum = sums[0];
    s.sumSquares = squares[0];
    return s;
}

::testing::AssertionResult same(const TensorStatistics& a, const TensorStatistics& b)
{
    for (int c = 0; c < kValueClassCount; ++c) {
        const auto kind = static_cast<ValueClass>(c);
        if (a.classes[kind] != b.classes[kind])
            return ::testing::AssertionFailure()
                   << valueClassKey(kind) << ": " << a.classes[kind] << " and " << b.classes[kind];
    }
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e)
        if (a.histogram.at(e) != b.histogram.at(e))
            return ::testing::AssertionFailure()
                   << "exponent " << e << ": " << a.histogram.at(e) << " and " << b.histogram.at(e);
    if (a.absMin != b.absMin || a.absMax != b.absMax)
        return ::testing::AssertionFailure()
               << "extremes " << a.absMin << " .. " << a.absMax << " and " << b.absMin << " .. " << b.absMax;
    if (a.unscaledToInfinity != b.unscaledToInfinity)
        return ::testing::AssertionFailure()
               << "unscaled to infinity " << a.unscaledToInfinity << " and " << b.unscaledToInfinity;
    if (a.sum != b.sum || a.sumSquares != b.sumSquares)
        return ::testing::AssertionFailure()
               << "sums " << a.sum << ", " << a.sumSquares << " and " << b.sum << ", " << b.sumSquares;
    return ::testing::AssertionSuccess();
}

// One kind of data each; the generator gives value i.
struct Kind {
    const char* name;
    std::function<float(Rng&)> next;
};

float anyPattern(Rng& rng) { return std::bit_cast<float>(static_cast<std::uint32_t>(rng.next() >> 32)); }

// Mostly `usual`, one value in `every` any FP32 pattern: zeros, subnormals, infinities and NaNs among them.
float mixed(Rng& rng, double usual, std::uint64_t every)
{
    if (rng.below(every) != 0)
        return static_cast<float>(usual);
    switch (rng.below(6)) {
    case 0:
        return rng.below(2) != 0 ? 0.0F : -0.0F;
    case 1:
        return rng.below(2) != 0 ? HUGE_VALF : -HUGE_VALF;
    case 2:
        return std::bit_cast<float>(static_cast<std::uint32_t>(rng.below(0x800000))); // FP32 subnormal
    case 3:
        return std::numeric_limits<float>::quiet_NaN();
    default:
        return anyPattern(rng);
    }
}

const std::vector<Kind>& kinds()
{
    static const std::vector<Kind> kAll = {
        {"zeros", [](Rng&) { return 0.0F; }},
        {"normal", [](Rng& rng) { return static_cast<float>(rng.normal()); }},
        {"sparse", [](Rng& rng) { return rng.below(3) != 0 ? 0.0F : static_cast<float>(rng.normal()); }},
        {"small", [](Rng& rng) { return static_cast<float>(rng.normal() * 0x1p-24); }},
        {"large", [](Rng& rng) { return static_cast<float>(rng.normal() * 40000.0); }},
        {"wide",
         [](Rng& rng) { return static_cast<float>(std::ldexp(rng.normal(), static_cast<int>(rng.below(60)) - 50)); }},
        {"two far binades", [](Rng& rng) { return rng.below(50) == 0 ? 1.5F : 0x1p-40F; }},
        {"any pattern", anyPattern},
        {"subnormal", [](Rng& rng) { return std::bit_cast<float>(static_cast<std::uint32_t>(rng.below(0x1000000))); }},
        {"few specials", [](Rng& rng) { return mixed(rng, rng.normal(), 40); }},
        {"many specials", [](Rng& rng) { return mixed(rng, rng.normal() * 0x1p-20, 2); }},
        {"nothing finite",
         [](Rng& rng) { return rng.below(2) != 0 ? HUGE_VALF : std::numeric_limits<float>::quiet_NaN(); }},
    };
    return kAll;
}

std::vector<float> generate(const Kind& kind, std::size_t n, std::uint64_t seed)
{
    Rng rng(seed);
    std::vector<float> values(n);
    for (float& x : values)
        x = kind.next(rng);
    return values;
}

class Measure : public testing::TestWithParam<SimdLevel> {
protected:
    // Compares with brute force, the stored result with castArray's; counting alone must say the same.
    void check(FormatId format, const std::vector<float>& values, float inverseScale)
    {
        const std::size_t n = values.size();
        TensorStatistics statistics;
        std::vector<float> stored(n + 1, 5.0F);
        castAndMeasure(format, values.data(), stored.data(), n, inverseScale, statistics);
        ASSERT_TRUE(same(statistics, bruteForce(format, values, inverseScale)));
        ASSERT_EQ(statistics.count(), n);
        std::vector<float> cast(n + 1, 5.0F);
        castArray(format, values.data(), cast.data(), n);
        ASSERT_EQ(std::memcmp(stored.data(), cast.data(), stored.size() * sizeof(float)), 0);
        TensorStatistics counted;
        castAndMeasure(format, values.data(), nullptr, n, inverseScale, counted);
        ASSERT_TRUE(same(statistics, counted));
    }

    LevelGuard m_level{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Levels, Measure, testing::ValuesIn(test::availableLevels()), [](const auto& param) {
    std::string name(simdLevelName(param.param));
    std::erase(name, '-');
    return name;
});

TEST_P(Measure, EveryLengthAndKindOfData)
{
    for (const Kind& kind : kinds())
        for (std::size_t n = 0; n <= 200; ++n)
            ASSERT_NO_FATAL_FAILURE(check(FormatId::Fp16, generate(kind, n, n), 0x1p-16F)) << kind.name << " " << n;
}

TEST_P(Measure, LongerThanABlockInEveryFormat)
{
    for (const FloatFormat& f : floatFormats())
        for (const Kind& kind : kinds())
            for (const std::size_t n : {2047, 2048, 2049, 2111, 4096, 10'007})
                ASSERT_NO_FATAL_FAILURE(check(f.id, generate(kind, n, n), 0x1p-8F)) << f.name << kind.name << n;
}

// Powers of two and others, subnormal ones, ones that make products overflow or vanish, and nonsense.
TEST_P(Measure, EveryScale)
{
    for (const float inverseScale : {1.0F, 0.3F, 0x1p-60F, 0x1p-126F, 0x1p-128F, 0x1p-149F, 0x1p100F, 0x1.fp126F, 0.0F,
                                     -2.0F, HUGE_VALF, std::numeric_limits<float>::quiet_NaN()})
        for (const Kind& kind : kinds())
            ASSERT_NO_FATAL_FAILURE(check(FormatId::Fp16, generate(kind, 500, 9), inverseScale))
                << inverseScale << kind.name;
}

TEST_P(Measure, ClassBoundariesToTheLastBit)
{
    for (const test::Layout& layout : {test::kFp16, test::kBf16, test::kTf32, test::kE4M3, test::kE5M2}) {
        const test::FormatOracle oracle(layout);
        std::vector<float> values = boundaryValues(oracle);
        if (values.size() > 300'000) // TF32: both ends are what matters
            values.erase(values.begin() + 20'000, values.end() - 20'000);
        check(layout.id, values, 1.0F);
        // The same without what makes a block extraordinary, so that the fast path meets the bounds too.
        std::erase_if(values, [&](float x) {
            return !(std::fabs(x) < floatFormat(layout.id).overflowFrom) || std::fabs(x) < 0x1p-126F;
        });
        check(layout.id, values, 1.0F);
    }
}

TEST_P(Measure, AnyAlignment)
{
    const std::vector<float> values = generate(kinds()[9], 300, 1);
    const TensorStatistics expected = bruteForce(FormatId::Bf16, values, 0.5F);
    for (std::size_t offset = 0; offset < 17; ++offset) {
        std::vector<float> src(offset);
        src.insert(src.end(), values.begin(), values.end());
        std::vector<std::uint16_t> dst(values.size() + 20, 0xBEEF);
        const std::size_t to = 16 - offset;
        TensorStatistics statistics;
        castAndMeasure(FormatId::Bf16, src.data() + offset, dst.data() + to, values.size(), 0.5F, statistics);
        ASSERT_TRUE(same(statistics, expected));
        for (std::size_t i = 0; i < dst.size(); ++i) {
            const bool inside = i >= to && i < to + values.size();
            ASSERT_EQ(dst[i], inside ? encode(FormatId::Bf16, values[i - to]) : 0xBEEFU);
        }
    }
}

TEST_P(Measure, AddsToWhatIsThere)
{
    const std::vector<float> first = generate(kinds()[1], 1000, 1);
    const std::vector<float> second = generate(kinds()[4], 777, 2);
    TensorStatistics both;
    castAndMeasure(FormatId::Fp16, first.data(), nullptr, first.size(), 0.25F, both);
    castAndMeasure(FormatId::Fp16, second.data(), nullptr, second.size(), 0.25F, both);
    TensorStatistics merged = bruteForce(FormatId::Fp16, first, 0.25F);
    merged.merge(bruteForce(FormatId::Fp16, second, 0.25F));
    EXPECT_TRUE(same(both, merged));
    EXPECT_EQ(both.histogram.total(), 1777U);
}

// The three builds, and a real gradient's shape: the bits must be equal, not only close.
TEST(MeasureLevels, AllInstructionSetsAgreeToTheBit)
{
    for (const Kind& kind : kinds()) {
        const std::vector<float> values = generate(kind, 9'999, 4);
        std::vector<TensorStatistics> results;
        for (const SimdLevel level : test::availableLevels()) {
            const LevelGuard guard(level);
            castAndMeasure(FormatId::Fp16, values.data(), nullptr, values.size(), 0.1F, results.emplace_back());
        }
        for (const TensorStatistics& r : results) {
            EXPECT_TRUE(same(r, results.front())) << kind.name;
            EXPECT_EQ(std::bit_cast<std::uint64_t>(r.sum), std::bit_cast<std::uint64_t>(results.front().sum));
        }
    }
}

TEST(TensorStatistics, MeanAndDeviationOverFiniteValues)
{
    const std::vector<float> values = {1.0F, 2.0F, 3.0F, 6.0F, HUGE_VALF, std::numeric_limits<float>::quiet_NaN()};
    TensorStatistics s;
    castAndMeasure(FormatId::Fp16, values.data(), nullptr, values.size(), 1.0F, s);
    EXPECT_EQ(s.count(), 6U);
    EXPECT_EQ(s.finiteCount(), 4U);
    EXPECT_TRUE(s.nonfinite());
    EXPECT_FALSE(s.saturated());
    EXPECT_EQ(s.mean(), 3.0);
    EXPECT_EQ(s.rms(), std::sqrt(12.5));
    EXPECT_EQ(s.standardDeviation(), std::sqrt(3.5));
    s.reset();
    EXPECT_EQ(s.count(), 0U);
    EXPECT_EQ(s.mean(), 0.0);
    EXPECT_EQ(s.rms(), 0.0);
    EXPECT_EQ(s.standardDeviation(), 0.0);
}

// With a scale below 1 a value can be finite while it is scaled and infinite afterwards: it was never summed, so it may
// not be divided by either.
TEST(TensorStatistics, MeanLeavesOutWhatUnscalingMadeInfinite)
{
    const std::vector<float> values = {0x1p100F, 0.0F, 1.0F, 3.0F, HUGE_VALF};
    TensorStatistics s;
    castAndMeasure(FormatId::Fp32, values.data(), nullptr, values.size(), 0x1p60F, s);
    EXPECT_EQ(s.classes[ValueClass::Normal], 3U);
    EXPECT_EQ(s.classes[ValueClass::Inf], 1U);
    EXPECT_EQ(s.unscaledToInfinity, 1U);
    EXPECT_EQ(s.finiteCount(), 3U);
    EXPECT_EQ(s.mean(), 0x1p62 / 3.0);
    TensorStatistics twice = s;
    twice.merge(s);
    EXPECT_EQ(twice.finiteCount(), 6U);
    EXPECT_EQ(twice.mean(), s.mean());
}

TEST(TensorStatistics, MergeKeepsExtremesOfTheNonempty)
{
    TensorStatistics empty;
    TensorStatistics full;
    const std::vector<float> values = {-4.0F, 0.5F, 70000.0F};
    castAndMeasure(FormatId::Fp16, values.data(), nullptr, values.size(), 1.0F, full);
    EXPECT_TRUE(full.saturated());
    TensorStatistics a = empty;
    a.merge(full);
    EXPECT_EQ(a.absMin, 0.5F);
    EXPECT_EQ(a.absMax, 70000.0F);
    TensorStatistics b = full;
    b.merge(empty);
    EXPECT_EQ(b.absMin, 0.5F);
    EXPECT_EQ(b.absMax, 70000.0F);
    b.merge(full);
    EXPECT_EQ(b.count(), 6U);
    EXPECT_EQ(b.histogram.at(2), 2U);
    EXPECT_EQ(b.sum, 2 * full.sum);
}

} // namespace
} // namespace halfscope
