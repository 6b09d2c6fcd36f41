// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope simulate` against traces of the frameworks' own scalers.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/process.h"

namespace halfscope::test {
namespace {

using testing::HasSubstr;
using Cells = std::vector<std::vector<std::string>>;

Cells simulate(std::vector<std::string> arguments, const ProcessOptions& options = {})
{
    arguments.insert(arguments.begin(), "simulate");
    const ProcessResult r = run(arguments, options);
    EXPECT_EQ(r.status, 0) << r.err;
    Cells rows;
    for (const std::string& line : lines(r.out))
        rows.push_back(fields(line));
    EXPECT_EQ(rows.at(0), (std::vector<std::string>{"step", "found_inf", "skipped", "scale_before", "scale_after",
                                                    "growth_tracker", "hysteresis", "event"}));
    rows.erase(rows.begin());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].size(), 8U);
        EXPECT_EQ(rows[i][0], std::to_string(i + 1));
        const bool edited = std::find(arguments.begin(), arguments.end(), "--at") != arguments.end();
        if (i > 0 && !edited) { // the scale goes on from where it was
            EXPECT_EQ(rows[i][3], rows[i - 1][4]);
        }
    }
    return rows;
}

std::vector<std::string> column(const Cells& rows, std::size_t index)
{
    std::vector<std::string> all;
    for (const auto& row : rows)
        all.push_back(row.at(index));
    return all;
}

std::vector<double> log2Scales(const Cells& rows)
{
    std::vector<double> all;
    for (const std::string& text : column(rows, 4))
        all.push_back(std::log2(std::stod(text)));
    return all;
}

const std::string kSequence = "..x.xx....x.....";

TEST(Simulate, PyTorchTrace)
{
    const Cells rows = simulate({"--preset", "pytorch", "--overflows", kSequence, "--set", "growth-interval=4"});
    EXPECT_EQ(log2Scales(rows), (std::vector<double>{16, 16, 15, 15, 14, 13, 13, 13, 13, 14, 13, 13, 13, 13, 14, 14}));
    EXPECT_EQ(column(rows, 5), (std::vector<std::string>{"1", "2", "0", "1", "0", "0", "1", "2", "3", "0", "0", "1",
                                                         "2", "3", "0", "1"}));
    EXPECT_EQ(column(rows, 7), (std::vector<std::string>{"", "", "backoff", "", "backoff", "backoff", "", "", "",
                                                         "growth", "backoff", "", "", "", "growth", ""}));
    EXPECT_EQ(column(rows, 1), column(rows, 2)); // every overflow is skipped
    EXPECT_EQ(rows[0], (std::vector<std::string>{"1", "0", "0", "65536", "65536", "1", "1", ""}));
    EXPECT_EQ(rows[2], (std::vector<std::string>{"3", "1", "1", "65536", "32768", "0", "1", "backoff"}));
}

TEST(Simulate, BudgetAndConsecutiveTraces)
{
    // A number above 1 alone means a budget.
    const Cells budget = simulate({"--overflows", kSequence, "--set", "growth-interval=4", "--set", "hysteresis=2"});
    EXPECT_EQ(log2Scales(budget),
              (std::vector<double>{16, 16, 16, 16, 15, 14, 14, 14, 14, 15, 15, 15, 15, 15, 16, 16}));
    EXPECT_EQ(column(budget, 6), (std::vector<std::string>{"2", "2", "1", "1", "0", "0", "0", "0", "0", "2", "1", "1",
                                                           "1", "1", "2", "2"}));
    EXPECT_EQ(budget[2][7], "tolerated");
    const Cells consecutive = simulate({"--overflows", kSequence, "--set", "growth-interval=4", "--set", "hysteresis=2",
                                        "--set", "hysteresis-kind=consecutive"});
    EXPECT_EQ(log2Scales(consecutive),
              (std::vector<double>{16, 16, 16, 16, 16, 15, 15, 15, 15, 16, 16, 16, 16, 16, 17, 17}));
}

TEST(Simulate, FactorsThatAreNoPowersOfTwo)
{
    const Cells rows = simulate({"--overflows", "..x..x", "--set", "initial-scale=1000", "--set", "growth-factor=1.5",
                                 "--set", "backoff-factor=0.7", "--set", "growth-interval=2"});
    EXPECT_EQ(column(rows, 4), (std::vector<std::string>{"1000", "1500", "1050", "1050", "1575", "1102.5"}));
}

TEST(Simulate, NumbersReadBackAsTheExactScale)
{
    const Cells rows = simulate({"--overflows", "3x", "--set", "backoff-factor=0.7"});
    float scale = 65536;
    for (const auto& row : rows) {
        scale = static_cast<float>(static_cast<double>(scale) * 0.7);
        double written = 0;
        std::from_chars(row[4].data(), row[4].data() + row[4].size(), written);
        EXPECT_EQ(written, static_cast<double>(scale));
    }
}

TEST(Simulate, GrowthIsCappedAndTheFloorHolds)
{
    const Cells capped = simulate({"--overflows", "...", "--set", "initial-scale=2^127", "--set", "growth-interval=1"});
    EXPECT_EQ(column(capped, 7), (std::vector<std::string>(3, "growth-capped")));
    EXPECT_EQ(column(capped, 5), (std::vector<std::string>(3, "0")));
    const Cells vanished = simulate({"--overflows", "170x"}); // PyTorch has no floor
    EXPECT_EQ(vanished[164][7], "backoff");
    EXPECT_EQ(vanished[165][7], "zero");
    EXPECT_EQ(vanished[165][4], "0");
    const Cells infinite = simulate(
        {"--preset", "keras3", "--overflows", "3.", "--set", "growth-interval=1", "--set", "initial-scale=2^126"});
    EXPECT_EQ(column(infinite, 4), (std::vector<std::string>{"1.7014118346046923e+38", "inf", "inf"}));
    EXPECT_EQ(column(infinite, 7), (std::vector<std::string>{"growth", "infinite", "infinite"}));
    const Cells floored = simulate({"--overflows", "500x", "--set", "min-scale=2^-126"});
    ASSERT_EQ(floored.size(), 500U);
    EXPECT_EQ(floored[15][4], "1");
    EXPECT_EQ(floored[141][7], "backoff");
    EXPECT_EQ(floored[141][4], "1.1754943508222875e-38");
    EXPECT_EQ(floored[142][7], "at-minimum");
    EXPECT_EQ(floored[499][4], "1.1754943508222875e-38");
}

TEST(Simulate, DefaultIntervalIsPyTorchs)
{
    const Cells rows = simulate({"--overflows", "2001."});
    EXPECT_EQ(rows[1998][7], "");
    EXPECT_EQ(rows[1999][7], "growth");
    EXPECT_EQ(rows[1999][4], "131072");
}

TEST(Simulate, StaticAndOff)
{
    const Cells fixed = simulate({"--preset", "static", "--overflows", ".x."});
    EXPECT_EQ(column(fixed, 4), (std::vector<std::string>(3, "65536")));
    EXPECT_EQ(column(fixed, 2), (std::vector<std::string>{"0", "1", "0"}));
    EXPECT_EQ(column(simulate({"--preset", "off", "--overflows", ".x."}), 4), (std::vector<std::string>(3, "1")));
}

TEST(Simulate, LiveEdits)
{
    // The interval is lowered below the count: growth at the next clean step.
    const Cells rows = simulate({"--overflows", "25.", "--set", "growth-interval=30", "--at", "21:growth-interval=10"});
    EXPECT_EQ(rows[19][5], "20");
    EXPECT_EQ(rows[20][7], "growth");
    const Cells scaled = simulate({"--overflows", "...", "--at", "2:scale=2^10", "--at", "2:max-scale=2^20"});
    EXPECT_EQ(column(scaled, 3), (std::vector<std::string>{"65536", "1024", "1024"}));
}

TEST(Simulate, SequencesFromAFileAndFromTheStandardInput)
{
    const TemporaryFolder folder;
    std::ofstream(folder / "seq") << "..x\n.x\n";
    const Cells fromFile = simulate({"--overflows-file", folder / "seq"});
    EXPECT_EQ(column(fromFile, 1), (std::vector<std::string>{"0", "0", "1", "0", "1"}));
    EXPECT_EQ(simulate({"--overflows-file", "-"}, {.input = "..x.x"}), fromFile);
}

TEST(Simulate, ClosedLoop)
{
    const Cells rows = simulate({"--limit", "8192", "--steps", "1000", "--set", "growth-interval=10"});
    ASSERT_EQ(rows.size(), 1000U);
    for (const auto& row : rows)
        EXPECT_EQ(row[1] == "1", std::stod(row[3]) > 8192) << row[0];
    EXPECT_EQ(rows.back()[4] == "8192" || rows.back()[4] == "16384", true);
}

// A sequence cut anywhere and resumed from the saved state is the same sequence.
TEST(Simulate, AStateResumesTheRuleExactly)
{
    const TemporaryFolder folder;
    for (const char* preset : {"pytorch", "deepspeed", "megatron", "flax", "fairseq", "paddle"}) {
        const std::vector<std::string> knobs = {"--set", "growth-interval=4", "--set", "hysteresis=2",
                                                "--set", "tolerance=0.2",     "--set", "growth-factor=3"};
        const auto with = [&](std::vector<std::string> more) {
            more.insert(more.end(), knobs.begin(), knobs.end());
            return more;
        };
        const std::string sequence = "..x.xx....x.....x.x......xxx..";
        const Cells whole = simulate(with({"--preset", preset, "--overflows", sequence}));
        for (const std::size_t cut : {1U, 4U, 9U, 13U, 20U, 28U}) {
            const Cells first = simulate(with(
                {"--preset", preset, "--overflows", sequence.substr(0, cut), "--save-state", folder / "state.json"}));
            Cells second = simulate({"--state", folder / "state.json", "--overflows", sequence.substr(cut)});
            Cells expected(whole.begin() + static_cast<std::ptrdiff_t>(cut), whole.end());
            for (std::size_t i = 0; i < second.size(); ++i)
                second[i][0] = expected.at(i)[0]; // steps are counted anew
            EXPECT_EQ(second, expected) << preset << " cut at " << cut;
        }
    }
}

TEST(Simulate, AVanishedScaleIsSavedAndResumed)
{
    const TemporaryFolder folder;
    simulate({"--overflows", "200x", "--save-state", folder / "s.json"});
    EXPECT_EQ(column(simulate({"--state", folder / "s.json", "--overflows", ".."}), 3),
              (std::vector<std::string>{"0", "0"}));
}

TEST(Simulate, BadStatesAreRefusedInOneSentence)
{
    const TemporaryFolder folder;
    simulate({"--overflows", "..x", "--save-state", folder / "good.json"});
    const auto with = [&](const std::string& what, const std::string& by) {
        const std::string bad = writeChanged(folder / "good.json", what, by, folder / "bad.json");
        const ProcessResult r = run({"simulate", "--state", bad, "--overflows", "."});
        EXPECT_EQ(r.status, 2);
        EXPECT_EQ(r.out, "");
        EXPECT_EQ(lines(r.err).size(), 1U) << r.err;
        return r.err;
    };
    EXPECT_THAT(with("\"scale\": 32768.0", "\"scale\": -1"), HasSubstr("scale = -1"));
    EXPECT_THAT(with("\"scale\": 32768.0", "\"scale\": \"many\""), HasSubstr("\"scale\""));
    EXPECT_THAT(with("\"grown\": false,", ""), HasSubstr("no member \"grown\""));
    EXPECT_THAT(with("\"grown\"", "\"gone\""), HasSubstr("\"gone\", which this HalfScope does not know"));
    EXPECT_THAT(with("\"growth-tracker\": 0", "\"growth-tracker\": -3"), HasSubstr("growth-tracker"));
    EXPECT_THAT(with("halfscope-scaler", "something"), HasSubstr("no scaler's state"));
    // What would be ignored is refused, wherever it stands.
    EXPECT_THAT(with("\"version\": 1,", "\"version\": 1, \"scale\": 7,"),
                HasSubstr("The scaler's file has a member \"scale\""));
    EXPECT_THAT(with("\"growth-tracker\":", "\"growth-tracer\": 3, \"growth-tracker\":"),
                HasSubstr("The state has a member \"growth-tracer\""));
    EXPECT_THAT(with("\"growth-factor\":", "\"width\": 64, \"growth-factor\":"), HasSubstr("\"width\""));
    EXPECT_THAT(with("\"growth-factor\":", "\"precision.h0.mlp.fc\": \"fp32\", \"growth-factor\":"),
                HasSubstr("\"precision.h0.mlp.fc\""));
    EXPECT_THAT(with("\"growth-factor\":", "\"gwoth\": 64, \"growth-factor\":"), HasSubstr("no setting \"gwoth\""));
    EXPECT_THAT(with("{", "["), HasSubstr("not JSON"));
    EXPECT_THAT(with("\"growth-factor\": 2", "\"growth-factor\": 1"), HasSubstr("growth-factor"));
    EXPECT_THAT(with("\"growth-factor\": 2,", ""), HasSubstr("The settings lack \"growth-factor\""));
    const ProcessResult both =
        run({"simulate", "--state", folder / "good.json", "--preset", "flax", "--overflows", "."});
    EXPECT_EQ(both.status, 2);
}

TEST(Simulate, WhereTheOriginalRaisesTheStatusSaysSo)
{
    const ProcessResult r = run({"simulate", "--overflows", "xxxx", "--set", "initial-scale=2", "--set", "min-scale=1",
                                 "--set", "at-min=stop"});
    EXPECT_EQ(r.status, 3);
    EXPECT_EQ(lines(r.out).size(), 3U); // header, backoff, at the minimum
    EXPECT_EQ(fields(lines(r.out).back()).back(), "raised");
    EXPECT_EQ(r.err, "halfscope simulate: the rule raised at step 2: a step overflowed at min-scale.\n");
    const ProcessResult fairseq = run({"simulate", "--preset", "fairseq", "--overflows", "100x"});
    EXPECT_EQ(fairseq.status, 3);
    EXPECT_EQ(fields(lines(fairseq.out).back())[4], "0.0001220703125"); // 2^-13; the next would be below 1e-4
    const ProcessResult mindspore = run({"simulate", "--preset", "mindspore", "--overflows", "2000x"});
    EXPECT_EQ(mindspore.status, 3);
    EXPECT_EQ(lines(mindspore.out).size(), 1002U);
}

TEST(Simulate, Mistakes)
{
    const auto refusal = [](const std::vector<std::string>& arguments) {
        const ProcessResult r = run(arguments);
        EXPECT_EQ(r.status, 2);
        EXPECT_EQ(r.out, "");
        EXPECT_EQ(lines(r.err).size(), 1U);
        return r.err;
    };
    EXPECT_THAT(refusal({"simulate"}), HasSubstr("--overflows"));
    EXPECT_THAT(refusal({"simulate", "--overflows", ".", "--overflows-file", "x"}),
                HasSubstr("Give the sequence by --overflows"));
    EXPECT_THAT(refusal({"simulate", "--limit", "0", "--steps", "3"}), HasSubstr("--limit 0"));
    EXPECT_THAT(refusal({"simulate", "--limit", "8"}), HasSubstr("--steps"));
    EXPECT_THAT(refusal({"simulate", "--overflows", ".", "--steps", "3"}), HasSubstr("--steps goes with --limit"));
    EXPECT_THAT(refusal({"simulate", "--overflows", ".", "--state", "/nonexistent"}), HasSubstr("No such file"));
    EXPECT_THAT(refusal({"simulate", "--overflows", "..o"}), HasSubstr("at character 3 it has 'o'"));
    EXPECT_THAT(refusal({"simulate", "--overflows-file", "/nonexistent/file"}), HasSubstr("No such file"));
    EXPECT_THAT(refusal({"simulate", "--overflows-file", "/"}), HasSubstr("is a folder"));
    EXPECT_THAT(refusal({"simulate", "--overflows", ".", "--set", "growth-factor=1"}), HasSubstr("growth-factor"));
    EXPECT_THAT(refusal({"simulate", "--overflows", ".", "--set", "min-scale=2^20"}),
                HasSubstr("initial-scale = 65536"));
    EXPECT_THAT(refusal({"simulate", "--overflows", ".", "--at", "2:growth-interval=3"}),
                HasSubstr("the run ends after step 1"));
    EXPECT_THAT(refusal({"simulate", "--overflows", ".", "--at", "1:width=3"}), HasSubstr("no setting of the scaler"));
}

} // namespace
} // namespace halfscope::test
