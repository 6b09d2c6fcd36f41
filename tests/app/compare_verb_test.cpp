// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope compare`: tables, files, interruption, going on.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/process.h"

namespace halfscope::test {
namespace {

using testing::HasSubstr;

std::vector<std::string> small(std::vector<std::string> more)
{
    std::vector<std::string> arguments = {"compare"};
    for (const char* setting : {"width=16", "depth=1", "heads=2", "context=8", "batch=4", "initial-scale=2^14"}) {
        arguments.emplace_back("--set");
        arguments.emplace_back(setting);
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

// Without the column that differs from time to time: the last one.
std::string withoutTimes(const std::string& csv)
{
    std::string text;
    for (const std::string& line : lines(csv))
        text += line.substr(0, line.rfind(',')) + "\n";
    return text;
}

TEST(Compare, PrintsTheTableAndWritesTheFiles)
{
    const TemporaryFolder folder;
    const ProcessResult r =
        run(small({"--formats", "fp32,mixed-fp16", "--seeds", "2", "--steps", "20", "--csv", folder / "out"}));
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("2 formats, 2 seeds, 20 steps each"));
    EXPECT_THAT(r.out, testing::ContainsRegex("\nFP32 +native +1\\.00 \\([0-9.]+ steps/s\\) "));
    EXPECT_THAT(r.out, testing::ContainsRegex("\nMixed FP16 +emulated exactly +emulated: no speed claim "));
    EXPECT_THAT(r.out, HasSubstr("2 of 2"));
    EXPECT_THAT(r.out, HasSubstr("The files in " + (folder / "out") + " are complete."));
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "out"))
        names.push_back(entry.path().filename().string());
    EXPECT_THAT(names, testing::UnorderedElementsAre("compare.csv", "summary.csv", "curves.csv", "comparison.json"));
    EXPECT_EQ(lines(readFile(folder / "out/compare.csv")).size(), 5U);
    EXPECT_EQ(lines(readFile(folder / "out/summary.csv")).size(), 3U);
    EXPECT_EQ(lines(readFile(folder / "out/curves.csv")).size(), 81U);
    for (const char* file : {"compare.csv", "summary.csv", "curves.csv"}) {
        const std::vector<std::string> all = lines(readFile(folder / (std::string("out/") + file)));
        for (const std::string& line : all)
            EXPECT_EQ(fields(line).size(), fields(all.front()).size()) << file << ": " << line;
    }
    // The losses are those that train gives.
    const ProcessResult train = run({"train",   "-q",
                                     "--steps", "20",
                                     "--csv",   folder / "train",
                                     "--seed",  "2",
                                     "--set",   "width=16",
                                     "--set",   "depth=1",
                                     "--set",   "heads=2",
                                     "--set",   "context=8",
                                     "--set",   "batch=4",
                                     "--set",   "initial-scale=2^14",
                                     "--set",   "precision=mixed-fp16"});
    ASSERT_EQ(train.status, 0) << train.err;
    const std::string loss = fields(lines(readFile(folder / "train/steps.csv")).back()).at(2);
    EXPECT_EQ(lines(readFile(folder / "out/curves.csv")).back().substr(0, 17 + loss.size()),
              "mixed-fp16,2,20," + loss + ",");
}

TEST(Compare, GoesOnAfterAnInterruption)
{
    const TemporaryFolder folder;
    const std::vector<std::string> what = {"--formats", "fp32,mixed-fp16", "--seeds", "2", "--steps", "3000"};
    const auto asked = [&](std::vector<std::string> more) {
        std::vector<std::string> all = what;
        all.insert(all.end(), more.begin(), more.end());
        return small(all);
    };
    ASSERT_EQ(run(asked({"-q", "--csv", folder / "whole"})).status, 0);
    ProcessOptions options;
    options.signal = SIGINT;
    options.signalAfter = "run 2/4";
    const ProcessResult cut = run(asked({"--csv", folder / "part"}), options);
    ASSERT_EQ(cut.status, 130) << cut.out;
    EXPECT_THAT(cut.err, HasSubstr("--resume --csv " + (folder / "part") + " goes on"));
    EXPECT_EQ(lines(cut.err).size(), 1U);
    EXPECT_TRUE(std::filesystem::exists(folder / "part/comparison.json"));
    EXPECT_FALSE(std::filesystem::exists(folder / "part/compare.csv"));

    // Not by accident, and not with other settings.
    const ProcessResult anew = run(asked({"--csv", folder / "part"}));
    EXPECT_EQ(anew.status, 2);
    EXPECT_THAT(anew.err, HasSubstr("go on with --resume, or name another folder"));
    const ProcessResult other = run(asked({"--resume", "--csv", folder / "part", "--set", "width=32"}));
    EXPECT_EQ(other.status, 2);
    EXPECT_THAT(other.err, HasSubstr("width is 16 there and 32 here"));
    EXPECT_EQ(lines(other.err).size(), 1U);

    const ProcessResult rest = run({"compare", "--resume", "--csv", folder / "part"}); // the settings are in the file
    ASSERT_EQ(rest.status, 0) << rest.err;
    EXPECT_THAT(rest.out, testing::ContainsRegex("[1-3] of 4 runs are done already"));
    EXPECT_EQ(readFile(folder / "whole/curves.csv"), readFile(folder / "part/curves.csv"));
    EXPECT_EQ(withoutTimes(readFile(folder / "whole/compare.csv")),
              withoutTimes(readFile(folder / "part/compare.csv")));
    // Once more: nothing is left to do, and the table is there at once, to the byte.
    const std::string summary = readFile(folder / "part/summary.csv");
    EXPECT_EQ(run(asked({"--resume", "-q", "--csv", folder / "part"})).status, 0);
    EXPECT_EQ(readFile(folder / "part/summary.csv"), summary);
}

TEST(Compare, WhatMakesNoSenseIsRefusedInOneLine)
{
    const TemporaryFolder folder;
    const auto refusal = [&](const std::vector<std::string>& more) {
        const ProcessResult r = run(small(more));
        EXPECT_EQ(r.status, 2) << r.err;
        EXPECT_EQ(lines(r.err).size(), 1U) << r.err;
        return r.err;
    };
    EXPECT_THAT(refusal({"--formats", "fp32,fp61"}), HasSubstr("There is no precision preset \"fp61\"; choose fp32, "));
    EXPECT_THAT(refusal({"--formats", "fp32,fp32"}), HasSubstr("named twice"));
    EXPECT_THAT(refusal({"--formats", "fp32, mixed-fp16 ,  fp61"}), HasSubstr("no precision preset \"fp61\""));
    EXPECT_THAT(refusal({"--formats", "fp32,"}), HasSubstr("no precision preset \"\""));
    EXPECT_THAT(refusal({"--seeds", "0"}), HasSubstr("--seeds \"0\" must be a whole number from 1 to 1000"));
    EXPECT_THAT(refusal({"--seeds", "x"}), HasSubstr("--seeds \"x\""));
    EXPECT_THAT(refusal({"--steps", "-3"}), HasSubstr("--steps \"-3\""));
    EXPECT_THAT(refusal({"--steps", "2000000"}), HasSubstr("from 1 to 222222 with 9 runs"));
    EXPECT_THAT(refusal({"--set", "width=15"}), HasSubstr("width"));
    EXPECT_THAT(refusal({"--resume"}), HasSubstr("--resume goes with --csv DIR"));
    EXPECT_THAT(refusal({"--resume", "--csv", folder / "none"}), HasSubstr("no comparison to go on with"));
    std::filesystem::create_directory(folder / "broken");
    std::ofstream(folder / "broken/comparison.json") << "{\"format\": \"halfscope-comparison\", \"vers";
    EXPECT_THAT(refusal({"--csv", folder / "broken"}), HasSubstr("comparison.json: This is not JSON"));
    std::ofstream(folder / "file") << "x";
    const ProcessResult file = run(small({"--csv", folder / "file", "--steps", "2"}));
    EXPECT_EQ(file.status, 1);
    EXPECT_EQ(lines(file.err).size(), 1U) << file.err;
    EXPECT_THAT(run({"compare", "--help"}).out, HasSubstr("curves.csv"));
}

// A file that somebody changed does not put figures into the table that no run has.
TEST(Compare, ImpossibleFiguresAreNotGoneOnWith)
{
    const TemporaryFolder folder;
    const std::string out = folder / "out";
    ASSERT_EQ(run(small({"--formats", "fp32", "--seeds", "1", "--steps", "3", "--csv", out})).status, 0);
    const std::string good = readFile(out + "/comparison.json");
    for (const auto& [what, by] : {std::pair{"\"skipped\": 0", "\"skipped\": 1e308"},
                                   {"\"skipped\": 0", "\"skipped\": -1"},
                                   {"\"skipped\": 0", "\"skipped\": 4"},
                                   {"\"final_scale\": 1", "\"final_scale\": -1"},
                                   {"\"accuracy\": [", "\"accuracy\": [-1,"},
                                   {"\"steps\": 3", "\"steps\": 3.5"},
                                   {"\"seeds\": 1", "\"seeds\": 1e99"},
                                   {"\"relative\": 1", "\"relative\": -1"}}) {
        const std::size_t at = good.find(what);
        ASSERT_NE(at, std::string::npos) << what;
        std::ofstream(out + "/comparison.json") << std::string(good).replace(at, std::string(what).size(), by);
        const ProcessResult r = run(small({"--resume", "--csv", out}));
        EXPECT_EQ(r.status, 2) << by << r.out;
        EXPECT_EQ(lines(r.err).size(), 1U) << r.err;
    }
}

TEST(Compare, AFormatThatCannotGoOnLeavesTheOthersAlone)
{
    const ProcessResult r = run(small({"-q", "--formats", "fp32,mixed-fp16", "--seeds", "1", "--steps", "30", "--set",
                                       "initial-scale=2^120", "--set", "at-min=stop", "--set", "min-scale=2^119"}));
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("Mixed FP16: 1 run did not complete; seed 1 ended at step "));
    EXPECT_THAT(r.out, testing::ContainsRegex("\n?FP32 [^\n]* 1 of 1\n"));
    EXPECT_THAT(r.out, testing::ContainsRegex("\nMixed FP16 [^\n]* 0 of 1\n"));
}

} // namespace
} // namespace halfscope::test
