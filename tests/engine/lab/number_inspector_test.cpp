// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/numerics/number_inspector.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "engine/core/rng.h"
#include "tests/engine/lab/reference_format.h"

namespace halfscope {
namespace {

void expectAsDefined(float x)
{
    const std::vector<InspectedNumber> all = inspectAll(x);
    ASSERT_EQ(all.size(), reference::formats().size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const reference::Format& f = reference::formats()[i];
        const InspectedNumber& n = all[i];
        const reference::Result expected = reference::convert(f, static_cast<double>(x));
        EXPECT_EQ(floatFormat(n.format).key, f.key);
        EXPECT_EQ(n.bits, expected.bits) << f.key << " of " << x;
        EXPECT_EQ(valueClassKey(n.valueClass), expected.valueClass) << f.key << " of " << x;
        if (std::isnan(expected.value)) {
            EXPECT_TRUE(std::isnan(n.value)) << f.key << " of " << x;
            EXPECT_TRUE(std::isnan(n.relativeError));
            continue;
        }
        EXPECT_EQ(static_cast<double>(n.value), expected.value) << f.key << " of " << x;
        const double error = expected.value == static_cast<double>(x)
                                 ? 0.0
                                 : std::abs((expected.value - static_cast<double>(x)) / static_cast<double>(x));
        if (std::isinf(expected.value) && std::isfinite(x)) {
            EXPECT_EQ(n.relativeError, HUGE_VAL);
        } else if (std::isfinite(x)) {
            // The same quotient formed in another order: each has at most two roundings of half an ulp of double.
            EXPECT_NEAR(n.relativeError, error, error * 4 * std::numeric_limits<double>::epsilon());
        }
    }
}

TEST(NumberInspector, LandmarksInEveryFormat)
{
    for (const float x : {0.0F,
                          1.0F,
                          -1.0F,
                          0.1F,
                          1e-8F,
                          65504.0F,
                          65519.99F,
                          65520.0F,
                          0x1p-24F,
                          0x1p-25F,
                          0x1.000002p-25F,
                          0x1.8p-25F,
                          0x1p-14F,
                          0x1.ffep-15F,
                          448.0F,
                          464.0F,
                          463.99F,
                          464.01F,
                          480.0F,
                          57344.0F,
                          61440.0F,
                          61439.9F,
                          3.3895314e38F,
                          3.4e38F,
                          0x1p-149F,
                          0x1p-133F,
                          0x1p-134F,
                          1024.0F,
                          2049.0F,
                          2051.0F,
                          std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::infinity()}) {
        expectAsDefined(x);
        expectAsDefined(-x);
    }
}

TEST(NumberInspector, RandomPatternsInEveryFormat)
{
    Rng rng(7);
    for (int i = 0; i < 20000; ++i) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next()));
        if (!std::isnan(x))
            expectAsDefined(x);
        // Most patterns are far outside the narrow formats: these are inside.
        expectAsDefined(static_cast<float>(rng.normal() * std::ldexp(1.0, static_cast<int>(rng.below(45)) - 28)));
    }
}

// Against the sorted list of all numbers of a format, made from their definition.
TEST(NumberInspector, NeighboursAndErrorsOfEveryNumber)
{
    for (std::size_t which = 0; which < reference::formats().size(); ++which) {
        const reference::Format& f = reference::formats()[which];
        const FormatId id = *parseFormat(f.key);
        if (floatFormat(id).encodingBits > 16)
            continue;
        std::vector<double> numbers; // finite, rising, one zero
        const std::uint32_t patterns = 1U << (f.exponentBits + f.mantissaBits);
        for (std::uint32_t p = 0; p < patterns; ++p) {
            const std::uint32_t exponent = p >> f.mantissaBits;
            const double mantissa = p & ((1U << f.mantissaBits) - 1);
            const int bias = (1 << (f.exponentBits - 1)) - 1;
            const std::uint32_t top = (1U << f.exponentBits) - 1;
            if (exponent == top && (f.ieee || p == patterns - 1))
                break;
            const double unit = std::ldexp(1.0, -f.mantissaBits);
            numbers.push_back(std::ldexp(exponent == 0 ? mantissa * unit : 1 + mantissa * unit,
                                         std::max(static_cast<int>(exponent), 1) - bias));
        }
        const auto at = [&](std::size_t i) { return static_cast<float>(numbers[i]); };
        const float beyond = f.ieee ? HUGE_VALF : std::numeric_limits<float>::quiet_NaN();
        const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const float above = i + 1 < numbers.size() ? at(i + 1) : beyond;
            const InspectedNumber n = inspect(id, at(i));
            EXPECT_EQ(n.absoluteError, 0.0);
            EXPECT_EQ(n.ulpError, 0.0);
            EXPECT_TRUE(same(n.above, above)) << f.key << ' ' << at(i);
            EXPECT_EQ(n.below, i == 0 ? -at(1) : at(i - 1)) << f.key << ' ' << at(i);
            const InspectedNumber negative = inspect(id, -at(i));
            EXPECT_TRUE(same(negative.below, -above)) << f.key << ' ' << at(i);
            EXPECT_EQ(negative.above, i == 0 ? at(1) : -at(i - 1));
            if (i + 1 == numbers.size())
                continue;
            // A quarter of the way up: rounds down, and is wrong by a quarter of the distance.
            const double x = numbers[i] + 0.25 * (numbers[i + 1] - numbers[i]);
            if (static_cast<double>(static_cast<float>(x)) != x)
                continue; // below FP32's own grid
            const InspectedNumber between = inspect(id, static_cast<float>(x));
            EXPECT_EQ(between.value, at(i));
            EXPECT_EQ(between.ulpError, 0.25);
            EXPECT_EQ(between.absoluteError, x - numbers[i]);
        }
        // Infinity's neighbours: the largest number, and itself. E4M3 stores infinity as nan, which has none.
        const InspectedNumber infinite = inspect(id, HUGE_VALF);
        const InspectedNumber negative = inspect(id, -HUGE_VALF);
        EXPECT_TRUE(same(infinite.below, f.ieee ? at(numbers.size() - 1) : NAN)) << f.key;
        EXPECT_TRUE(same(infinite.above, f.ieee ? HUGE_VALF : NAN)) << f.key;
        EXPECT_TRUE(same(negative.above, f.ieee ? -at(numbers.size() - 1) : NAN)) << f.key;
        EXPECT_TRUE(same(negative.below, f.ieee ? -HUGE_VALF : NAN)) << f.key;
        const InspectedNumber none = inspect(id, NAN);
        EXPECT_TRUE(std::isnan(none.below) && std::isnan(none.above)) << f.key;
    }
}

// FP32's neighbours are those of the C library.
TEST(NumberInspector, NeighboursOfFp32AreNextAfter)
{
    for (const float x :
         {0.0F, -0.0F, 1.0F, -1.0F, 0x1p-126F, 0x1p-149F, -0x1p-149F, 0x1.fffffep127F, HUGE_VALF, -HUGE_VALF}) {
        const InspectedNumber n = inspect(FormatId::Fp32, x);
        EXPECT_EQ(n.above, std::nextafter(x, HUGE_VALF)) << x;
        EXPECT_EQ(n.below, std::nextafter(x, -HUGE_VALF)) << x;
    }
}

// What is multiplied, cast and divided, by the formats' definition.
TEST(NumberInspector, TheScaleIsAppliedInFp32)
{
    Rng rng(8);
    int saved = 0;
    for (int i = 0; i < 20000; ++i) {
        const auto x = static_cast<float>(rng.normal() * std::ldexp(1.0, static_cast<int>(rng.below(60)) - 45));
        const double scale = std::ldexp(1.0, static_cast<int>(rng.below(30)) - 5);
        const std::vector<InspectedNumber> all = inspectAll(x, scale);
        for (std::size_t k = 0; k < all.size(); ++k) {
            const reference::Result expected =
                reference::convert(reference::formats()[k], static_cast<double>(x) * scale); // exact products
            EXPECT_EQ(valueClassKey(all[k].scaled.valueClass), expected.valueClass);
            if (std::isnan(expected.value)) {
                EXPECT_TRUE(std::isnan(all[k].scaled.value));
                continue;
            }
            EXPECT_EQ(static_cast<double>(all[k].scaled.value), expected.value / scale);
            saved += all[k].valueClass == ValueClass::Flushed && expected.valueClass == "normal" ? 1 : 0;
        }
    }
    EXPECT_GT(saved, 1000); // which is what a loss scale is for
    // FP32's own limits.
    EXPECT_EQ(inspect(FormatId::Fp32, 0x1p-140F, 0x1p-20).scaled.valueClass, ValueClass::Flushed);
    EXPECT_EQ(inspect(FormatId::Fp32, 0x1p120F, 0x1p20).scaled.valueClass, ValueClass::Saturating);
    EXPECT_EQ(inspect(FormatId::Fp16, 0x1p120F, 0x1p20).scaled.valueClass, ValueClass::Saturating);
    EXPECT_EQ(inspect(FormatId::Fp16, 0.0F, 65536.0).scaled.valueClass, ValueClass::Zero);
}

TEST(NumberInspector, FieldsAreTheBits)
{
    EXPECT_EQ(inspect(FormatId::Fp16, -1.5F).fieldsText, "1_01111_1000000000");
    EXPECT_EQ(inspect(FormatId::Fp8E5M2, 1.0F).fieldsText, "0_01111_00");
    EXPECT_EQ(inspect(FormatId::Tf32, 1.0F).fieldsText, "0_01111111_0000000000");
    // And read back.
    Rng rng(9);
    for (int i = 0; i < 1000; ++i) {
        const auto x = static_cast<float>(rng.normal());
        for (const InspectedNumber& n : inspectAll(x)) {
            const std::string key(floatFormat(n.format).key);
            EXPECT_EQ(parseInspected(key + ":0b" + n.fieldsText), n.value);
            EXPECT_EQ(parseInspected(key + ":" + n.bitsText), n.value);
        }
    }
}

TEST(NumberInspector, NanStaysNan)
{
    for (const InspectedNumber& n : inspectAll(std::numeric_limits<float>::quiet_NaN())) {
        EXPECT_TRUE(std::isnan(n.value));
        EXPECT_TRUE(std::isnan(n.relativeError));
        EXPECT_EQ(n.valueClass, ValueClass::NaN);
    }
}

TEST(NumberInspector, BitsHaveTheEncodingsDigits)
{
    std::vector<std::string> texts;
    for (const InspectedNumber& n : inspectAll(1.0F))
        texts.push_back(n.bitsText);
    EXPECT_EQ(texts, (std::vector<std::string>{"0x3c00", "0x3f80", "0x1fc00", "0x38", "0x3c", "0x3f800000"}));
}

TEST(ParseInspected, Forms)
{
    EXPECT_EQ(parseInspected("1e-8"), 1e-8F);
    EXPECT_EQ(parseInspected("0x1p-25"), 0x1p-25F);
    EXPECT_EQ(parseInspected("bits:0x33000001"), 0x1.000002p-25F);
    EXPECT_EQ(parseInspected("bits:3F800000"), 1.0F);
    EXPECT_EQ(parseInspected("bits:0x1"), 0x1p-149F);
    EXPECT_EQ(parseInspected("fp16:0x3c00"), 1.0F);
    EXPECT_EQ(parseInspected("FP16:8001"), -0x1p-24F);
    EXPECT_EQ(parseInspected("fp8-e4m3:0x7e"), 448.0F);
    EXPECT_EQ(parseInspected("tf32:0x1fc00"), 1.0F);
    EXPECT_TRUE(std::isinf(*parseInspected("fp16:0b0_11111_0000000000")));
    EXPECT_TRUE(std::isnan(*parseInspected("bits:0x7fc00000")));
    // 1 + 2^-24 exactly is a tie, and goes to even; what is a little above it goes up. A double between them would not.
    EXPECT_EQ(parseInspected("1.000000059604644775390625"), 1.0F);
    EXPECT_EQ(parseInspected("1.00000005960464477539062500000000000000000001"), 1.0F + 0x1p-23F);
    for (const char* bad :
         {"fp16:0x10000", "fp16:", "fp16:0b", "fp16:0b2", "fp99:1", ":1", "fp8-e4m3:100", "tf32:0x80000",
          "bits:", "bits:0x", "bits:0x123456789", "bits:xyz", "bits:-1", "bits:0x1 ", "", "1,5", "one"})
        EXPECT_FALSE(parseInspected(bad).has_value()) << bad;
}

} // namespace
} // namespace halfscope
