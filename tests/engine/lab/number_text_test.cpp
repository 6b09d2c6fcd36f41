// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/number_text.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>

#include "engine/core/nearest_word.h"
#include "engine/core/rng.h"

namespace halfscope {
namespace {

TEST(NumberText, ShortestForms)
{
    EXPECT_EQ(numberText(65536.0), "65536");
    EXPECT_EQ(numberText(0.1), "0.1");
    EXPECT_EQ(numberText(0.1F), "0.1");
    EXPECT_EQ(numberText(static_cast<double>(0.1F)), "0.10000000149011612");
    EXPECT_EQ(numberText(0x1p-126), "1.1754943508222875e-38");
    EXPECT_EQ(numberText(-0.0), "-0");
    EXPECT_EQ(numberText(HUGE_VAL), "inf");
    EXPECT_EQ(numberText(-HUGE_VAL), "-inf");
    EXPECT_EQ(numberText(std::nan("")), "nan");
    EXPECT_EQ(numberText(-std::nan("")), "nan");
    EXPECT_EQ(numberText(std::int64_t{-5}), "-5");
    EXPECT_EQ(numberText(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(NumberText, ReadsBackExactly)
{
    Rng rng(1);
    for (int i = 0; i < 20000; ++i) {
        const float f = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next()));
        if (std::isfinite(f)) {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(*parseFloat(numberText(f))), std::bit_cast<std::uint32_t>(f));
        }
        const double d = std::bit_cast<double>(rng.next());
        if (std::isfinite(d)) {
            ASSERT_EQ(std::bit_cast<std::uint64_t>(*parseDouble(numberText(d))), std::bit_cast<std::uint64_t>(d));
        }
    }
}

TEST(ParseNumber, AllForms)
{
    EXPECT_EQ(parseDouble("65536"), 65536.0);
    EXPECT_EQ(parseDouble("6.5e4"), 65000.0);
    EXPECT_EQ(parseDouble("6.5E+4"), 65000.0);
    EXPECT_EQ(parseDouble("0x1p16"), 65536.0);
    EXPECT_EQ(parseDouble("0X1.8P1"), 3.0);
    EXPECT_EQ(parseDouble("2^16"), 65536.0);
    EXPECT_EQ(parseDouble("2^-24"), 0x1p-24);
    EXPECT_EQ(parseDouble("-2^3"), -8.0);
    EXPECT_EQ(parseDouble("+.5"), 0.5);
    EXPECT_EQ(parseDouble("1."), 1.0);
    EXPECT_EQ(parseDouble("-inf"), -HUGE_VAL);
    EXPECT_EQ(parseDouble("Infinity"), HUGE_VAL);
    EXPECT_TRUE(std::isnan(*parseDouble("NaN")));
    EXPECT_TRUE(std::signbit(*parseFloat("-0")));
}

TEST(ParseNumber, RefusesWhatIsNotOneNumber)
{
    for (const char* text :
         {"",      "-",   "+",   "abc",   "1,5", "1 ",     " 1",    "1e",   "0x",      "0xp1",  "2^", "2^x",
          "2^1.5", "--1", "+-1", "1.2.3", "e5",  "nan(1)", "infin", "1e5x", "0x1p16z", "1_000", "p3", "-2^-"})
        EXPECT_FALSE(parseDouble(text).has_value()) << text;
}

// strtof in the C locale is another implementation of "rounded once".
TEST(ParseNumber, FloatsAreRoundedOnceAndSaturateBothWays)
{
    for (const char* text : {"1e-8",
                             "65519.99",
                             "0.1",
                             "1e-45",
                             "7e-46",
                             "7.1e-46",
                             "0.7006492321624085e-45",
                             "3.4028235e38",
                             "3.4028236e38",
                             "3.4028235677973366e38",
                             "3.4028235677973367e38",
                             "1e39",
                             "1e400",
                             "1e-400",
                             "1e999999999999999999999",
                             "1e-999999999999999999999",
                             "0.000000000000000000000000000000000000000000000000001",
                             "340282356800000000000000000000000000000",
                             "9007199791611905",
                             "16777217",
                             "16777219",
                             "0x1.000001p0",
                             "0x1.0000010000001p0",
                             "0x1p-150",
                             "0x1.8p-150",
                             "0x1p128",
                             "0x1.ffffffp127",
                             "0x0.0000001p-130",
                             "0x100000000000000000000000000000000p0",
                             "-1e-60",
                             "-1e60"}) {
        const float expected = std::strtof(text, nullptr);
        const std::optional<float> value = parseFloat(text);
        ASSERT_TRUE(value.has_value()) << text;
        EXPECT_EQ(std::bit_cast<std::uint32_t>(*value), std::bit_cast<std::uint32_t>(expected)) << text;
    }
    EXPECT_EQ(parseFloat("2^200"), HUGE_VALF);
    EXPECT_EQ(parseFloat("2^-200"), 0.0F);
    EXPECT_EQ(parseFloat("2^-149"), 0x1p-149F);
    EXPECT_EQ(parseFloat("2^99999999999999999999"), HUGE_VALF);
    EXPECT_EQ(parseFloat("2^-99999999999999999999"), 0.0F);
}

// Hexadecimal floats around every kind of tie. Sixteen digits are exact in a long double of 64 bits or more, so that
// its conversion by the processor is the one rounding. (strtof of glibc 2.36 is no reference: it rounds 0x1.000001p-150
// down.)
TEST(ParseNumber, HexadecimalFloatsAreRoundedOnce)
{
    static_assert(std::numeric_limits<long double>::digits >= 64);
    Rng rng(3);
    for (int i = 0; i < 20000; ++i) {
        std::string text = "0x";
        const std::uint64_t before = 1 + rng.below(4);
        const std::uint64_t after = rng.below(17 - before);
        for (std::uint64_t k = 0; k < before + after; ++k) {
            if (k == before)
                text += '.';
            // Mostly 0, 8 and f: ties, and what lies next to them.
            text += "00088fff0123456789abcdef"[rng.below(24)];
        }
        text += "p" + std::to_string(static_cast<int>(rng.below(340)) - 180);
        const std::optional<float> f = parseFloat(text);
        ASSERT_TRUE(f.has_value()) << text;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(*f),
                  std::bit_cast<std::uint32_t>(static_cast<float>(std::strtold(text.c_str(), nullptr))))
            << text;
        text += std::to_string(rng.below(10)); // ten times the exponent: the range of double
        const std::optional<double> d = parseDouble(text);
        ASSERT_TRUE(d.has_value()) << text;
        ASSERT_EQ(std::bit_cast<std::uint64_t>(*d),
                  std::bit_cast<std::uint64_t>(static_cast<double>(std::strtold(text.c_str(), nullptr))))
            << text;
    }
    EXPECT_EQ(parseFloat("0x1.000001p-150"), 0x1p-149F);
    EXPECT_EQ(parseFloat("0x1p99999999999999999999"), HUGE_VALF);
    EXPECT_EQ(parseFloat("0x1p-99999999999999999999"), 0.0F);
    EXPECT_EQ(parseFloat("0x0p99999999999999999999"), 0.0F);
    for (const char* text : {"0x.", "0x1.2.3", "0x1p", "0x1p+", "0x1p1.5", "0x1q5", "0x 1"})
        EXPECT_FALSE(parseFloat(text).has_value()) << text;
}

TEST(ParseNumber, Integers)
{
    EXPECT_EQ(parseInteger("2000"), 2000);
    EXPECT_EQ(parseInteger("-3"), -3);
    EXPECT_EQ(parseInteger("2e3"), 2000);
    EXPECT_EQ(parseInteger("2^11"), 2048);
    EXPECT_EQ(parseInteger("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(parseUnsigned("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
    for (const char* text : {"", "1.5", "9223372036854775808", "1e30", "nan", "inf", "3x", "0.1"})
        EXPECT_FALSE(parseInteger(text).has_value()) << text;
    for (const char* text : {"-1", "18446744073709551616", "-1e3"})
        EXPECT_FALSE(parseUnsigned(text).has_value()) << text;
}

TEST(NumberText, PowersOfTwo)
{
    EXPECT_EQ(powerText(65536), "2^16");
    EXPECT_EQ(powerText(1), "2^0");
    EXPECT_EQ(powerText(0x1p-149), "2^-149");
    EXPECT_EQ(powerText(1000), "1000");
    EXPECT_EQ(powerText(0), "0");
    EXPECT_EQ(powerText(-4), "-4");
    EXPECT_EQ(powerText(HUGE_VAL), "inf");
}

TEST(NearestWord, EditDistance)
{
    EXPECT_EQ(editDistance("", ""), 0);
    EXPECT_EQ(editDistance("abc", ""), 3);
    EXPECT_EQ(editDistance("", "abc"), 3);
    EXPECT_EQ(editDistance("kitten", "sitting"), 3);
    EXPECT_EQ(editDistance("widht", "width"), 1); // neighbours swapped
    EXPECT_EQ(editDistance("growth", "growth"), 0);
    EXPECT_EQ(editDistance("ca", "abc"), 3); // no letter is edited twice
}

TEST(NearestWord, FirstOfTheNearest)
{
    const std::vector<std::string_view> words = {"depth", "width", "wide"};
    EXPECT_EQ(nearestWord("widht", words), "width");
    EXPECT_EQ(nearestWord("wid", words), "wide");
    EXPECT_EQ(nearestWord("the-depth-of-it", words), "depth"); // contains it
    EXPECT_EQ(nearestWord("nope", words), "");
    EXPECT_EQ(nearestHint("nope", words), "; choose depth, width or wide.");
    EXPECT_EQ(nearestHint("widht", words), "; the nearest is width.");
    EXPECT_EQ(nearestHint("nope", std::vector<std::string_view>(21, "word-of-many")), ".");
    EXPECT_EQ(nearestWord("x", std::vector<std::string_view>{}), "");
}

} // namespace
} // namespace halfscope
