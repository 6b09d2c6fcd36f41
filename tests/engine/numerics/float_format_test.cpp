// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/numerics/float_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "engine/numerics/tensor_statistics.h"
#include "format_oracle.h"

namespace halfscope {
namespace {

using test::FormatOracle;

class ScalarFormat : public testing::TestWithParam<test::Layout> {};
INSTANTIATE_TEST_SUITE_P(All, ScalarFormat,
                         testing::Values(test::kFp16, test::kBf16, test::kTf32, test::kE4M3, test::kE5M2),
                         [](const auto& param) {
                             std::string name(floatFormat(param.param.id).name);
                             std::erase(name, ' ');
                             return name;
                         });

TEST_P(ScalarFormat, TableFollowsFromTheLayout)
{
    const FormatOracle oracle(GetParam());
    const FloatFormat& f = floatFormat(GetParam().id);
    const std::vector<double>& m = oracle.magnitudes();
    EXPECT_EQ(f.id, GetParam().id);
    EXPECT_EQ(f.largest, m[oracle.largestPattern()]);
    EXPECT_EQ(f.smallestSubnormal, m[1]);
    EXPECT_EQ(f.smallestNormal, m[std::size_t{1} << f.mantissaBits]);
    EXPECT_EQ(f.epsilon, std::ldexp(1.0, -f.mantissaBits));
    EXPECT_EQ(f.encodingBits, 1 + f.exponentBits + f.mantissaBits);
    EXPECT_EQ(f.hasInfinity, GetParam().ieee);
    // The bounds hold to the last FP32 number.
    const auto flush = static_cast<float>(f.flushUpTo);
    EXPECT_EQ(oracle.encode(flush), 0U);
    EXPECT_EQ(oracle.encode(std::nextafter(flush, 1.0F)), 1U);
    const auto overflow = static_cast<float>(f.overflowFrom);
    EXPECT_EQ(static_cast<double>(overflow), f.overflowFrom);
    EXPECT_EQ(oracle.encode(overflow), oracle.largestPattern() + 1);
    EXPECT_EQ(oracle.encode(std::nextafter(overflow, 0.0F)), oracle.largestPattern());
}

TEST_P(ScalarFormat, EveryPatternDecodesAndComesBack)
{
    const FormatOracle oracle(GetParam());
    const FormatId id = GetParam().id;
    for (std::uint32_t p = 0; p < 2 * oracle.signBit(); ++p) {
        const float value = decode(id, p);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(oracle.decode(p))) << p;
        if (!std::isnan(value)) {
            ASSERT_EQ(encode(id, value), p);
        }
    }
}

TEST_P(ScalarFormat, EveryBoundaryBetweenNeighbours)
{
    const FormatOracle oracle(GetParam());
    const FormatId id = GetParam().id;
    const std::vector<float> values = boundaryValues(oracle);
    for (const float x : values) {
        const std::uint32_t expected = oracle.encode(x);
        ASSERT_EQ(encode(id, x), expected) << std::hexfloat << x;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(roundTo(id, x)), std::bit_cast<std::uint32_t>(oracle.decode(expected)));
    }
}

TEST_P(ScalarFormat, ClassesAreWhatTheConversionDoes)
{
    const FormatOracle oracle(GetParam());
    const FormatId id = GetParam().id;
    std::vector<float> values = boundaryValues(oracle);
    for (const float x : {0x1p-149F, 0x1p-126F, 0x1.fffffcp-127F})
        values.insert(values.end(), {x, -x});
    const double smallestNormal = oracle.magnitudes()[std::size_t{1} << GetParam().mantissaBits];
    ClassCounts counts;
    for (const float x : values) {
        const double after = std::fabs(static_cast<double>(oracle.decode(oracle.encode(x))));
        ValueClass expected = ValueClass::Normal;
        if (std::isnan(x))
            expected = ValueClass::NaN;
        else if (std::isinf(x))
            expected = ValueClass::Inf;
        else if (x == 0.0F)
            expected = ValueClass::Zero;
        else if (!std::isfinite(after))
            expected = ValueClass::Saturating;
        else if (after == 0.0)
            expected = ValueClass::Flushed;
        else if (after < smallestNormal)
            expected = ValueClass::Subnormal;
        ASSERT_EQ(classify(id, x), expected) << std::hexfloat << x;
        ++counts[expected];
    }
    EXPECT_EQ(counts.total(), values.size());
    for (const std::uint64_t count : counts.of)
        EXPECT_GT(count, 0U);
}

TEST(FloatFormat, WellKnownNumbers)
{
    const FloatFormat& half = floatFormat(FormatId::Fp16);
    EXPECT_EQ(half.overflowFrom, 65520.0);
    EXPECT_EQ(half.largest, 65504.0);
    EXPECT_EQ(half.flushUpTo, std::ldexp(1.0, -25));
    EXPECT_EQ(encode(FormatId::Fp16, 65519.996F), 0x7BFFU);
    EXPECT_EQ(encode(FormatId::Fp16, 65520.0F), 0x7C00U);
    EXPECT_EQ(encode(FormatId::Fp16, -0.0F), 0x8000U);
    EXPECT_EQ(floatFormat(FormatId::Fp8E4M3).largest, 448.0);
    EXPECT_EQ(encode(FormatId::Fp8E4M3, 464.0F), 0x7EU);
    EXPECT_EQ(encode(FormatId::Fp8E4M3, 465.0F), 0x7FU);
    EXPECT_EQ(encode(FormatId::Fp8E4M3, -HUGE_VALF), 0xFFU);
    EXPECT_EQ(floatFormat(FormatId::Fp8E5M2).largest, 57344.0);
    EXPECT_EQ(floatFormat(FormatId::Bf16).largest, 3.3895313892515355e38);
    EXPECT_EQ(encode(FormatId::Tf32, 1.0F), 127U << 10);
}

TEST(FloatFormat, Fp32IsItself)
{
    const FloatFormat& f = floatFormat(FormatId::Fp32);
    EXPECT_EQ(f.largest, static_cast<double>(std::numeric_limits<float>::max()));
    EXPECT_EQ(f.smallestNormal, static_cast<double>(std::numeric_limits<float>::min()));
    EXPECT_EQ(f.smallestSubnormal, static_cast<double>(std::numeric_limits<float>::denorm_min()));
    EXPECT_EQ(f.epsilon, static_cast<double>(std::numeric_limits<float>::epsilon()));
    EXPECT_EQ(f.storageBytes, 4);
    for (const float x : {0.0F, -0.0F, 1.5F, 0x1p-149F, -0x1.8p-130F, 3.4e38F, HUGE_VALF}) {
        EXPECT_EQ(encode(FormatId::Fp32, x), std::bit_cast<std::uint32_t>(x));
        EXPECT_EQ(std::bit_cast<std::uint32_t>(decode(FormatId::Fp32, encode(FormatId::Fp32, x))),
                  std::bit_cast<std::uint32_t>(x));
    }
    EXPECT_EQ(encode(FormatId::Fp32, std::bit_cast<float>(0xFF812345U)), 0xFFC12345U); // made quiet
    EXPECT_EQ(classify(FormatId::Fp32, 0x1p-149F), ValueClass::Subnormal);
    EXPECT_EQ(classify(FormatId::Fp32, 0x1p-126F), ValueClass::Normal);
    EXPECT_EQ(classify(FormatId::Fp32, HUGE_VALF), ValueClass::Inf);
}

TEST(FloatFormat, KeysAreFoundWhateverTheirCase)
{
    for (const FloatFormat& f : floatFormats())
        EXPECT_EQ(parseFormat(f.key), f.id);
    EXPECT_EQ(parseFormat("FP8-E4M3"), FormatId::Fp8E4M3);
    EXPECT_EQ(parseFormat("Bf16"), FormatId::Bf16);
    EXPECT_EQ(parseFormat("fp"), std::nullopt);
    EXPECT_EQ(parseFormat("fp16 "), std::nullopt);
    EXPECT_EQ(parseFormat(""), std::nullopt);
    EXPECT_EQ(valueClassKey(ValueClass::Zero), "zero");
    EXPECT_EQ(valueClassKey(ValueClass::NaN), "nan");
}

} // namespace
} // namespace halfscope
