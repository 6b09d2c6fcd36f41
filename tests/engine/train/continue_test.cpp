// SPDX-License-Identifier: GPL-3.0-or-later
// A run whose backend fails goes on on the CPU. The pretended device computes as the CPU does, so that what comes after
// must be, bit for bit, what an undisturbed run on the CPU has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "engine/train/run_state.h"
#include "engine/train/training_thread.h"
#include "tests/engine/train/task_support.h"
#include "tests/support/faulty_backend.h"

namespace halfscope {
namespace {

using test::Faults;
using test::operationNames;
using test::pretendDevice;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kSteps = 7;

// The bits of what a step tells, the time it took apart.
std::vector<std::uint64_t> told(const StepRecord& r)
{
    std::vector<std::uint64_t> bits;
    for (const double value :
         {static_cast<double>(r.step), static_cast<double>(r.outcome), r.loss, static_cast<double>(r.scale),
          static_cast<double>(r.scaleNext), static_cast<double>(r.growthTracker), r.gradNorm,
          static_cast<double>(r.learningRate), static_cast<double>(r.appliedSteps), static_cast<double>(r.skippedSteps),
          r.accuracy, static_cast<double>(r.gradAbsMax), r.shadowLoss, r.validationLoss})
        bits.push_back(std::bit_cast<std::uint64_t>(value));
    return bits;
}

struct Course {
    std::vector<std::vector<std::uint64_t>> steps;
    std::vector<std::vector<float>> bits;
    std::int64_t stateAfter = 0;
    std::int64_t failedIn = 0; // the step that has to be done again
};

using Between = std::function<void(Trainer&, int step)>; // before that step

Course undisturbed(RunConfig config, const Between& between = {}, int steps = kSteps)
{
    config.backend = "cpu";
    Trainer trainer(config);
    Course course;
    for (int step = 1; step <= steps; ++step) {
        if (between)
            between(trainer, step);
        course.steps.push_back(told(trainer.step().record));
    }
    course.bits = stateBits(trainer);
    return course;
}

// The same on the pretended device until it fails, then on the CPU. `arm` is called before step `from`.
Course disturbed(RunConfig config, int from, const std::function<void()>& arm, const Between& between = {},
                 int steps = kSteps)
{
    config.backend = "cuda";
    auto trainer = std::make_unique<Trainer>(config);
    Course course;
    bool failed = false;
    for (int step = 1; step <= steps;) {
        try {
            if (between)
                between(*trainer, step);
            if (step == from && !failed)
                arm();
            course.steps.push_back(told(trainer->step().record));
            ++step;
        } catch (const BackendError& error) {
            EXPECT_FALSE(failed) << "once only";
            if (failed)
                return course;
            failed = true;
            course.failedIn = step;
            const std::unique_ptr<RunState> state = trainer->lastGoodState(error.what());
            EXPECT_NE(state, nullptr);
            if (!state)
                return course;
            EXPECT_EQ(state->lastStep, step - 1);
            EXPECT_LE(state->mark.at.step, state->lastStep);
            course.stateAfter = state->mark.at.step;
            trainer = std::make_unique<Trainer>(*state, "cpu");
            EXPECT_EQ(trainer->stepsToCatchUp(), step - 1 - course.stateAfter);
            while (trainer->stepsToCatchUp() > 0)
                trainer->catchUp();
            EXPECT_EQ(trainer->stepsDone(), step - 1);
            EXPECT_THAT(trainer->info().backend, StartsWith("CPU"));
            EXPECT_EQ(trainer->info().config.backend, "cuda") << "as it was started";
            EXPECT_EQ(trainer->live().config.backend, "cpu") << "what a restart begins with";
            EXPECT_EQ(trainer->info().continuations.size(), 1U);
        }
    }
    course.bits = stateBits(*trainer);
    return course;
}

void expectSame(const Course& a, const Course& b, const std::string& what)
{
    EXPECT_EQ(a.steps, b.steps) << what;
    EXPECT_TRUE(sameBits(a.bits, b.bits)) << what;
}

RunConfig language(const std::string& precision)
{
    RunConfig config = smallTask("language-model");
    config.precision = precision;
    config.model.dropout = 0.1F;
    config.model.batch = 2;
    config.threads = 1;
    config.validationInterval = 4;
    config.validationExamples = 2;
    config.scaler.growthInterval = 3;
    return config;
}

struct Case {
    const char* name;
    RunConfig config;
};

std::vector<Case> cases()
{
    std::vector<Case> all;
    for (const char* precision : {"fp32", "mixed-fp16", "pure-fp16", "mixed-bf16", "fp8"})
        all.push_back({precision, language(precision)});
    all[2].config.weightStorage.master = false;
    all[2].config.optimizer.epsilon = 1e-4F; // 1e-8 is nothing in FP16
    RunConfig overflowing = language("mixed-fp16");
    overflowing.scaler.initialScale = 0x1p24; // the first steps are skipped
    overflowing.scalePerModule = true;
    all.push_back({"a scale a module, skips", overflowing});
    RunConfig shadowed = language("mixed-fp16");
    shadowed.shadowRun = true;
    shadowed.shadowInterval = 2;
    all.push_back({"with FP32 alongside", shadowed});
    RunConfig pretrained = smallTask("brackets");
    pretrained.pretrainSteps = 4;
    pretrained.threads = 1;
    all.push_back({"pretrained", pretrained});
    RunConfig images = smallTask("shapes");
    images.threads = 1;
    all.push_back({"image and text", images});
    return all;
}

TEST(Continue, OnTheCpuIsWhatTheCpuWouldHaveDone)
{
    for (const Case& c : cases()) {
        const Course expected = undisturbed(c.config);
        for (const int from : {1, 5, 6}) {
            for (const bool forGood : {false, true}) {
                const std::shared_ptr<Faults> faults = pretendDevice();
                const Course course = disturbed(c.config, from, [&] { faults->arm("attentionBackward", 1, forGood); });
                EXPECT_EQ(course.failedIn, from);
                const bool swaps = c.config.pretrainSteps == from - 1; // the head, and then the device fails
                if (!forGood && !swaps) {
                    EXPECT_EQ(course.stateAfter, from - 1) << "the device could be read";
                }
                expectSame(course, expected, std::string(c.name) + ", step " + std::to_string(from));
            }
        }
    }
}

// Where the last copy is old everything since is computed again.
TEST(Continue, FromAnOldCopyCatchesUp)
{
    const std::shared_ptr<Faults> faults = pretendDevice();
    faults->downloadTakes = std::chrono::milliseconds(2); // the next copy would be some 20 s later
    for (const Case& c : cases()) {
        const auto edits = [](Trainer& trainer, int step) {
            if (step == 3)
                trainer.apply(SetSetting{"learning-rate", "0.001"});
            if (step == 4)
                trainer.apply(InjectBadBatch{});
            if (step == 6)
                trainer.apply(SetScale{4096.0});
        };
        const Course expected = undisturbed(c.config, edits);
        faults->heal();
        const Course course = disturbed(
            c.config, 6, [&] { faults->arm("gemm", 0, true); }, edits);
        EXPECT_EQ(course.stateAfter, 0);
        EXPECT_EQ(course.failedIn, 6);
        expectSame(course, expected, c.name);
    }
}

// Any call, at its first and last place in a step, passing or for good, with or without having written.
int strikeEveryCall(const std::string& task, const std::set<std::string>& operations)
{
    RunConfig config = smallTask(task);
    config.threads = 1;
    config.model.width = 16;
    config.model.depth = 1;
    config.model.dropout = 0.1F;
    config.model.batch = 2;
    config.precision = "fp8";
    config.validationInterval = 1;
    config.validationExamples = 2;
    config.shadowRun = true;
    config.scaler.initialScale = 0x1p10;
    const auto edits = [](Trainer& trainer, int step) {
        if (step == 3)
            trainer.apply(SetSetting{"precision", "mixed-fp16"}); // makes tensors
    };
    const Course expected = undisturbed(config, edits, 4);
    std::map<std::string, long> before;
    std::map<std::string, long> after;
    {
        const std::shared_ptr<Faults> faults = pretendDevice();
        RunConfig on = config;
        on.backend = "cuda";
        Trainer trainer(on);
        for (int step = 1; step <= 3; ++step) {
            if (step == 3)
                before = faults->calls;
            edits(trainer, step);
            trainer.step();
        }
        after = faults->calls;
    }
    int struck = 0;
    for (const std::string& operation : operations) {
        const long calls = after[operation] - before[operation];
        if (operation == "download" || calls == 0) // copies have a test of their own
            continue;
        const bool keepsMore = operation == "adamw" || operation == "cast" || operation == "upload";
        for (const long place : {0L, calls - 1}) {
            for (const int way : {0, 1, 2}) {
                const bool forGood = way == 1;
                if (way == 2 && !keepsMore)
                    continue;
                const std::shared_ptr<Faults> faults = pretendDevice();
                faults->halfDone = way == 2;
                bool armed = false; // an edit that failed is asked for again
                const Between between = [&](Trainer& trainer, int step) {
                    if (step == 3 && !armed) {
                        faults->arm(operation, static_cast<int>(place), forGood);
                        armed = true;
                    }
                    if (trainer.live().config.precision != "mixed-fp16")
                        edits(trainer, step);
                };
                const Course course = disturbed(
                    config, 0, [] {}, between, 4);
                const std::string what = operation + ", call " + std::to_string(place) + (forGood ? ", for good" : "") +
                                         (way == 2 ? ", half done" : "");
                EXPECT_GE(course.failedIn, 3) << what;
                expectSame(course, expected, what);
                ++struck;
            }
        }
    }
    return struck;
}

TEST(Continue, AfterAFaultInAnyKindOfCall)
{
    // Text has them all but one; the other task has that, and takes longer to make.
    std::set<std::string> all(operationNames().begin(), operationNames().end());
    all.erase("gatherRows");
    EXPECT_GT(strikeEveryCall("brackets", all), 80);
    EXPECT_GE(strikeEveryCall("shapes", {"gatherRows"}), 4);
}

TEST(Continue, WhatIsTakenAlongIsOfAFailedRunOnly)
{
    const std::shared_ptr<Faults> faults = pretendDevice();
    RunConfig config = language("mixed-fp16");
    Trainer onCpu(config);
    onCpu.step();
    EXPECT_EQ(onCpu.lastGoodState("x"), nullptr) << "there is nowhere else";
    config.backend = "cuda";
    faults->ownMemory = false; // computes in the host's memory: nothing is copied, and it can always be read
    Trainer onHost(config);
    const long before = faults->calls["download"];
    onHost.step();
    EXPECT_EQ(faults->calls["download"], before);
    faults->arm("gemm", 0, false);
    EXPECT_THROW(onHost.step(), BackendError);
    const std::unique_ptr<RunState> state = onHost.lastGoodState("x");
    ASSERT_NE(state, nullptr);
    EXPECT_EQ(state->mark.at.step, 1);
    EXPECT_EQ(state->failure, "x");
}

// A device that fails while it is read leaves the copy before, and of the first one nothing.
TEST(Continue, AfterAFaultInACopy)
{
    RunConfig config = language("mixed-fp16");
    config.backend = "cuda";
    for (const bool forGood : {false, true}) {
        const std::shared_ptr<Faults> faults = pretendDevice();
        Trainer trainer(config);
        faults->arm("download", 5, forGood);
        EXPECT_THROW(trainer.step(), BackendError);
        const std::unique_ptr<RunState> state = trainer.lastGoodState("x");
        EXPECT_EQ(state == nullptr, forGood);
    }
    const std::shared_ptr<Faults> faults = pretendDevice();
    Trainer trainer(config);
    for (int i = 0; i < 3; ++i)
        trainer.step();
    faults->arm("download", 5, true);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    bool failed = false;
    while (!failed && std::chrono::steady_clock::now() < deadline) {
        try {
            trainer.step();
        } catch (const BackendError&) {
            failed = true;
        }
    }
    ASSERT_TRUE(failed);
    const std::unique_ptr<RunState> state = trainer.lastGoodState("x");
    ASSERT_NE(state, nullptr);
    EXPECT_LT(state->mark.at.step, state->lastStep);
    EXPECT_EQ(state->lastStep, trainer.stepsDone());
}

// Copies take a hundredth of the time at most.
TEST(Continue, CopiesAreRareWhereTheyAreSlow)
{
    const std::shared_ptr<Faults> faults = pretendDevice();
    faults->downloadTakes = std::chrono::milliseconds(1);
    RunConfig config = language("mixed-fp16");
    config.backend = "cuda";
    Trainer trainer(config);
    for (int i = 0; i < 50; ++i)
        trainer.step();
    EXPECT_EQ(faults->calls["download"], static_cast<long>(3 * trainer.model().parameters().size())) << "one copy";
}

// ---- in the training thread

struct Watched {
    explicit Watched(const RunConfig& config) : engine(config, true) {}

    bool until(const std::function<bool()>& done)
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!done()) {
            if (std::chrono::steady_clock::now() > deadline)
                return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            Telemetry t;
            engine.drain(t);
            for (const StepRecord& r : t.steps) {
                EXPECT_EQ(r.step, static_cast<std::int64_t>(steps.size()) + 1);
                steps.push_back(r);
            }
            events.insert(events.end(), t.events.begin(), t.events.end());
        }
        return true;
    }
    const Event* last(EventKind kind) const
    {
        for (auto it = events.rbegin(); it != events.rend(); ++it) {
            if (it->kind == kind)
                return &*it;
        }
        return nullptr;
    }

    TrainingThread engine;
    std::vector<StepRecord> steps;
    std::vector<Event> events;
};

TEST(ContinueInTheThread, IsOfferedAndTold)
{
    for (const bool forGood : {false, true}) {
        const std::shared_ptr<Faults> faults = pretendDevice();
        faults->downloadTakes = std::chrono::milliseconds(2);
        RunConfig config = language("mixed-fp16");
        config.backend = "cuda";
        Watched run(config);
        ASSERT_TRUE(run.until([&] { return run.engine.live().state == EngineState::Paused; }));
        run.engine.post(RunSteps{5});
        ASSERT_TRUE(run.until([&] { return run.steps.size() == 5; }));
        ASSERT_TRUE(run.until([&] { return run.engine.live().state == EngineState::Paused; }));
        EXPECT_FALSE(run.engine.live().canContinue);
        faults->arm("gemm", 3, forGood);
        run.engine.post(Resume{});
        ASSERT_TRUE(run.until([&] { return run.engine.live().state == EngineState::Failed; }));
        LiveState live = run.engine.live();
        EXPECT_EQ(live.failure, std::string("failed at step 6: The pretended device failed in gemm") +
                                    (forGood ? " and is lost." : "."));
        EXPECT_TRUE(live.canContinue);
        EXPECT_EQ(live.stateAfter, forGood ? 0 : 5);

        const std::uint64_t id = run.engine.post(Continue{});
        const std::uint64_t edit = run.engine.post(SetSetting{"learning-rate", "0.0005"});
        ASSERT_TRUE(run.until([&] { return run.steps.size() >= 8; }));
        const Event* continued = run.last(EventKind::Continued);
        ASSERT_NE(continued, nullptr);
        EXPECT_EQ(continued->commandId, id);
        EXPECT_EQ(continued->step, 6);
        EXPECT_EQ(continued->since, forGood ? 0 : 5);
        EXPECT_EQ(continued->oldValue, "cuda");
        EXPECT_EQ(continued->newValue, "cpu");
        EXPECT_THAT(continued->text, HasSubstr(forGood ? "steps 1 to 5 are computed again" : "state after step 5"));
        const Event* edited = run.last(EventKind::Command);
        ASSERT_NE(edited, nullptr);
        EXPECT_EQ(edited->commandId, edit);
        EXPECT_GE(edited->step, 6) << "edits wait until the run has caught up";
        live = run.engine.live();
        EXPECT_EQ(live.failure, "");
        EXPECT_FALSE(live.canContinue);
        EXPECT_EQ(live.stepsToCatchUp, 0);
        EXPECT_THAT(run.engine.info().backend, StartsWith("CPU"));
        ASSERT_EQ(run.engine.info().continuations.size(), 1U);
        EXPECT_EQ(run.engine.info().continuations[0].step, 6);
    }
}

TEST(ContinueInTheThread, IsRefusedWhereThereIsNothing)
{
    RunConfig config = language("mixed-fp16");
    Watched run(config);
    const std::uint64_t id = run.engine.post(Continue{});
    ASSERT_TRUE(run.until([&] { return run.last(EventKind::Rejected) != nullptr; }));
    EXPECT_EQ(run.last(EventKind::Rejected)->commandId, id);
    EXPECT_EQ(run.engine.live().state, EngineState::Paused);
}

// The command that the device failed at is answered as well, and is not part of what goes on.
TEST(ContinueInTheThread, ACommandThatFailsIsAnswered)
{
    const std::shared_ptr<Faults> faults = pretendDevice();
    RunConfig config = language("mixed-fp16");
    config.backend = "cuda";
    Watched run(config);
    ASSERT_TRUE(run.until([&] { return run.engine.live().state == EngineState::Paused; }));
    run.engine.post(RunSteps{2});
    ASSERT_TRUE(run.until([&] { return run.steps.size() == 2; }));
    ASSERT_TRUE(run.until([&] { return run.engine.live().state == EngineState::Paused; }));
    faults->arm("makeTensor", 2, false);
    const std::uint64_t id = run.engine.post(SetSetting{"precision", "mixed-bf16"});
    ASSERT_TRUE(run.until([&] { return run.engine.live().state == EngineState::Failed; }));
    ASSERT_TRUE(run.until([&] { return run.last(EventKind::Rejected) != nullptr; }));
    EXPECT_EQ(run.last(EventKind::Rejected)->commandId, id);
    EXPECT_EQ(run.engine.live().stateAfter, 2);
    run.engine.post(Continue{});
    ASSERT_TRUE(run.until([&] { return run.steps.size() >= 4; }));
    EXPECT_EQ(run.engine.live().config.precision, "mixed-fp16");
}

} // namespace
} // namespace halfscope
