// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/process.h"

namespace halfscope::test {
namespace {

using testing::HasSubstr;

TEST(InfoVerb, SaysWhyABackendIsMissing)
{
    // oneDNN believes this about the processor; a build without it has another reason.
    const ProcessOptions old = {.environment = {{"ONEDNN_MAX_CPU_ISA", "AVX2"}}};
    const ProcessResult info = run({"info"}, old);
    EXPECT_EQ(info.status, 0) << info.err;
    EXPECT_THAT(info.out, testing::ContainsRegex("onednn +oneDNN +no: This (processor|build) [^\n]*\\."));
    EXPECT_THAT(info.out, testing::ContainsRegex("\n  cpu +[^\n]*fp32[^\n]* yes"));

    const TemporaryFolder folder;
    const ProcessResult train = run({"train", "--steps", "1", "--csv", folder / "run", "--set", "backend=onednn"}, old);
    EXPECT_NE(train.status, 0);
    EXPECT_THAT(train.err, HasSubstr("oneDNN cannot be used: This "));
    EXPECT_EQ(lines(train.err).size(), 1U);
}

TEST(InfoVerb, MeasuresWhenAsked)
{
    const ProcessResult plain = run({"info"});
    EXPECT_THAT(plain.out, HasSubstr("F16C"));
    EXPECT_THAT(plain.out, testing::ContainsRegex("Turing +2018 +7.5 +RTX 20, T4 +tensor cores +no +no +no"));
    EXPECT_THAT(plain.out, testing::Not(HasSubstr("GFLOP/s")));

    const ProcessResult csv = run({"info", "--measure", "--csv"});
    EXPECT_EQ(csv.status, 0) << csv.err;
    EXPECT_THAT(csv.out,
                testing::ContainsRegex("product,cpu,FP32,[0-9.e+]+,GFLOP/s,[0-9.e+]+,[0-9.e+]+,[0-9]+,native,"));
    EXPECT_THAT(csv.out, testing::ContainsRegex("product,cpu,BF16,[^\n]*,emulated,"));
    for (const std::string& line : lines(csv.out))
        EXPECT_GE(fields(line).size(), 10U) << line;
}

TEST(InfoVerb, StopsMeasuringWhenInterrupted)
{
    ProcessOptions options;
    options.signal = 2;
    options.signalAfter = "Scaler presets"; // printed before the measurement begins
    const ProcessResult info = run({"info", "--measure"}, options);
    EXPECT_EQ(info.status, 130);
    EXPECT_THAT(info.out, HasSubstr("what is missing was not measured"));
    EXPECT_EQ(lines(info.err).size(), 1U) << info.err;
}

} // namespace
} // namespace halfscope::test
