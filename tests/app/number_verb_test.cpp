// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope number` against conversions computed from the formats' definitions.
#include <charconv>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/process.h"
#include "tests/engine/lab/reference_format.h"

namespace halfscope::test {
namespace {

double toDouble(const std::string& text)
{
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    EXPECT_EQ(stop, text.data() + text.size()) << text;
    EXPECT_EQ(error, std::errc()) << text;
    return value;
}

// What each input is in FP32, worked out by hand or by the compiler.
const std::vector<std::pair<std::string, float>>& inputs()
{
    static const std::vector<std::pair<std::string, float>> all = {
        {"1e-8", 1e-8F},       {"65519.99", 65519.99F},
        {"0x1p-25", 0x1p-25F}, {"65520", 65520.0F},
        {"-65520", -65520.0F}, {"bits:0x33000001", 0x1.000002p-25F},
        {"0", 0.0F},           {"-0", -0.0F},
        {"1", 1.0F},           {"0.1", 0.1F},
        {"2^-24", 0x1p-24F},   {"449", 449.0F},
        {"-.5", -0.5F},        {"3.4028235e38", 0x1.fffffep127F},
        {"6e-8", 6e-8F},       {"1e39", HUGE_VALF},
        {"-inf", -HUGE_VALF}};
    return all;
}

TEST(Number, CsvHasARowForEachValueAndFormat)
{
    std::vector<std::string> arguments = {"number", "--csv"};
    for (const auto& [text, value] : inputs())
        arguments.push_back(text);
    const ProcessResult r = run(arguments);
    ASSERT_EQ(r.status, 0) << r.err;
    const std::vector<std::string> rows = lines(r.out);
    ASSERT_EQ(rows.size(), 1 + 6 * inputs().size());
    EXPECT_EQ(rows[0], "input,format,bits,value,class,relative_error,absolute_error,ulp_error,below,above,fields");
    std::size_t row = 1;
    for (const auto& [text, x] : inputs()) {
        for (const reference::Format& f : reference::formats()) {
            const std::vector<std::string> cells = fields(rows[row++]);
            ASSERT_EQ(cells.size(), 11U);
            const reference::Result expected = reference::convert(f, static_cast<double>(x));
            EXPECT_EQ(cells[0], text);
            EXPECT_EQ(cells[1], f.key);
            EXPECT_TRUE(cells[2].starts_with("0x"));
            EXPECT_EQ(std::stoul(cells[2], nullptr, 16), expected.bits) << text << ' ' << f.key;
            EXPECT_EQ(cells[4], expected.valueClass) << text << ' ' << f.key;
            if (std::isnan(expected.value)) {
                EXPECT_EQ(cells[3], "nan");
                EXPECT_EQ(cells[5], "nan");
                continue;
            }
            EXPECT_EQ(toDouble(cells[3]), expected.value) << text << ' ' << f.key;
            EXPECT_EQ(std::signbit(toDouble(cells[3])), std::signbit(x));
            if (expected.value == static_cast<double>(x))
                EXPECT_EQ(cells[5], "0");
            else if (std::isinf(expected.value))
                EXPECT_EQ(cells[5], "inf");
            else
                // Both are FP32 and near each other, or one is 0: their difference is exact, and the quotient rounded
                // once.
                EXPECT_EQ(toDouble(cells[5]),
                          std::abs(expected.value - static_cast<double>(x)) / std::abs(static_cast<double>(x)))
                    << text << ' ' << f.key;
        }
    }
}

// Known by heart rather than computed.
TEST(Number, LandmarksOfFp16)
{
    const ProcessResult r =
        run({"number", "--csv", "65504", "65519.99", "65520", "0x1p-25", "bits:0x33000001", "0x1p-24"});
    for (const char* row : {"65504,fp16,0x7bff,65504,normal,0", "65519.99,fp16,0x7bff,65504,normal,",
                            "65520,fp16,0x7c00,inf,saturating,inf", "0x1p-25,fp16,0x0000,0,flushed,1",
                            "bits:0x33000001,fp16,0x0001,5.960464477539063e-08,subnormal,",
                            "0x1p-24,fp16,0x0001,5.960464477539063e-08,subnormal,0",
                            "65504,fp8-e4m3,0x7f,nan,saturating,nan", "65504,fp8-e5m2,0x7c,inf,saturating,inf"})
        EXPECT_THAT(r.out, testing::HasSubstr("\n" + std::string(row)));
}

TEST(Number, DecimalsAreRoundedOnceToFp32)
{
    // Just above the tie between 1 and 1 + 2^-23, closer to it than a double can tell.
    const ProcessResult r = run({"number", "--csv", "1.00000005960464477539062500000000000000000001"});
    EXPECT_THAT(r.out, testing::HasSubstr(",fp32,0x3f800001,"));
}

TEST(Number, TableForPeople)
{
    const ProcessResult r = run({"number", "1e-8", "65519.99"});
    EXPECT_EQ(r.status, 0);
    EXPECT_THAT(r.out, testing::StartsWith("1e-8 is 9.99999993922529e-09 in FP32, between 2^-27 and 2^-26\n"));
    EXPECT_THAT(r.out, testing::HasSubstr("\n65519.99 is 65519.98828125 in FP32"));
    EXPECT_THAT(r.out, testing::ContainsRegex("FP16 +0x7bff +65504 +normal +0\\.00024"));
}

// Landmarks: 1e-8 is below half of FP16's smallest number; times 2^16 it is a normal one.
TEST(Number, AScaleSaysWhatItSaves)
{
    const ProcessResult r = run({"number", "--csv", "--scale", "2^16", "1e-8", "-0x1p-25", "2"});
    ASSERT_EQ(r.status, 0) << r.err;
    const std::vector<std::string> rows = lines(r.out);
    EXPECT_TRUE(rows[0].ends_with(",fields,scale,scaled_class,scaled_value,scaled_relative_error"));
    const std::vector<std::string> small = fields(rows[1]);
    ASSERT_EQ(small.size(), 15U);
    EXPECT_EQ(small[4], "flushed");
    EXPECT_EQ(small[11], "65536");
    EXPECT_EQ(small[12], "normal");
    // 1e-8 * 2^16 = 1.342 * 2^-11: kept to 10 bits.
    EXPECT_LE(toDouble(small[14]), 0x1p-11);
    EXPECT_NEAR(toDouble(small[13]), 1e-8, 1e-8 * 0x1p-11);
    EXPECT_THAT(r.out, testing::HasSubstr("\n-0x1p-25,fp16,0x8000,-0,flushed,1,2.9802322387695312e-08,0.5,"
                                          "-5.960464477539063e-08,5.960464477539063e-08,1_00000_0000000000,65536,"
                                          "normal,-2.9802322387695312e-08,0\n"));
    EXPECT_THAT(r.out, testing::HasSubstr("\n2,fp16,0x4000,2,normal,0,0,0,1.9990234375,2.001953125,"
                                          "0_10000_0000000000,65536,saturating,inf,inf\n"));
    EXPECT_EQ(run({"number", "--csv", "1e-8", "--scale=65536"}).status, 0);
    for (const std::string bad : {"0", "-1", "inf", "nan", "x", "1e-39"}) {
        const ProcessResult refused = run({"number", "--scale", bad, "1"});
        EXPECT_EQ(refused.status, 2) << bad;
        EXPECT_EQ(refused.out, "");
        EXPECT_THAT(refused.err, testing::HasSubstr("--scale \"" + bad + "\""));
    }
    EXPECT_THAT(run({"number", "--scale", "65536", "1e-8"}).out, testing::HasSubstr("times 2^16"));
}

TEST(Number, PatternsOfEveryFormatAreRead)
{
    const ProcessResult r = run({"number", "--csv", "fp16:0x3c01", "bf16:3f80", "fp8-e4m3:0b0_1111_110"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, testing::HasSubstr("\nfp16:0x3c01,fp16,0x3c01,1.0009765625,normal,0,"));
    EXPECT_THAT(r.out, testing::HasSubstr("\nbf16:3f80,fp16,0x3c00,1,normal,0,"));
    EXPECT_THAT(r.out, testing::HasSubstr("\nfp8-e4m3:0b0_1111_110,fp8-e4m3,0x7e,448,normal,0,"));
}

TEST(Number, MistakesPrintNothingElse)
{
    for (const std::string bad : {"abc", "1,5", "bits:xyz", "fp16:0x12345", "fp17:1", "bits:0x123456789", "--5", ""}) {
        const ProcessResult r = run({"number", "1", "--", bad});
        EXPECT_EQ(r.status, 2) << bad;
        EXPECT_EQ(r.out, "") << bad;
        EXPECT_EQ(lines(r.err).size(), 1U) << bad;
        EXPECT_THAT(r.err, testing::HasSubstr("\"" + bad + "\""));
    }
    EXPECT_EQ(run({"number"}).status, 2);
    EXPECT_THAT(run({"number", "1", "--scale"}).err, testing::HasSubstr("--scale needs one value"));
}

// In a locale with a decimal comma (where it is installed; and without one the verb must not care either).
TEST(Number, TheLocaleChangesNothing)
{
    const ProcessResult plain = run({"number", "--csv", "0.1", "65519.99"});
    const ProcessResult german = run({"number", "--csv", "0.1", "65519.99"},
                                     {.environment = {{"LC_ALL", "de_DE.UTF-8"}, {"LANG", "de_DE.UTF-8"}}});
    EXPECT_EQ(german.status, 0);
    EXPECT_EQ(german.out, plain.out);
}

} // namespace
} // namespace halfscope::test
