// SPDX-License-Identifier: GPL-3.0-or-later
// The program's help, its settings list and what it says to mistakes.
#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>

#include "engine/train/settings_registry.h"
#include "tests/app/process.h"

namespace halfscope::test {
namespace {

using testing::HasSubstr;

// A mistake: status 2 and one line on the error stream, nothing else.
void expectUsageError(const std::vector<std::string>& arguments, const std::string& sentence)
{
    const ProcessResult r = run(arguments);
    EXPECT_EQ(r.status, 2) << sentence;
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, sentence + "\n");
}

// The verbs as the help lists them.
std::vector<std::string> verbs()
{
    std::vector<std::string> found;
    bool listed = false;
    for (const std::string& line : lines(run({"--help"}).out)) {
        if (listed && !line.starts_with("  "))
            break;
        if (listed)
            found.push_back(line.substr(2, line.find(' ', 2) - 2));
        listed = listed || line == "Subcommands:";
    }
    return found;
}

// The script that starts HalfScope has to know which of its commands open no window.
TEST(Help, TheStartScriptKnowsEveryVerb)
{
    ASSERT_EQ(verbs().size(), 5U);
    std::ifstream in(HALFSCOPE_SOURCE_DIR "/scripts/run.sh");
    const std::string script{std::istreambuf_iterator<char>(in), {}};
    std::string pattern;
    for (const std::string& verb : verbs())
        pattern += (pattern.empty() ? "" : " | ") + verb;
    EXPECT_THAT(script, HasSubstr("    " + pattern + ") return 0 ;;"));
}

TEST(Help, EachVerbHasOneWithExamples)
{
    const ProcessResult whole = run({"--help"});
    EXPECT_EQ(whole.status, 0);
    EXPECT_EQ(whole.err, "");
    for (const char* text :
         {"Usage: halfscope", "train", "simulate", "number", "info", "--screenshot", "--text", "Examples:"})
        EXPECT_THAT(whole.out, HasSubstr(text));
    for (const std::string& verb : verbs()) {
        const ProcessResult r = run({verb, "--help"});
        EXPECT_EQ(r.status, 0) << verb;
        EXPECT_EQ(r.err, "") << verb;
        EXPECT_THAT(r.out, HasSubstr("Usage: halfscope " + verb));
        EXPECT_THAT(r.out, HasSubstr("Example"));
        EXPECT_THAT(r.out, HasSubstr("  halfscope " + verb));
        EXPECT_EQ(run({verb, "-h"}).out, r.out);
    }
}

TEST(Help, ExamplesOfTheShortVerbsWork)
{
    for (const std::string verb : {"simulate", "number", "info"}) {
        int examples = 0;
        for (const std::string& line : lines(run({verb, "--help"}).out)) {
            if (!line.starts_with("  halfscope "))
                continue;
            std::vector<std::string> arguments;
            std::istringstream in(line.substr(12));
            for (std::string word; in >> word;) {
                std::erase(word, '"');
                arguments.push_back(word);
            }
            const ProcessResult r = run(arguments);
            EXPECT_EQ(r.status, 0) << line << "\n" << r.err;
            EXPECT_FALSE(r.out.empty()) << line;
            ++examples;
        }
        EXPECT_GT(examples, 0) << verb;
    }
}

TEST(Help, VersionIsOneLine)
{
    const ProcessResult r = run({"--version"});
    EXPECT_EQ(r.status, 0);
    EXPECT_THAT(r.out, testing::MatchesRegex("HalfScope [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(ListSettings, PrintsEveryKeyWithDefaultRangeAndMeaning)
{
    const ProcessResult r = run({"train", "--list-settings"});
    EXPECT_EQ(r.status, 0);
    const std::vector<std::string> all = lines(r.out);
    for (const SettingInfo& s : settings()) {
        const auto line = std::find_if(all.begin(), all.end(),
                                       [&](const std::string& l) { return l.starts_with(std::string(s.key) + " "); });
        ASSERT_NE(line, all.end()) << s.key;
        EXPECT_THAT(r.out, HasSubstr(std::string(s.range)));
        EXPECT_THAT(*line, HasSubstr(std::string(s.meaning)));
        EXPECT_THAT(*line, HasSubstr(settingValue(defaultExperiment(), s.key)));
    }
}

TEST(Mistakes, UnknownKeysAndBadValuesNameThemselvesAndTheNearest)
{
    expectUsageError({"train", "--set", "growth_interval=3"},
                     "halfscope train: There is no setting \"growth_interval\"; the nearest is growth-interval.");
    expectUsageError({"train", "--set", "learning-rte=3"},
                     "halfscope train: There is no setting \"learning-rte\"; the nearest is learning-rate.");
    expectUsageError({"train", "--set", "growth-interval=often"},
                     "halfscope train: growth-interval = \"often\" is not allowed; allowed: integer 1 to 10^12.");
    expectUsageError({"train", "--set", "width"},
                     "halfscope train: --set \"width\" must be key=value, as in growth-interval=100.");
    expectUsageError(
        {"train", "--set", "precision.h0.mlp.fcc=fp16"},
        "halfscope train: precision.h0.mlp.fcc: there is no module \"h0.mlp.fcc\"; the nearest is h0.mlp.fc.");
    expectUsageError({"train", "--set", "width=100", "--set", "heads=3"},
                     "halfscope train: width = 100 is not a multiple of heads = 3; choose a width that heads divides.");
    expectUsageError({"simulate", "--preset", "torch", "--overflows", "."},
                     "halfscope simulate: There is no preset \"torch\"; the nearest is pytorch.");
    expectUsageError(
        {"simulate", "--overflows", ".", "--set", "width=8"},
        "halfscope simulate: width is no setting of the scaler, and only the scaler is simulated; use it with "
        "train.");
    expectUsageError({"--set", "widht=8"}, "halfscope: There is no setting \"widht\"; the nearest is width.");
}

TEST(Mistakes, UnknownVerbsAndOptions)
{
    expectUsageError({"trian"}, "halfscope: There is no verb \"trian\"; the nearest is train.");
    expectUsageError({"train", "--step", "5"}, "halfscope train: There is no option --step; the nearest is --steps.");
    expectUsageError({"number", "--cvs", "1"}, "halfscope number: There is no option --cvs; the nearest is --csv.");
    expectUsageError({"train", "--width=8"}, "halfscope train: width is a setting; write --set width=VALUE.");
    expectUsageError({"train", "more"},
                     "halfscope train: There is no use for \"more\" here; see halfscope train --help.");
    expectUsageError({"--seed", "3", "train"}, "halfscope: The verb comes first: halfscope train [options].");
    expectUsageError({"train", "--csv"}, "halfscope train: --csv needs one value; see halfscope train --help.");
    expectUsageError({"train", "--csv", ""}, "halfscope train: --csv needs a value that is not empty.");
}

TEST(Mistakes, ValuesOfOptions)
{
    for (const char* bad : {"0", "-3", "1.5", "many", "1e30"})
        expectUsageError({"train", "--steps", bad}, "halfscope train: --steps \"" + std::string(bad) +
                                                        "\" must be a whole number from 1 to 1000000000000.");
    expectUsageError({"train", "--epochs", "0"},
                     "halfscope train: --epochs \"0\" must be a whole number from 1 to 1000000000000.");
    expectUsageError({"train", "--epochs", "1", "--steps", "1"},
                     "halfscope train: Give either --steps or --epochs, not both.");
    expectUsageError({"train", "--experiment", "digit"},
                     "halfscope train: There is no experiment \"digit\"; the nearest is digits.");
    expectUsageError({"train", "--set", "task=csv"},
                     "halfscope train: The task csv needs a file; set data to its path.");
    expectUsageError({"train", "--seed", "x"},
                     "halfscope train: seed = \"x\" is not allowed; allowed: integer 0 to 18446744073709551615.");
    expectUsageError({"--size", "big"},
                     "halfscope: --size \"big\" must be WIDTHxHEIGHT, each from 200 to 16384, as in 1600x1000.");
    expectUsageError({"--size", "10x10"},
                     "halfscope: --size \"10x10\" must be WIDTHxHEIGHT, each from 200 to 16384, as in 1600x1000.");
    expectUsageError({"--theme", "blue"}, "halfscope: --theme \"blue\" must be dark or light.");
    expectUsageError(
        {"--steps", "5"},
        "halfscope: --steps goes with --screenshot FILE; to run without a window use halfscope train --steps.");
}

TEST(Mistakes, CommandsAtSteps)
{
    expectUsageError({"train", "--at", "5:width=8"},
                     "halfscope train: width cannot change while a run goes on; use --set width=8.");
    expectUsageError({"train", "--at", "growth-interval=8"},
                     "halfscope train: --at \"growth-interval=8\" must be STEP:key=value, with a step of at least 1.");
    expectUsageError({"train", "--at", "0:scale=8"},
                     "halfscope train: --at \"0:scale=8\" must be STEP:key=value, with a step of at least 1.");
    expectUsageError({"train", "--at", "5:scale=0"},
                     "halfscope train: scale = 0 is not allowed: it must be a finite number greater than 0.");
    expectUsageError({"train", "--at", "5:scale=big"},
                     "halfscope train: scale = \"big\" is not allowed: it must be a number, such as 65536 or 2^16.");
    expectUsageError({"train", "--steps", "9", "--at", "10:scale=8"},
                     "halfscope train: A command is for step 10, but the run ends after step 9.");
    expectUsageError(
        {"train", "--set", "max-scale=64", "--at", "5:min-scale=128"},
        "halfscope train: At step 5: min-scale = 128 is not allowed: it must be a number not above max-scale, which is "
        "64.");
    expectUsageError(
        {"train", "--inject", "5:h0.mpl.fc:10"},
        "halfscope train: There is no module \"h0.mpl.fc\" to inject a spike into; the nearest is h0.mlp.fc.");
    expectUsageError({"train", "--inject", "5:h0.mlp.fc:nan"},
                     "halfscope train: --inject \"5:h0.mlp.fc:nan\": the factor \"nan\" is not a finite FP32 number.");
    expectUsageError(
        {"train", "--inject", "5:loss:10"},
        "halfscope train: \"loss\" has no activation_grad to inject a spike into; choose another module, such "
        "as lm_head.");
    expectUsageError(
        {"train", "--inject", "5:h0.attn.core/weight_grad:10"},
        "halfscope train: \"h0.attn.core\" has no weight_grad to inject a spike into; choose another module, "
        "such as lm_head.");
    expectUsageError(
        {"train", "--set", "scale=8"},
        "halfscope train: scale is what a running scaler has, not a setting; set initial-scale for the start, "
        "or --at STEP:scale=VALUE for later.");
}

TEST(Mistakes, ConfigurationFiles)
{
    const TemporaryFolder folder;
    expectUsageError({"train", "--config", folder / "none.json"}, "halfscope train: The configuration " +
                                                                      (folder / "none.json") +
                                                                      " cannot be read: No such file or directory.");
    const std::string file = folder / "c.json";
    std::ofstream(file) << R"({"format": "halfscope-config", "version": 1, "settings": {"widht": 8}})";
    expectUsageError({"train", "--config", file},
                     "halfscope train: " + file + ": There is no setting \"widht\"; the nearest is width.");
    expectUsageError({"train", "--config", file, "--replay", file},
                     "halfscope train: Give either --config or --replay, not both.");
    std::ofstream(file) << R"({"format": "halfscope-config", "version": 1, "settings": {}})";
    expectUsageError({"train", "--replay", file},
                     "halfscope train: " + file +
                         ": it is not the run.json of a run; use --config for a configuration.");
}

TEST(Mistakes, AMessageIsOneLineWhateverTheArgumentHolds)
{
    const ProcessResult r = run({"train", "--set", "a\nb=1"});
    EXPECT_EQ(lines(r.err).size(), 1U);
}

TEST(Info, SaysWhatThereIs)
{
    const ProcessResult r = run({"info"});
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.err, "");
    for (const char* text : {"HalfScope ", "instruction set", "cpu", "fp16", "bf16", "tf32", "fp8-e4m3", "fp8-e5m2",
                             "65504", "2^-24", "mixed-fp16", "pure-fp16", "pytorch", "static"})
        EXPECT_THAT(r.out, HasSubstr(text));
}

TEST(Info, ObeysTheEnvironment)
{
    const ProcessResult r = run({"info"}, {.environment = {{"HALFSCOPE_SIMD", "portable"}}});
    EXPECT_THAT(r.out, HasSubstr("instruction set: portable"));
}

TEST(Output, ADiskThatIsFullIsAnError)
{
    // /dev/full refuses every byte, like a full disk.
    const ProcessResult r = run({"number", "1"}, {.output = "/dev/full"});
    EXPECT_EQ(r.status, 1);
    EXPECT_EQ(r.err, "halfscope number: The output cannot be written: No space left on device.\n");
}

// No verb may need a display or load a window-system plugin: with a platform that does not exist, loading one would
// fail loudly.
TEST(Verbs, NeedNoDisplayAndNoPlugin)
{
    const ProcessOptions options = {.environment = {{"QT_QPA_PLATFORM", "there-is-no-such-platform"}}};
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"info"},
                                                      {"number", "1"},
                                                      {"simulate", "--overflows", ".x"},
                                                      {"train", "--list-settings"},
                                                      {"train", "--steps", "1", "--set", "width=8", "--set", "depth=1",
                                                       "--set", "context=4", "--set", "batch=1"}}) {
        const ProcessResult r = run(arguments, options);
        EXPECT_EQ(r.status, 0) << arguments.front() << r.err;
    }
}

} // namespace
} // namespace halfscope::test
