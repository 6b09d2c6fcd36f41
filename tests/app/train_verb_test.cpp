// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope train`: files, determinism, commands at steps, interruption.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/app/process.h"

namespace halfscope::test {
namespace {

using testing::HasSubstr;

// A model small enough for thousands of steps a second. Growing every 3 steps from 2^14, it soon overflows.
std::vector<std::string> small(std::vector<std::string> more)
{
    std::vector<std::string> arguments = {"train"};
    for (const char* setting :
         {"width=16", "depth=2", "heads=2", "context=8", "batch=4", "initial-scale=2^14", "growth-interval=3"}) {
        arguments.push_back("--set");
        arguments.push_back(setting);
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

ProcessResult trained(const std::vector<std::string>& more, const ProcessOptions& options = {})
{
    ProcessResult r = run(small(more), options);
    EXPECT_EQ(r.status, 0) << r.err;
    return r;
}

// Rows of a file as maps from column to cell; for files without quotes in them.
std::vector<std::map<std::string, std::string>> table(const std::string& path)
{
    const std::vector<std::string> all = lines(readFile(path));
    std::vector<std::map<std::string, std::string>> rows;
    const std::vector<std::string> columns = fields(all.at(0));
    for (std::size_t i = 1; i < all.size(); ++i) {
        const std::vector<std::string> cells = fields(all[i]);
        EXPECT_EQ(cells.size(), columns.size()) << path << " line " << i + 1;
        std::map<std::string, std::string> row;
        for (std::size_t k = 0; k < std::min(cells.size(), columns.size()); ++k)
            row[columns[k]] = cells[k];
        rows.push_back(row);
    }
    return rows;
}

// All but timing.csv, and run.json where the runs were asked for differently.
const std::vector<std::string> kSameFiles = {"steps.csv", "layers.csv", "histograms.csv", "events.csv", "shadow.csv"};

void expectSameRun(const TemporaryFolder& folder, const std::string& a, const std::string& b)
{
    for (const std::string& file : kSameFiles)
        EXPECT_TRUE(readFile(folder / (a + "/" + file)) == readFile(folder / (b + "/" + file))) << file;
}

TEST(Train, WritesTheWholeSet)
{
    const TemporaryFolder folder;
    const ProcessResult r = trained({"--steps", "12", "--csv", folder / "out"});
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "out"))
        names.push_back(entry.path().filename().string());
    EXPECT_THAT(names, testing::UnorderedElementsAre("steps.csv", "layers.csv", "histograms.csv", "events.csv",
                                                     "timing.csv", "shadow.csv", "updates.csv", "run.json"));
    const auto steps = table(folder / "out/steps.csv");
    ASSERT_EQ(steps.size(), 12U);
    for (std::size_t i = 0; i < steps.size(); ++i)
        EXPECT_EQ(steps[i].at("step"), std::to_string(i + 1));
    EXPECT_EQ(steps[0].at("scale"), "16384");
    EXPECT_EQ(steps[0].at("outcome"), "applied");
    EXPECT_THAT(r.out, HasSubstr("12 steps ("));
    EXPECT_THAT(r.out, HasSubstr("the files in " + (folder / "out") + " are complete."));
}

TEST(Train, TheSameRunGivesTheSameBytes)
{
    const TemporaryFolder folder;
    const auto go = [&](const std::string& name, const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {
            "--steps", "40", "--csv", folder / name, "--at", "20:growth-interval=2", "--inject", "30:h1.mlp.fc:1e6"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        trained(arguments);
    };
    go("a", {});
    go("b", {});
    expectSameRun(folder, "a", "b");
    EXPECT_EQ(readFile(folder / "a/run.json"), readFile(folder / "b/run.json"));
    go("threads", {"--set", "threads=1"});
    expectSameRun(folder, "a", "threads");
    go("other", {"--seed", "2"});
    EXPECT_NE(readFile(folder / "a/steps.csv"), readFile(folder / "other/steps.csv"));
    // The sequence holds what it is meant to: growth and skips.
    EXPECT_THAT(readFile(folder / "a/steps.csv"), HasSubstr("skipped-overflow"));
    EXPECT_THAT(readFile(folder / "a/steps.csv"), HasSubstr(",growth,"));
}

TEST(Train, EveryInstructionSetGivesTheSameBytes)
{
    const TemporaryFolder folder;
    for (const std::string level : {"portable", "avx2", "avx512"}) // one the processor lacks is the next lower
        trained({"--steps", "10", "--csv", folder / level}, {.environment = {{"HALFSCOPE_SIMD", level}}});
    expectSameRun(folder, "portable", "avx2");
    expectSameRun(folder, "portable", "avx512");
}

TEST(Train, TheLocaleChangesNothing)
{
    const TemporaryFolder folder;
    trained({"--steps", "8", "--csv", folder / "c"}, {.environment = {{"LC_ALL", "C"}}});
    trained({"--steps", "8", "--csv", folder / "de"}, {.environment = {{"LC_ALL", "de_DE.UTF-8"}}});
    expectSameRun(folder, "c", "de");
    EXPECT_EQ(readFile(folder / "c/run.json"), readFile(folder / "de/run.json"));
}

TEST(Train, ARecordedRunThatWasChangedIsRefused)
{
    const TemporaryFolder folder;
    trained({"--steps", "5", "-q", "--csv", folder / "a", "--at", "2:scale=1024"});
    const std::string run5 = folder / "a/run.json";
    const auto refusal = [&](const std::string& what, const std::string& by) {
        const ProcessResult r = run({"train", "-q", "--replay", writeChanged(run5, what, by, folder / "changed.json")});
        EXPECT_NE(r.status, 0) << what;
        EXPECT_EQ(lines(r.err).size(), 1U) << r.err;
        return r.err;
    };
    EXPECT_THAT(refusal("\"recorded\": 5", "\"recorded\": -5"), HasSubstr("from 1 to"));
    EXPECT_THAT(refusal("\"recorded\": 5", "\"recorded\": 3.7"), HasSubstr("from 1 to"));
    EXPECT_THAT(refusal("\"recorded\": 5", "\"recorded\": 1e30"), HasSubstr("from 1 to"));
    EXPECT_THAT(refusal("\"version\": 1,\n  \"program\"", "\"version\": 99,\n  \"program\""), HasSubstr("version"));
    EXPECT_THAT(refusal("\"seed\": 1,", "\"seed\": 2,"), HasSubstr("seed"));
    EXPECT_THAT(refusal("\"fnv1a64\": \"", "\"fnv1a64\": \"0"), HasSubstr("recorded on"));
}

// Pause, turn a knob, export: the command came after the last step and is no part of the steps there are.
TEST(Train, AReplayLeavesOutWhatCameAfterTheLastStep)
{
    const TemporaryFolder folder;
    trained({"--steps", "8", "-q", "--csv", folder / "a", "--at", "2:scale=1024", "--at", "8:scale=2048"});
    const std::string late =
        writeChanged(folder / "a/run.json", "\"recorded\": 8", "\"recorded\": 7", folder / "late.json");
    const ProcessResult r = run({"train", "-q", "--replay", late, "--csv", folder / "b"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(table(folder / "b/steps.csv").size(), 7U);
}

// Another device rounds sums differently: where one was at work the replay says so, and only there.
TEST(Train, AReplayOnAnotherDeviceSaysSo)
{
    const TemporaryFolder folder;
    trained({"--steps", "5", "-q", "--csv", folder / "a"});
    const auto said = [&](const std::string& by) {
        const std::string cpu = "\"backend\": \"CPU ";
        const ProcessResult r =
            run({"train", "-q", "--replay", writeChanged(folder / "a/run.json", cpu, by, folder / "changed.json")});
        EXPECT_EQ(r.status, 0) << r.err;
        return r.err;
    };
    EXPECT_EQ(said("\"backend\": \"CPU · other, "), "");
    EXPECT_THAT(said("\"backend\": \"A GPU · "),
                AllOf(HasSubstr("from 1 on were computed by \"A GPU"), HasSubstr("CPU")));
    const auto went = [](int step, const std::string& to) {
        return R"("continuations": [{"step": )" + std::to_string(step) + R"(, "backend": ")" + to + R"("}], )";
    };
    EXPECT_THAT(said(went(4, "A GPU") + "\"backend\": \"CPU "), HasSubstr("from 4 on were computed by \"A GPU\""));
    EXPECT_THAT(said(went(4, "CPU") + "\"backend\": \"A GPU · "), HasSubstr("from 1 on"));
    EXPECT_EQ(said(went(6, "A GPU") + "\"backend\": \"CPU "), "") << "after the last step";
}

// A precision that was undone in the window holds beneath what the schedule had set, in a replay as well.
TEST(Train, AReplayUndoesAPrecisionBeneathTheSchedule)
{
    const TemporaryFolder folder;
    std::vector<std::string> arguments = small({"--steps", "6", "--csv", folder / "a"});
    for (const char* more : {"--set", "precision=mixed-fp16", "--set", "precision-schedule=3:mixed-bf16", "--at",
                             "2:precision=fp32", "--at", "5:precision=mixed-fp16"})
        arguments.emplace_back(more);
    ASSERT_EQ(run(arguments).status, 0);
    const auto formats = [&](const std::string& of) {
        std::string all;
        for (const std::string& line : lines(readFile(folder / (of + "/layers.csv")))) {
            const std::vector<std::string> cells = fields(line);
            if (cells.at(1) == "lm_head" && cells.at(2) == "weight_grad")
                all += cells.at(3) + " ";
        }
        return all;
    };
    EXPECT_EQ(formats("a"), "fp16 fp32 bf16 bf16 fp16 fp16 ");
    const std::string undone =
        writeChanged(folder / "a/run.json", "\"step\": 5,", "\"since\": 0, \"step\": 5,", folder / "undone.json");
    const ProcessResult r = run({"train", "-q", "--replay", undone, "--csv", folder / "b"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(formats("b"), "fp16 fp32 bf16 bf16 bf16 bf16 ");
    EXPECT_THAT(readFile(folder / "b/run.json"), HasSubstr("\"since\": 0"));
    ASSERT_EQ(run({"train", "-q", "--replay", folder / "b/run.json", "--csv", folder / "c"}).status, 0);
    for (const char* file : {"steps.csv", "layers.csv", "events.csv", "run.json"})
        EXPECT_EQ(readFile(folder / (std::string("b/") + file)), readFile(folder / (std::string("c/") + file))) << file;
    for (const char* bad :
         {"\"since\": -7, \"step\": 5,", "\"since\": \"x\", \"step\": 5,", "\"since\": 1.5, \"step\": 5,"}) {
        const ProcessResult refused = run(
            {"train", "-q", "--replay", writeChanged(folder / "a/run.json", "\"step\": 5,", bad, folder / "bad.json")});
        EXPECT_EQ(refused.status, 2) << bad;
        EXPECT_EQ(lines(refused.err).size(), 1U) << refused.err;
    }
}

// Where the scaler paused the recorded run and somebody resumed it, the replay goes on too.
TEST(Train, AReplayGoesOnAfterAPauseThatWasResumed)
{
    const TemporaryFolder folder;
    const ProcessResult paused =
        run(small({"--steps", "20", "-q", "--csv", folder / "a", "--set", "at-min=pause", "--set", "min-scale=2^14",
                   "--set", "growth-interval=1000", "--inject", "5:lm_head:1e9"}));
    EXPECT_EQ(paused.status, 3) << paused.err;
    const std::string resumed =
        writeChanged(folder / "a/run.json", "\"recorded\": 5", "\"recorded\": 20", folder / "long.json");
    const ProcessResult r = run({"train", "-q", "--replay", resumed, "--csv", folder / "b"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(table(folder / "b/steps.csv").size(), 20U);
}

// With the standard streams closed, the first files would get their numbers and what is meant for the terminal.
TEST(Train, ClosedStandardStreamsDoNotEndUpInTheFiles)
{
    const TemporaryFolder folder;
    const std::string command =
        std::string(HALFSCOPE_BINARY) + " train --steps 20 --set width=16 --csv " + (folder / "a") + " <&- >&- 2>&-";
    EXPECT_EQ(std::system(command.c_str()), 0);
    for (const char* file : {"steps.csv", "layers.csv", "histograms.csv", "events.csv", "timing.csv", "shadow.csv"})
        EXPECT_EQ(fields(lines(readFile(folder / (std::string("a/") + file))).front()).front(), "step") << file;
}

TEST(Train, ReplayingARunFromItsFileGivesTheSameBytes)
{
    const TemporaryFolder folder;
    trained({"--steps", "30", "--seed", "9", "--csv", folder / "a", "--at", "10:scale=2^20", "--at",
             "12:precision.h0.mlp.fc=fp32", "--at", "15:learning-rate=1e-4", "--inject", "20:lm_head/weight_grad:1e9",
             "--inject", "22:bad-batch", "--inject", "25:learning-rate:100"});
    const ProcessResult r = run({"train", "--replay", folder / "a/run.json", "--csv", folder / "b"});
    ASSERT_EQ(r.status, 0) << r.err;
    expectSameRun(folder, "a", "b");
    EXPECT_EQ(readFile(folder / "a/run.json"), readFile(folder / "b/run.json"));
}

TEST(Train, ARunsConfigurationCanBeUsedAgain)
{
    const TemporaryFolder folder;
    trained({"--steps", "5", "--seed", "9", "--csv", folder / "a"});
    const ProcessResult r =
        run({"train", "--config", folder / "a/run.json", "--steps", "5", "--csv", folder / "b", "--quiet"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, "");
    expectSameRun(folder, "a", "b");
}

TEST(Train, CommandsApplyAtTheirStep)
{
    const TemporaryFolder folder;
    trained({"--steps", "10", "--csv", folder / "out", "--set", "growth-interval=1000", "--at", "4:scale=1024", "--at",
             "7:learning-rate=0.5", "--at", "2:precision.h0.mlp.fc=fp32"});
    const auto steps = table(folder / "out/steps.csv");
    for (const auto& row : steps) {
        const int step = std::stoi(row.at("step"));
        EXPECT_EQ(row.at("scale"), step < 4 ? "16384" : "1024") << step;
        EXPECT_EQ(row.at("learning_rate"), step < 7 ? "0.001" : "0.5") << step;
    }
    for (const auto& row : table(folder / "out/layers.csv")) {
        if (row.at("module") == "h0.mlp.fc") {
            EXPECT_EQ(row.at("format"), row.at("step") == "1" ? "fp16" : "fp32") << row.at("step");
        }
    }
    const std::string events = readFile(folder / "out/events.csv");
    EXPECT_THAT(events, HasSubstr("\n4,command,"));
    EXPECT_THAT(events, HasSubstr(",scale,16384,1024,"));
    EXPECT_THAT(events, HasSubstr(",learning-rate,0.001,0.5,"));
    EXPECT_THAT(events, HasSubstr(",precision.h0.mlp.fc,fp16,fp32,"));
}

TEST(Train, AnInjectedSpikeIsNamedAsTheCulprit)
{
    const TemporaryFolder folder;
    trained({"--steps", "8", "--csv", folder / "out", "--set", "growth-interval=1000", "--inject", "5:h1.mlp.fc:1e7",
             "--inject", "7:h0.attn.qkv/weight_grad:1e9"});
    for (const auto& row : table(folder / "out/steps.csv")) {
        const bool spiked = row.at("step") == "5" || row.at("step") == "7";
        EXPECT_EQ(row.at("outcome"), spiked ? "skipped-overflow" : "applied") << row.at("step");
        EXPECT_EQ(row.at("overflow_module"), row.at("step") == "5"   ? "h1.mlp.fc"
                                             : row.at("step") == "7" ? "h0.attn.qkv"
                                                                     : "");
    }
}

TEST(Train, HistogramsCountWhatTheLayersCount)
{
    const TemporaryFolder folder;
    trained({"--steps", "5", "--csv", folder / "out", "--set", "initial-scale=1"});
    std::map<std::string, std::int64_t> inBins;
    for (const auto& row : table(folder / "out/histograms.csv"))
        inBins[row.at("step") + row.at("module") + row.at("tap")] += std::stoll(row.at("count"));
    for (const auto& row : table(folder / "out/layers.csv")) {
        const auto number = [&](const char* column) { return std::stoll(row.at(column)); };
        EXPECT_EQ(number("count"), number("zero") + number("flushed") + number("subnormal") + number("normal") +
                                       number("saturating") + number("inf") + number("nan"));
        EXPECT_EQ(inBins[row.at("step") + row.at("module") + row.at("tap")],
                  number("count") - number("zero") - number("inf") - number("nan"));
    }
}

TEST(Train, InterruptingCompletesTheFiles)
{
    for (const int signal : {SIGINT, SIGTERM}) {
        const TemporaryFolder folder;
        ProcessOptions options;
        options.signal = signal;
        options.signalAfter = "step 1000/"; // plain progress lines come at every tenth of the steps
        const ProcessResult r =
            run(small({"--steps", "10000", "--csv", folder / "out", "--set", "statistics-interval=50"}), options);
        EXPECT_EQ(r.status, 130);
        EXPECT_THAT(r.err,
                    testing::MatchesRegex("halfscope train: interrupted after step [0-9]+ of 10000; the files in "
                                          ".* are complete\\.\n"));
        const auto steps = table(folder / "out/steps.csv");
        ASSERT_GE(steps.size(), 1000U);
        EXPECT_LT(steps.size(), 10000U);
        EXPECT_THAT(r.err, HasSubstr("after step " + steps.back().at("step") + " "));
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "out"), {}), 8);
    }
}

TEST(Train, ABrokenPipeDoesNotLoseTheRun)
{
    const TemporaryFolder folder;
    // The shell's reader ends at once; the run goes on and its files are whole.
    std::string command = "'" HALFSCOPE_BINARY "'";
    for (const std::string& argument : small({"--steps", "300", "--csv", folder / "out"}))
        command += " '" + argument + "'";
    command += " 2>/dev/null | true";
    std::system(command.c_str()); // the pipe's own status is that of `true`
    EXPECT_EQ(table(folder / "out/steps.csv").size(), 300U);
}

TEST(Train, ProgressIsPlainLinesInAPipe)
{
    const ProcessResult r = trained({"--steps", "20"});
    EXPECT_EQ(r.out.find('\r'), std::string::npos);
    EXPECT_EQ(r.out.find('\x1b'), std::string::npos);
    EXPECT_THAT(r.out,
                testing::ContainsRegex("step 10/20  loss [0-9.]+  scale 2\\^[0-9]+  skipped [0-9]+  [0-9.]+ steps/s"));
    EXPECT_THAT(r.out, HasSubstr("no files were asked for (--csv)"));
}

TEST(Train, FoldersThatCannotBeWritten)
{
    const TemporaryFolder folder;
    std::ofstream(folder / "file") << "x";
    for (const std::string& bad : {folder / "file", folder / "file/sub", std::string("/proc/halfscope")}) {
        const ProcessResult r = run(small({"--steps", "2", "--csv", bad}));
        EXPECT_EQ(r.status, 1) << bad;
        EXPECT_EQ(lines(r.err).size(), 1U) << r.err;
        EXPECT_THAT(r.err, HasSubstr(bad));
    }
    EXPECT_EQ(readFile(folder / "file"), "x");
}

TEST(Train, TextsThatCannotBeUsed)
{
    const TemporaryFolder folder;
    std::ofstream(folder / "short.txt") << "too short";
    std::ofstream(folder / "binary.txt") << std::string(5000, '\0');
    for (const std::string& bad : {folder / "none.txt", folder / "short.txt", folder / "binary.txt", folder.path()}) {
        const ProcessResult r = run(small({"--steps", "2", "--text", bad}));
        EXPECT_EQ(r.status, 1) << bad;
        EXPECT_EQ(r.out, "");
        EXPECT_EQ(lines(r.err).size(), 1U) << r.err;
        EXPECT_THAT(r.err, HasSubstr(bad));
    }
}

TEST(Train, AFileOfOnesOwn)
{
    const TemporaryFolder folder;
    std::string text;
    for (int i = 0; i < 200; ++i)
        text += "number " + std::to_string(i) + " follows\n";
    std::ofstream(folder / "mine.txt") << text;
    EXPECT_THAT(trained({"--steps", "3", "--text", folder / "mine.txt"}).out, HasSubstr("mine"));
}

TEST(Train, StopAndPauseAtTheMinimumEndTheRunEarly)
{
    for (const std::string action : {"stop", "pause"}) {
        const TemporaryFolder folder;
        const ProcessResult r =
            run(small({"--steps", "20", "--csv", folder / "out", "--set", "min-scale=2^14", "--set", "at-min=" + action,
                       "--inject", "6:lm_head:1e9", "--set", "growth-interval=100"}));
        EXPECT_EQ(r.status, 3);
        EXPECT_THAT(r.err, HasSubstr("ended at step 6 of 20"));
        EXPECT_THAT(r.err, HasSubstr("at-min is " + action));
        EXPECT_EQ(table(folder / "out/steps.csv").size(), 6U);
    }
}

TEST(Train, ScalesThatArePowersOfTwoDoNotChangeAnFp32Run)
{
    const TemporaryFolder folder;
    const auto losses = [&](const std::string& scale) {
        trained({"--steps", "15", "--csv", folder / scale, "--set", "precision=fp32", "--set", "scaler=static", "--set",
                 "initial-scale=" + scale});
        std::string all;
        for (const auto& row : table(folder / (scale + "/steps.csv")))
            all += row.at("loss") + " " + row.at("grad_norm") + "\n";
        return all;
    };
    EXPECT_EQ(losses("1"), losses("2^16"));
    EXPECT_EQ(losses("2^-8"), losses("2^16"));
}

// Fine-tuning on a file of labelled texts: for epochs, with the swap recorded so that a replay does it again.
TEST(Train, EpochsAndTheSwapOfTheHead)
{
    const TemporaryFolder folder;
    std::ofstream rows(folder / "rows.csv");
    rows << "label,text\n";
    for (int i = 0; i < 60; ++i)
        rows << (i % 2 == 0 ? "even,text " : "odd,text ") << i << '\n';
    rows.close();
    const ProcessResult r =
        trained({"--set", "task=csv", "--set", "data=" + (folder / "rows.csv"), "--set", "pretrain-steps=100",
                 "--epochs", "2", "--at", "5:pretrain-steps=0", "--csv", folder / "a"});
    EXPECT_THAT(r.out, HasSubstr("epoch 1: loss "));
    // As GradScaler's state: preset, scale, factors, and how far the next growth is.
    EXPECT_THAT(r.out,
                testing::ContainsRegex("; scaler pytorch \\(changed\\): scale 2\\^-?[0-9]+, growth x 2 after 3 clean "
                                       "steps \\([0-9]+ so far\\), backoff x 0\\.5"));
    EXPECT_THAT(r.out, HasSubstr("epoch 2: loss "));
    EXPECT_THAT(r.out, HasSubstr("head swapped"));
    EXPECT_THAT(r.out, HasSubstr("held out, after step "));
    const auto steps = table(folder / "a/steps.csv");
    EXPECT_EQ(steps.size() % 2, 0U);
    EXPECT_LE(steps.size(), 30U); // 60 rows, some held out, four a step, twice
    EXPECT_NE(steps.back().at("validation_accuracy"), "nan");
    EXPECT_EQ(steps.front().at("validation_accuracy"), "nan");
    const ProcessResult again = run({"train", "--csv", folder / "b", "--replay", folder / "a/run.json"});
    EXPECT_EQ(again.status, 0) << again.err;
    expectSameRun(folder, "a", "b");
}

} // namespace
} // namespace halfscope::test
