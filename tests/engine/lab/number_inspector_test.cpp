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
    EXPECT_TRUE(std::isnan(*parseInspected("bits:0x7fc00000")));
    // 1 + 2^-24 exactly is a tie, and goes to even; what is a little above it goes up. A double between them would not.
    EXPECT_EQ(parseInspected("1.000000059604644775390625"), 1.0F);
    EXPECT_EQ(parseInspected("1.00000005960464477539062500000000000000000001"), 1.0F + 0x1p-23F);
    for (const char* bad :
         {"bits:", "bits:0x", "bits:0x123456789", "bits:xyz", "bits:-1", "bits:0x1 ", "", "1,5", "one"})
        EXPECT_FALSE(parseInspected(bad).has_value()) << bad;
}

} // namespace
} // namespace halfscope
