// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>
#include <limits>

#include "ui/number_text.h"

namespace halfscope {

namespace {

TEST(NumberText, ScalesAreExactOrSayThatTheyAreNot)
{
    EXPECT_EQ(scaleText(16384.0), QStringLiteral("2¹⁴ = 16\u202F384"));
    EXPECT_EQ(scaleText(1536.0), QStringLiteral("1.5·2¹⁰ = 1\u202F536"));
    EXPECT_EQ(scaleText(1.0), QStringLiteral("2⁰ = 1"));
    EXPECT_EQ(scaleText(0x1p-8), QStringLiteral("2⁻⁸ = 0.00390625"));
    EXPECT_EQ(scaleText(0x1p100), QStringLiteral("2¹⁰⁰ ≈ 1.268e+30"));
    EXPECT_EQ(scaleText(0x1p-25), QStringLiteral("2⁻²⁵ ≈ 2.98e-08"));
    EXPECT_EQ(shortScaleText(1000.0), QStringLiteral("≈1.953·2⁹")); // 1000 / 512 = 1.953125
    EXPECT_EQ(shortScaleText(0.75), QStringLiteral("1.5·2⁻¹"));
    EXPECT_EQ(scaleText(0.0), QStringLiteral("0"));
    EXPECT_EQ(scaleText(std::numeric_limits<double>::infinity()), QStringLiteral("∞"));
}

TEST(NumberText, SharesNeverRoundToNothingOrAll)
{
    EXPECT_EQ(shareText(0, 1000), QStringLiteral("0\u202F%"));
    EXPECT_EQ(shareText(1000, 1000), QStringLiteral("100\u202F%"));
    EXPECT_EQ(shareText(1, 1e9), QStringLiteral("< 0.001\u202F%"));
    EXPECT_EQ(shareText(999999999, 1e9), QStringLiteral("> 99.99\u202F%"));
    EXPECT_EQ(shareText(21, 1000), QStringLiteral("2.1\u202F%"));
    EXPECT_EQ(shareText(5, 1000), QStringLiteral("0.50\u202F%"));
    EXPECT_EQ(shareText(0, 0), QStringLiteral("–"));
}

TEST(NumberText, CountsExponentsAndShortestValues)
{
    EXPECT_EQ(countText(0), QStringLiteral("0"));
    EXPECT_EQ(countText(999), QStringLiteral("999"));
    EXPECT_EQ(countText(1234567), QStringLiteral("1\u202F234\u202F567"));
    EXPECT_EQ(countText(std::numeric_limits<quint64>::max()),
              QStringLiteral("18\u202F446\u202F744\u202F073\u202F709\u202F551\u202F615"));
    EXPECT_EQ(superscript(-25), QStringLiteral("⁻²⁵"));
    EXPECT_EQ(superscript(103), QStringLiteral("¹⁰³"));
    EXPECT_EQ(powerOfTen(0), QStringLiteral("1"));
    EXPECT_EQ(powerOfTen(5), QStringLiteral("10⁵"));
    EXPECT_EQ(valueText(0.1F), QStringLiteral("0.1")); // as FP32, not 0.10000000149
    EXPECT_EQ(octavesText(-0.01), QStringLiteral("0.0"));
    EXPECT_EQ(octavesText(std::numeric_limits<double>::infinity()), QStringLiteral("–"));
    EXPECT_EQ(octavesText(-3.2), QStringLiteral("−3.2"));
    EXPECT_TRUE(isPowerOfTwo(0x1p-140));
    EXPECT_FALSE(isPowerOfTwo(3.0));
    EXPECT_FALSE(isPowerOfTwo(0.0));
}

} // namespace

} // namespace halfscope
