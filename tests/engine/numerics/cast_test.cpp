// SPDX-License-Identifier: GPL-3.0-or-later
// Casts and the unscaling pass, at every instruction set this CPU has.
#include "engine/numerics/cast.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/core/rng.h"
#include "format_oracle.h"

namespace halfscope {
namespace {

using test::FormatOracle;
using test::LevelGuard;
using test::storedBits;

std::uint32_t bitsOf(float x) { return std::bit_cast<std::uint32_t>(x); }

class Cast : public testing::TestWithParam<SimdLevel> {
protected:
    LevelGuard m_level{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Levels, Cast, testing::ValuesIn(test::availableLevels()), [](const auto& param) {
    std::string name(simdLevelName(param.param));
    std::erase(name, '-');
    return name;
});

TEST_P(Cast, EveryPatternWidensExactly)
{
    for (const test::Layout& layout : {test::kFp16, test::kBf16, test::kE4M3, test::kE5M2}) {
        const FormatOracle oracle(layout);
        const std::uint32_t patterns = 2 * oracle.signBit();
        std::vector<std::uint16_t> wide(patterns);
        std::vector<std::uint8_t> narrow(patterns);
        for (std::uint32_t p = 0; p < patterns; ++p) {
            wide[p] = static_cast<std::uint16_t>(p);
            narrow[p] = static_cast<std::uint8_t>(p);
        }
        const void* src = floatFormat(layout.id).storageBytes == 2 ? static_cast<void*>(wide.data()) : narrow.data();
        std::vector<float> values(patterns);
        widenArray(layout.id, src, values.data(), patterns);
        for (std::uint32_t p = 0; p < patterns; ++p)
            ASSERT_EQ(bitsOf(values[p]), bitsOf(oracle.decode(p))) << floatFormat(layout.id).name << " " << p;
    }
}

TEST_P(Cast, EveryBoundaryBetweenNeighbours)
{
    for (const test::Layout& layout : {test::kFp16, test::kBf16, test::kTf32, test::kE4M3, test::kE5M2}) {
        const FormatOracle oracle(layout);
        const std::vector<float> values = boundaryValues(oracle);
        std::vector<float> stored(values.size());
        castArray(layout.id, values.data(), stored.data(), values.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(storedBits(layout.id, stored.data(), i), oracle.encode(values[i]))
                << floatFormat(layout.id).name << " " << std::hexfloat << values[i];
    }
}

// FP32 numbers spread over all exponents, against the scalar reference, which other tests hold against the oracle.
TEST_P(Cast, RandomPatternsMatchTheScalarReference)
{
    Rng rng(11);
    std::vector<float> values(200'003);
    for (float& x : values)
        x = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next() >> 32));
    for (const FloatFormat& f : floatFormats()) {
        std::vector<float> stored(values.size());
        castArray(f.id, values.data(), stored.data(), values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            // FP32 is copied, signalling NaNs too.
            const std::uint32_t expected = f.id == FormatId::Fp32 ? bitsOf(values[i]) : encode(f.id, values[i]);
            ASSERT_EQ(storedBits(f.id, stored.data(), i), expected) << f.name << " " << bitsOf(values[i]);
        }
    }
}

TEST_P(Cast, AnyLengthAndAlignmentAndNothingBeyond)
{
    Rng rng(5);
    constexpr std::size_t kMaximum = 200;
    constexpr unsigned char kFill = 0xA5;
    std::vector<float> values(kMaximum + 8);
    for (float& x : values)
        x = static_cast<float>(rng.normal());
    for (const FloatFormat& f : floatFormats()) {
        const auto size = static_cast<std::size_t>(f.storageBytes);
        for (std::size_t n = 0; n <= kMaximum; ++n) {
            const std::size_t offset = n % 7;
            std::vector<unsigned char> stored((kMaximum + 16) * size, kFill);
            unsigned char* at = stored.data() + offset * size;
            castArray(f.id, values.data() + offset, at, n);
            for (std::size_t i = 0; i < n; ++i)
                ASSERT_EQ(storedBits(f.id, at, i), encode(f.id, values[offset + i])) << f.name << n;
            for (std::size_t i = 0; i < stored.size(); ++i)
                if (i < offset * size || i >= (offset + n) * size) {
                    ASSERT_EQ(stored[i], kFill) << f.name << " length " << n << " byte " << i;
                }

            std::vector<float> wide(n + 3, -7.0F);
            widenArray(f.id, at, wide.data() + 1, n);
            for (std::size_t i = 0; i < n; ++i)
                ASSERT_EQ(bitsOf(wide[i + 1]), bitsOf(roundTo(f.id, values[offset + i])));
            ASSERT_EQ(wide[0], -7.0F);
            ASSERT_EQ(wide[n + 1], -7.0F);
        }
    }
}

TEST_P(Cast, InPlaceWhereSizesAgree)
{
    std::vector<float> values(77);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 1.0F + static_cast<float>(i) * 0x1.234p-9F;
    for (const FormatId id : {FormatId::Fp32, FormatId::Tf32}) {
        std::vector<float> data = values;
        castArray(id, data.data(), data.data(), data.size());
        for (std::size_t i = 0; i < data.size(); ++i)
            ASSERT_EQ(bitsOf(data[i]), bitsOf(roundTo(id, values[i])));
        data = values;
        TensorStatistics statistics;
        data[3] = HUGE_VALF; // so that the block is looked at twice
        castAndMeasure(id, data.data(), data.data(), data.size(), 0.5F, statistics);
        TensorStatistics expected;
        values[3] = HUGE_VALF;
        castAndMeasure(id, values.data(), nullptr, values.size(), 0.5F, expected);
        EXPECT_EQ(statistics.histogram, expected.histogram);
        EXPECT_EQ(statistics.sum, expected.sum);
        for (std::size_t i = 0; i < data.size(); ++i)
            ASSERT_EQ(bitsOf(data[i]), bitsOf(roundTo(id, values[i])));
        values[3] = 1.0F;
    }
}

// The order the header promises: 16 lanes, then lane i + lane i + 8, + 4, + 2, + 1.
double sumInPromisedOrder(const std::vector<float>& values)
{
    double lanes[16] = {};
    for (std::size_t i = 0; i < values.size(); ++i)
        lanes[i % 16] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

TEST_P(Cast, UnscaleMultipliesAndSumsInTheFixedOrder)
{
    Rng rng(3);
    for (const FloatFormat& f : floatFormats()) {
        for (std::size_t n = 0; n < 200; ++n) {
            std::vector<float> values(n);
            for (float& x : values)
                x = roundTo(f.id, static_cast<float>(rng.normal()));
            std::vector<float> stored(n);
            castArray(f.id, values.data(), stored.data(), n);
            const float factor = n % 2 == 0 ? 0x1p-10F : 0.3F;
            std::vector<float> result(n + 1, 9.0F);
            const UnscaleResult unscaled = unscaleArray(f.id, stored.data(), result.data(), n, factor);
            std::vector<float> expected(n);
            for (std::size_t i = 0; i < n; ++i) {
                expected[i] = values[i] * factor;
                ASSERT_EQ(bitsOf(result[i]), bitsOf(expected[i])) << f.name;
            }
            ASSERT_EQ(result[n], 9.0F);
            ASSERT_EQ(unscaled.sumSquares, sumInPromisedOrder(expected)) << f.name << " " << n;
            ASSERT_FALSE(unscaled.foundInf);
        }
    }
}

TEST_P(Cast, UnscaleFindsOneBadValueAnywhere)
{
    const float nan = std::bit_cast<float>(0x7FC00000U);
    for (std::size_t n = 1; n < 100; ++n) {
        for (std::size_t at = 0; at < n; ++at) {
            for (const float bad : {HUGE_VALF, -HUGE_VALF, nan}) {
                std::vector<float> values(n, 1.0F);
                values[at] = bad;
                std::vector<std::uint16_t> stored(n);
                std::vector<float> result(n);
                castArray(FormatId::Fp16, values.data(), stored.data(), n);
                const UnscaleResult fp16 = unscaleArray(FormatId::Fp16, stored.data(), result.data(), n, 0x1p-16F);
                ASSERT_TRUE(fp16.foundInf);
                ASSERT_FALSE(std::isfinite(fp16.sumSquares));
                ASSERT_TRUE(unscaleArray(FormatId::Fp32, values.data(), values.data(), n, 0x1p-16F).foundInf);
            }
            // Finite before, infinite after: a scale below 1.
            std::vector<float> values(n, 1.0F);
            values[at] = 3e38F;
            ASSERT_TRUE(unscaleArray(FormatId::Fp32, values.data(), values.data(), n, 2.0F).foundInf);
            ASSERT_EQ(values[at], HUGE_VALF);
            values[at] = 3e38F;
            ASSERT_FALSE(unscaleArray(FormatId::Fp32, values.data(), values.data(), n, 1.0F).foundInf);
        }
    }
}

} // namespace
} // namespace halfscope
