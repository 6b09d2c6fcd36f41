// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/training_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <set>
#include <thread>

#include "engine/core/rng.h"
#include "engine/train/command_queue.h"
#include "engine/train/telemetry_queue.h"
#include "engine/train/trainer.h"
#include "tests/engine/train/small_run.h"

namespace halfscope {
namespace {

// Collects everything an engine says, and checks that nothing is lost or out of order.
struct Reader {
    std::vector<StepRecord> steps;
    std::vector<Event> events;
    std::int64_t measured = 0;
    std::int64_t lastSnapshot = 0;
    int restarts = 0;

    void drain(Engine& engine)
    {
        Telemetry t;
        engine.drain(t);
        if (t.restarted) {
            ++restarts;
            steps.clear();
            measured = lastSnapshot = 0;
        }
        for (const StepRecord& r : t.steps) {
            EXPECT_EQ(r.step, steps.empty() ? 1 : steps.back().step + 1);
            steps.push_back(r);
        }
        events.insert(events.end(), t.events.begin(), t.events.end());
        for (const SnapshotPtr& s : t.snapshots) {
            EXPECT_EQ(s->firstStep, lastSnapshot + 1);
            lastSnapshot = s->step;
            measured += s->measuredSteps;
        }
    }

    bool until(Engine& engine, const std::function<bool()>& done)
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!done()) {
            if (std::chrono::steady_clock::now() > deadline)
                return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            drain(engine);
        }
        return true;
    }

    const Event* answer(std::uint64_t id) const
    {
        for (const Event& e : events) {
            if (e.commandId == id)
                return &e;
        }
        return nullptr;
    }
};

TEST(TrainingThread, RunsPausesStepsAndResumes)
{
    TrainingThread engine(smallRun(), true);
    Reader reader;
    ASSERT_TRUE(reader.until(engine, [&] { return engine.live().state == EngineState::Paused; }));
    EXPECT_TRUE(reader.steps.empty());

    engine.post(RunSteps{1});
    ASSERT_TRUE(reader.until(engine, [&] { return reader.steps.size() == 1; }));
    engine.post(RunSteps{5});
    ASSERT_TRUE(reader.until(engine, [&] { return reader.steps.size() == 6; }));
    ASSERT_TRUE(reader.until(engine, [&] { return engine.live().state == EngineState::Paused; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    reader.drain(engine);
    EXPECT_EQ(reader.steps.size(), 6U);

    const std::uint64_t resume = engine.post(Resume{});
    ASSERT_TRUE(reader.until(engine, [&] { return reader.steps.size() > 20; }));
    EXPECT_TRUE(reader.answer(resume));
    engine.post(Pause{});
    ASSERT_TRUE(reader.until(engine, [&] { return engine.live().state == EngineState::Paused; }));
    reader.drain(engine);
    EXPECT_EQ(reader.measured, static_cast<std::int64_t>(reader.steps.size()));
}

TEST(TrainingThread, EveryCommandIsAnswered)
{
    TrainingThread engine(smallRun());
    Reader reader;
    const std::vector<std::pair<Command, EventKind>> commands = {
        {SetSetting{"growth-interval", "7"}, EventKind::Command},
        {SetSetting{"growth-interval", "0"}, EventKind::Rejected},
        {SetSetting{"growth-factor", "0.5"}, EventKind::Rejected},
        {SetSetting{"no-such-key", "1"}, EventKind::Rejected},
        {SetSetting{"precision.lm_head", "fp32"}, EventKind::Command},
        {SetSetting{"precision.lm_head", "fp99"}, EventKind::Rejected},
        {SetScale{1024}, EventKind::Command},
        {SetScale{-1}, EventKind::Rejected},
        {SetSetting{"learning-rate", "2e-3"}, EventKind::Command},
        {InjectSpike{"h1.attn.qkv", 8, false}, EventKind::Injected},
        {InjectSpike{"loss", 8, false}, EventKind::Rejected},
        {InjectSpike{"nonsense", 8, false}, EventKind::Rejected},
        {InjectBadBatch{}, EventKind::Injected},
        {InjectLearningRateJump{10}, EventKind::Injected},
        {RunSteps{0}, EventKind::Rejected},
    };
    for (const auto& [command, kind] : commands) {
        const std::uint64_t id = engine.post(command);
        ASSERT_TRUE(reader.until(engine, [&, i = id] { return reader.answer(i) != nullptr; }));
        EXPECT_EQ(reader.answer(id)->kind, kind) << reader.answer(id)->text;
        if (kind == EventKind::Rejected) {
            EXPECT_FALSE(reader.answer(id)->text.empty());
        }
    }
    EXPECT_EQ(engine.live().scaler.config.growthInterval, 7);
}

TEST(TrainingThread, RestartGivesTheSameRunAgainAndANewSeedAnother)
{
    TrainingThread engine(smallRun(), true);
    Reader reader;
    const auto losses = [&] {
        std::vector<double> out;
        for (const StepRecord& r : reader.steps)
            out.push_back(r.loss);
        return out;
    };
    engine.post(RunSteps{5});
    ASSERT_TRUE(reader.until(engine, [&] { return reader.steps.size() == 5; }));
    const std::vector<double> first = losses();
    ASSERT_TRUE(reader.until(engine, [&] { return engine.live().state == EngineState::Paused; }));

    const int restarts = reader.restarts;
    engine.post(Restart{});
    engine.post(RunSteps{5});
    ASSERT_TRUE(reader.until(engine, [&] { return reader.restarts > restarts && reader.steps.size() == 5; }));
    EXPECT_EQ(losses(), first);

    engine.post(Restart{true, 99});
    engine.post(RunSteps{5});
    ASSERT_TRUE(reader.until(engine, [&] { return reader.restarts > restarts + 1 && reader.steps.size() == 5; }));
    EXPECT_NE(losses(), first);
    EXPECT_EQ(engine.info().config.seed, 99U);
}

TEST(TrainingThread, SeedConfigurationAndCommandsAreTheRun)
{
    // Commands at whatever steps the thread got them; then a Trainer replays them at those steps.
    RunConfig config = smallRun();
    TrainingThread engine(config);
    Reader reader;
    const std::vector<Command> commands = {SetScale{4096},
                                           SetSetting{"growth-interval", "3"},
                                           SetSetting{"precision.h0.mlp.fc", "bf16"},
                                           InjectSpike{"h0.attn.proj", 1e6, false},
                                           SetSetting{"learning-rate", "5e-3"},
                                           SetSetting{"precision", "pure-fp16"}};
    std::vector<std::pair<std::int64_t, Command>> applied;
    for (const Command& command : commands) {
        const std::uint64_t id = engine.post(command);
        ASSERT_TRUE(reader.until(engine, [&] { return reader.answer(id) != nullptr; }));
        applied.emplace_back(reader.answer(id)->step, command);
        const std::size_t now = reader.steps.size();
        ASSERT_TRUE(reader.until(engine, [&] { return reader.steps.size() > now + 3; }));
    }
    engine.post(Pause{});
    ASSERT_TRUE(reader.until(engine, [&] { return engine.live().state == EngineState::Paused; }));
    reader.drain(engine);

    Trainer replay(config);
    std::size_t next = 0;
    for (const StepRecord& expected : reader.steps) {
        while (next < applied.size() && applied[next].first == replay.stepsDone() + 1)
            replay.apply(applied[next++].second);
        const StepRecord& r = replay.step().record;
        ASSERT_EQ(r.loss, expected.loss) << "step " << r.step;
        ASSERT_EQ(r.gradAbsMax, expected.gradAbsMax) << "step " << r.step;
        ASSERT_EQ(r.scaleNext, expected.scaleNext) << "step " << r.step;
    }
    EXPECT_EQ(next, applied.size());
}

TEST(TrainingThread, AFailureKeepsTheDataAndARestartMendsIt)
{
    RunConfig config = smallRun();
    config.text = "no/such/file.txt";
    TrainingThread broken(config);
    Reader reader;
    ASSERT_TRUE(reader.until(broken, [&] { return broken.live().state == EngineState::Failed; }));
    EXPECT_NE(broken.live().failure.find("no/such/file.txt"), std::string::npos) << broken.live().failure;
    const std::uint64_t id = broken.post(SetScale{2});
    ASSERT_TRUE(reader.until(broken, [&] { return reader.answer(id) != nullptr; }));
    EXPECT_EQ(reader.answer(id)->kind, EventKind::Rejected);
}

TEST(TrainingThread, EndsCleanlyAtAnyMoment)
{
    Rng rng(3);
    for (int i = 0; i < 25; ++i) {
        TrainingThread engine(smallRun(), rng.below(4) == 0);
        std::this_thread::sleep_for(std::chrono::microseconds(rng.below(6000)));
        if (rng.below(2) == 0)
            engine.post(Restart{});
    }
}

// Several threads send whatever they can think of while one reads; nothing may be lost, and the thread sanitizer
// watches.
TEST(TrainingThread, StormOfRandomCommands)
{
    TrainingThread engine(smallRun());
    Reader reader;
    std::atomic<bool> done = false;
    std::vector<std::thread> senders;
    for (std::uint64_t s = 0; s < 3; ++s) {
        senders.emplace_back([&engine, s] {
            Rng rng(100 + s);
            const char* formats[] = {"fp32", "fp16", "bf16"};
            const char* modules[] = {"h0.mlp.fc", "h1.attn.core", "lm_head", "tok_emb", "h0.ln_1"};
            const char* plans[] = {"fp32", "mixed-fp16", "mixed-bf16", "pure-fp16"};
            for (int i = 0; i < 120; ++i) {
                switch (rng.below(11)) {
                case 0:
                    engine.post(Pause{});
                    break;
                case 1:
                    engine.post(Resume{});
                    break;
                case 2:
                    engine.post(RunSteps{static_cast<std::int64_t>(1 + rng.below(3))});
                    break;
                case 3:
                    engine.post(SetSetting{"growth-interval", std::to_string(rng.below(5))});
                    break;
                case 4:
                    engine.post(SetScale{std::exp2(static_cast<double>(rng.below(60)))});
                    break;
                case 5:
                    engine.post(SetSetting{std::string("precision.") + modules[rng.below(5)], formats[rng.below(3)]});
                    break;
                case 6:
                    engine.post(SetSetting{"precision", plans[rng.below(4)]});
                    break;
                case 7:
                    engine.post(InjectSpike{modules[rng.below(5)], 1e9, rng.below(2) == 0});
                    break;
                case 8:
                    engine.post(InjectBadBatch{});
                    break;
                case 9:
                    engine.post(SetSetting{"scaler", rng.below(2) == 0 ? "static" : "pytorch"});
                    break;
                default:
                    if (rng.below(8) == 0)
                        engine.post(Restart{rng.below(2) == 0, rng.next()});
                    break;
                }
                std::this_thread::sleep_for(std::chrono::microseconds(rng.below(2000)));
                (void)engine.live();
                (void)engine.info();
            }
        });
    }
    std::thread watcher([&] {
        for (std::thread& t : senders)
            t.join();
        done = true;
    });
    while (!done)
        reader.drain(engine);
    watcher.join();
    engine.post(Resume{});
    const std::size_t now = reader.steps.size();
    EXPECT_TRUE(reader.until(engine, [&] { return reader.steps.size() > now + 3; }));
}

TEST(CommandQueue, DragsCoalesceButNothingElseIsLost)
{
    CommandQueue queue;
    queue.post(SetScale{1});
    queue.post(SetScale{2});
    const std::uint64_t last = queue.post(SetScale{3});
    queue.post(SetSetting{"growth-interval", "5"});
    queue.post(SetSetting{"growth-factor", "2"});
    queue.post(SetSetting{"growth-factor", "3"});
    queue.post(Pause{});
    queue.post(SetSetting{"growth-factor", "4"});
    const std::vector<QueuedCommand> all = queue.takeAll();
    ASSERT_EQ(all.size(), 5U);
    EXPECT_EQ(all[0].id, last);
    EXPECT_EQ(std::get<SetScale>(all[0].command).scale, 3);
    EXPECT_EQ(std::get<SetSetting>(all[2].command).value, "3");
    EXPECT_EQ(std::get<SetSetting>(all[4].command).value, "4");
    EXPECT_TRUE(queue.takeAll().empty());
    queue.close();
    EXPECT_FALSE(queue.wait());
}

TEST(TelemetryQueue, AReaderFarBehindLosesNoCountsAndMemoryStaysBounded)
{
    TelemetryQueue queue;
    ClassCounts expected;
    std::int64_t skips = 0;
    for (std::int64_t step = 1; step <= 5000; ++step) {
        auto s = std::make_shared<Snapshot>();
        s->step = s->firstStep = step;
        s->scale = s->minScale = s->maxScale = static_cast<float>(step % 7 + 1);
        s->skippedSteps = step % 11 == 0 ? 1 : 0;
        skips += s->skippedSteps;
        TapStatistics tap;
        tap.statistics.classes[ValueClass::Normal] = static_cast<std::uint64_t>(step);
        tap.statistics.histogram.at(-3) = static_cast<std::uint64_t>(step);
        expected[ValueClass::Normal] += static_cast<std::uint64_t>(step);
        s->taps.push_back(tap);
        StepRecord r;
        r.step = step;
        queue.push(r, s, nullptr, {});
    }
    Telemetry out;
    queue.drain(out);
    EXPECT_EQ(out.steps.size(), 5000U);
    EXPECT_LE(out.snapshots.size(), TelemetryQueue::kMaxSnapshots);
    ClassCounts counted;
    std::int64_t next = 1;
    std::int64_t measured = 0;
    std::int64_t skipped = 0;
    for (const SnapshotPtr& s : out.snapshots) {
        EXPECT_EQ(s->firstStep, next);
        next = s->step + 1;
        measured += s->measuredSteps;
        skipped += s->skippedSteps;
        counted[ValueClass::Normal] += s->taps.at(0).statistics.histogram.at(-3);
        if (s->measuredSteps >= 7) {
            EXPECT_EQ(s->minScale, 1.0F);
            EXPECT_EQ(s->maxScale, 7.0F);
        }
    }
    EXPECT_EQ(next, 5001);
    EXPECT_EQ(measured, 5000);
    EXPECT_EQ(skipped, skips);
    EXPECT_EQ(counted, expected);
    EXPECT_EQ(out.snapshots.back()->measuredSteps, 1) << "the newest is whole";
}

} // namespace
} // namespace halfscope
