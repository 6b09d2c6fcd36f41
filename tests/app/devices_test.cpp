// SPDX-License-Identifier: GPL-3.0-or-later
// Devices from outside: a driver and a CUDA module that were made for this test answer as they are told, so that every
// reason for doing without a GPU, and a GPU that fails, can be had on any machine.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/process.h"

namespace halfscope::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What the program finds.
struct Machine {
    std::string driver = HALFSCOPE_FAKE_DRIVER; // file that is libcuda.so.1
    std::string module = HALFSCOPE_FAKE_GPUS;
    std::string init = "0";
    std::string version = "99000";
    std::string devices = "2";
    std::vector<std::pair<std::string, std::string>> more = {};
};

class Devices : public ::testing::Test {
protected:
    ProcessResult onMachine(const Machine& machine, std::vector<std::string> arguments)
    {
        namespace fs = std::filesystem;
        const std::string library = folder / "libcuda.so.1";
        fs::remove(library);
        if (!machine.driver.empty())
            fs::create_symlink(machine.driver, library);
        else
            std::ofstream(library) << "no library";
        ProcessOptions options;
        options.environment = {{"LD_LIBRARY_PATH", folder.path()},
                               {"HALFSCOPE_CUDA_MODULE", machine.module},
                               {"HALFSCOPE_FAKE_INIT", machine.init},
                               {"HALFSCOPE_FAKE_VERSION", machine.version},
                               {"HALFSCOPE_FAKE_DEVICES", machine.devices}};
        options.environment.insert(options.environment.end(), machine.more.begin(), machine.more.end());
        return run(arguments, options);
    }
    ProcessResult train(const Machine& machine, std::vector<std::string> more, const std::string& steps = "12")
    {
        std::vector<std::string> arguments = {"train",     "--steps", steps,           "--quiet", "--set",
                                              "width=16",  "--set",   "depth=1",       "--set",   "context=8",
                                              "--set",     "batch=2", "--set",         "heads=2", "--set",
                                              "threads=1", "--set",   "task=brackets", "--csv",   folder / "run"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return onMachine(machine, arguments);
    }

    TemporaryFolder folder;
};

TEST_F(Devices, AreListedByNameAndPlaceWithWhatTheyHaveNatively)
{
    const ProcessResult info = onMachine({}, {"info"});
    EXPECT_EQ(info.status, 0) << info.err;
    EXPECT_THAT(info.out, ContainsRegex("cuda +0000:01:00 +Old GPU +16\\.0 GB +fp32 fp16 +yes"));
    EXPECT_THAT(info.out, ContainsRegex("cuda +0000:c1:00 +New GPU +80\\.0 GB +fp32 fp16 bf16 +yes"));
    EXPECT_THAT(info.out, ContainsRegex("\n  cpu +[^\n]*fp32[^\n]*yes"));
}

TEST_F(Devices, AreChosenByPlaceOrNumber)
{
    for (const auto& [choice, name] : std::vector<std::pair<std::string, std::string>>{{"device=0000:c1:00", "New GPU"},
                                                                                       {"device=1", "New GPU"},
                                                                                       {"device=0", "Old GPU"},
                                                                                       {"device=", "Old GPU"}}) {
        for (const char* backend : {"backend=cuda", "backend=auto"}) {
            const ProcessResult result = train({}, {"--set", backend, "--set", choice}, "1");
            EXPECT_EQ(result.status, 0) << result.err;
            EXPECT_EQ(result.err, "");
            EXPECT_THAT(readFile(folder / "run/run.json"), HasSubstr("\"backend\": \"CUDA · " + name)) << choice;
        }
    }
    const ProcessResult wrong = train({}, {"--set", "backend=cuda", "--set", "device=two"});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_THAT(wrong.err, HasSubstr("device"));
}

// One sentence each, in the list of devices, where a run was to be on the GPU, and among the events of one that went to
// the CPU instead.
TEST_F(Devices, EveryReasonForDoingWithoutIsTold)
{
    struct Case {
        Machine machine;
        const char* says;
        std::vector<std::string> more = {};
        bool known = true; // before a run begins
    };
    std::vector<Case> cases = {
        {{.driver = ""}, "This machine has no NVIDIA driver ("},
        {{.driver = HALFSCOPE_FAKE_OTHER}, "lacks functions that every version has."},
        {{.init = "999"}, "could not be started (its error 999)"},
        {{.init = "100"}, "There is an NVIDIA driver, but it sees no GPU."},
        {{.devices = "0"}, "There is an NVIDIA driver, but it sees no GPU."},
        {{.module = "/no/such/module.so"}, "The CUDA module cannot be loaded ("},
        {{.module = HALFSCOPE_FAKE_DRIVER}, "is not a CUDA module of HalfScope."},
        {{.module = HALFSCOPE_FAKE_OTHER}, "was built for another version of HalfScope; build both together."},
        {{.more = {{"HALFSCOPE_FAKE_FREE", "1000"}}},
         "needs 0.0 GB of GPU memory and 0.0 GB are free; choose a smaller model or batch.",
         {},
         false},
        {{},
         "There is no GPU at 0000:99:00 any more; there are Old GPU at 0000:01:00, New GPU at 0000:c1:00.",
         {"--set", "device=0000:99:00"},
         false},
    };
#ifdef HALFSCOPE_HAS_CUDA // otherwise any version will do
    cases.push_back(
        {{.version = "10020"}, "The NVIDIA driver supports CUDA 10.2, and this build of HalfScope needs CUDA "});
#endif
    for (const Case& c : cases) {
        if (c.known) {
            const ProcessResult info = onMachine(c.machine, {"info"});
            EXPECT_EQ(info.status, 0);
            EXPECT_THAT(info.out, HasSubstr(c.says));
            EXPECT_THAT(info.out, ContainsRegex("\n  cuda +CUDA +no: ")) << c.says;
        }
        std::vector<std::string> on = {"--set", "backend=cuda"};
        on.insert(on.end(), c.more.begin(), c.more.end());
        const ProcessResult refused = train(c.machine, on);
        EXPECT_EQ(refused.status, 1);
        EXPECT_THAT(refused.err, HasSubstr(c.says));
        EXPECT_EQ(lines(refused.err).size(), 1U) << refused.err;
        EXPECT_FALSE(std::filesystem::exists(folder / "run/run.json"));

        std::vector<std::string> automatic = {"--set", "backend=auto"};
        automatic.insert(automatic.end(), c.more.begin(), c.more.end());
        const ProcessResult fallen = train(c.machine, automatic, "2");
        EXPECT_EQ(fallen.status, 0) << fallen.err;
        EXPECT_THAT(fallen.err, AllOf(StartsWith("halfscope train: the run is on the CPU: "), HasSubstr(c.says)));
        EXPECT_EQ(lines(fallen.err).size(), 1U) << fallen.err;
        EXPECT_THAT(readFile(folder / "run/events.csv"),
                    AllOf(HasSubstr("the run is on the CPU: "), HasSubstr(c.says)));
        EXPECT_THAT(readFile(folder / "run/run.json"), HasSubstr("\"backend\": \"CPU · "));
        std::filesystem::remove_all(folder / "run");
    }
}

TEST_F(Devices, OneThatFailsEndsTheRunWithWhatWasDone)
{
    const Machine failing = {.more = {{"HALFSCOPE_FAKE_FAULT", "attentionBackward:7"}}};
    const ProcessResult result = train(failing, {"--set", "backend=cuda"});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(lines(result.err).size(), 1U) << result.err;
    EXPECT_THAT(result.err,
                HasSubstr("failed at step 8: The pretended device failed in attentionBackward and is lost."));
    EXPECT_THAT(result.err, HasSubstr("hold the steps before it"));
    EXPECT_EQ(lines(readFile(folder / "run/steps.csv")).size(), 1U + 7U);
    EXPECT_THAT(readFile(folder / "run/events.csv"), HasSubstr("\n8,failed,"));
    EXPECT_THAT(readFile(folder / "run/run.json"), Not(HasSubstr("continuations")));
}

// The made-up GPU computes as the CPU does, so a run that goes from one to the other is the CPU's, byte for byte.
TEST_F(Devices, ARunGoesOnOnTheCpuWhenItIsToldTo)
{
    ASSERT_EQ(train({}, {"--set", "backend=cpu"}).status, 0);
    const std::string expected = readFile(folder / "run/steps.csv");
    const std::string layers = readFile(folder / "run/layers.csv");
    for (const char* fault : {"attentionBackward:7", "adamw:60", "download:20"}) {
        const Machine failing = {.more = {{"HALFSCOPE_FAKE_FAULT", fault}}};
        const ProcessResult result = train(failing, {"--set", "backend=cuda", "--continue-on-cpu"});
        if (std::string(fault) == "download:20") { // before the first copy is there: it cannot
            EXPECT_EQ(result.status, 1);
            EXPECT_THAT(result.err, HasSubstr("failed at step 1: "));
            continue;
        }
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(lines(result.err).size(), 1U) << result.err;
        EXPECT_THAT(result.err,
                    ContainsRegex("failed at step [0-9]+: .* is lost. the run goes on on CPU .* from the state "
                                  "after step [0-9]+"));
        EXPECT_EQ(readFile(folder / "run/steps.csv"), expected) << fault;
        EXPECT_EQ(readFile(folder / "run/layers.csv"), layers) << fault;
        EXPECT_THAT(readFile(folder / "run/events.csv"), ContainsRegex("\n[0-9]+,continued,.*,backend,cuda,cpu,"));
        const std::string json = readFile(folder / "run/run.json");
        EXPECT_THAT(json, HasSubstr("\"backend\": \"CUDA · Old GPU (0000:01:00)\""));
        EXPECT_THAT(json, ContainsRegex("\"continuations\": \\[[^]]*\"step\": [0-9]+,[^]]*\"state_after_step\": [0-9]+,"
                                        "[^]]*\"backend\": \"CPU · [^]]*\"failure\": \"The pretended device failed"));
    }
}

} // namespace
} // namespace halfscope::test
