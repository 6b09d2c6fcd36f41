// SPDX-License-Identifier: GPL-3.0-or-later
// A program of its own, because it replaces operator new and malloc's count is the program's.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <thread>

#include "engine/core/thread_pool.h"
#include "engine/train/telemetry_queue.h"
#include "engine/train/trainer.h"
#include "engine/train/training_thread.h"
#include "tests/engine/backend/allocation_counter.h"
#include "tests/engine/train/small_run.h"

namespace halfscope {
namespace {

using test::allocationCount;

RunConfig everythingMeasured(const char* precision, int threads = 1)
{
    RunConfig config = smallRun();
    config.precision = precision;
    config.threads = threads;
    config.measureActivationGrads = true;
    config.measureActivations = true;
    config.measureUpdates = true;
    config.validationInterval = 0;
    config.scaler.growthInterval = 100'000; // no event, whose words need memory
    return config;
}

// What a step needs of the heap, with all that the training thread does beside it. `held` snapshots stay with a reader.
long allocationsOfSteps(const RunConfig& config, int steps, std::size_t held)
{
    Trainer trainer(config);
    TelemetryQueue queue;
    Telemetry read;
    LiveState live;
    std::vector<SnapshotPtr> reader(held);
    std::size_t events = 0;
    const auto step = [&](int i) {
        const Trainer::StepResult& result = trainer.step();
        queue.push(result.record, result.snapshot, result.shadow, result.events);
        trainer.copyLive(live);
        if (held > 0)
            reader[static_cast<std::size_t>(i) % held] = result.snapshot;
        if (i % 4 == 3)
            queue.drain(read);
        events += result.events.size();
    };
    for (int i = 0; i < 32; ++i)
        step(i);
    events = 0;
    const long before = allocationCount();
    for (int i = 0; i < steps; ++i)
        step(i);
    const long allocations = allocationCount() - before;
    EXPECT_EQ(events, 0U);
    EXPECT_FALSE(trainer.step().snapshot->taps.empty());
    return allocations;
}

TEST(SteadyStep, TakesNothingFromTheHeap)
{
    for (const char* precision : {"mixed-fp16", "mixed-bf16", "fp32", "pure-fp16"})
        for (const std::size_t held : {0, 3})
            EXPECT_EQ(allocationsOfSteps(everythingMeasured(precision), 40, held), 0)
                << precision << ", " << held << " snapshots held by a reader";
}

// Whoever gets which chunk. A model large enough that its operations are shared out.
TEST(SteadyStep, TakesNothingFromTheHeapOnSeveralThreads)
{
    for (const char* precision : {"mixed-fp16", "fp32", "fp8"})
        for (const int threads : {2, 3}) {
            RunConfig config = everythingMeasured(precision, threads);
            config.model.width = 64;
            config.model.context = 32;
            config.model.batch = 8;
            EXPECT_EQ(allocationsOfSteps(config, 40, 3), 0) << precision << ", " << threads << " threads";
        }
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // whose malloc counts
TEST(SteadyStep, TakesNothingFromMallocEither)
{
    Trainer trainer(everythingMeasured("mixed-fp16"));
    for (int i = 0; i < 32; ++i)
        trainer.step();
    const struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 40; ++i)
        trainer.step();
    const struct mallinfo2 after = mallinfo2();
    EXPECT_EQ(after.uordblks, before.uordblks);
    EXPECT_EQ(after.hblkhd, before.hblkhd);
}
#endif

// What is handed out is as if it were new, however often its memory was used.
TEST(SteadyStep, ASnapshotHasNothingOfTheOneBefore)
{
    RunConfig config = everythingMeasured("mixed-fp16");
    Trainer recycling(config);
    Trainer keeping(config);
    std::vector<SnapshotPtr> kept;
    for (int i = 0; i < 20; ++i) {
        if (i == 10) { // fewer taps and no updates from here on
            for (Trainer* each : {&recycling, &keeping}) {
                each->apply(SetSetting{"activations", "off"});
                each->apply(SetSetting{"measure-updates", "off"});
            }
        }
        const SnapshotPtr& a = recycling.step().snapshot;
        kept.push_back(keeping.step().snapshot); // whose memory is never given back
        const Snapshot& b = *kept.back();
        ASSERT_EQ(a->step, i + 1);
        ASSERT_EQ(b.step, i + 1);
        ASSERT_EQ(a->measuredSteps, 1);
        ASSERT_EQ(a->updates.size(), b.updates.size());
        ASSERT_EQ(a->taps.size(), b.taps.size());
        for (std::size_t t = 0; t < b.taps.size(); ++t) {
            EXPECT_EQ(a->taps[t].module, b.taps[t].module);
            EXPECT_EQ(a->taps[t].statistics.histogram, b.taps[t].statistics.histogram);
            EXPECT_EQ(a->taps[t].statistics.sum, b.taps[t].statistics.sum);
        }
    }
    for (std::size_t i = 0; i < kept.size(); ++i)
        EXPECT_EQ(kept[i]->step, static_cast<std::int64_t>(i) + 1); // nobody wrote into it since
    EXPECT_LT(kept[19]->taps.size(), kept[0]->taps.size());
    EXPECT_TRUE(kept[19]->updates.empty());
}

TEST(SteadyStep, SnapshotsOutliveTheirRun)
{
    SnapshotPtr last;
    {
        Trainer trainer(everythingMeasured("mixed-fp16"));
        last = trainer.step().snapshot;
    }
    EXPECT_EQ(last->step, 1);
    EXPECT_FALSE(last->taps.empty());
}

// The thread itself, read as the window reads it. Other processes may keep the reader away for long, and what waits
// then needs more memory once: so one window of twenty steps among many must be without an allocation.
TEST(SteadyStep, TheTrainingThreadTakesNothingFromTheHeap)
{
    TrainingThread engine(everythingMeasured("mixed-fp16"));
    Telemetry read;
    bool none = false;
    for (int window = 0; window < 100 && !none; ++window) {
        std::size_t steps = 0;
        std::size_t events = 0;
        const long before = allocationCount();
        while (steps < 20 && events == 0) {
            engine.drain(read);
            steps += read.steps.size();
            events += read.events.size();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        none = events == 0 && allocationCount() == before;
    }
    EXPECT_TRUE(none);
}

// A reader that was away for long leaves no memory behind that a run of a million steps would carry along.
TEST(SteadyStep, TheQueueDoesNotKeepWhatItOnceNeeded)
{
    TelemetryQueue queue;
    Telemetry read;
    for (int i = 0; i < 100'000; ++i)
        queue.push(StepRecord(), nullptr, nullptr, {});
    queue.drain(read);
    EXPECT_EQ(read.steps.size(), 100'000U);
    queue.drain(read);
    queue.drain(read);
    EXPECT_LE(read.steps.capacity(), TelemetryQueue::kMostKept);
    queue.drain(read);
    EXPECT_LE(read.steps.capacity(), TelemetryQueue::kMostKept);
}

double processorSeconds()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Paused: what waits sleeps in the kernel. The processor time of the process does not count that of others.
TEST(SteadyStep, APausedEngineUsesNoProcessor)
{
    RunConfig config = everythingMeasured("mixed-fp16");
    config.threads = 4;
    TrainingThread engine(config);
    engine.post(RunSteps{20});
    while (engine.live().state != EngineState::Paused)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(200)); // longer than anyone spins
    const double before = processorSeconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_LT(processorSeconds() - before, 0.005); // 1 % of one processor
}

// A pool of more threads than processors, after work: its threads sleep too.
TEST(SteadyStep, AnIdlePoolUsesNoProcessor)
{
    ThreadPool pool(4);
    std::atomic<int> chunks = 0;
    pool.parallelFor(64, 1e12, [&](std::int64_t, int) { ++chunks; });
    EXPECT_EQ(chunks, 64);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const double before = processorSeconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_LT(processorSeconds() - before, 0.005);
}

} // namespace
} // namespace halfscope
