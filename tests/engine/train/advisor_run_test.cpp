// SPDX-License-Identifier: GPL-3.0-or-later
// The advisor over real runs: each shows the case it is named after, and the neighbouring run does not.
#include <gtest/gtest.h>

#include <set>

#include "engine/amp/advisor.h"
#include "engine/train/trainer.h"
#include "tests/engine/train/small_run.h"

namespace halfscope {
namespace {

class Watched {
public:
    explicit Watched(const RunConfig& config) : trainer(config) { advisor.restart(trainer.info()); }

    void run(int steps)
    {
        for (int i = 0; i < steps; ++i) {
            const Trainer::StepResult& r = trainer.step();
            Telemetry t;
            t.steps.push_back(r.record);
            t.events = commands;
            commands.clear();
            t.events.insert(t.events.end(), r.events.begin(), r.events.end());
            if (r.snapshot)
                t.snapshots.push_back(r.snapshot);
            if (r.shadow)
                t.shadows.push_back(r.shadow);
            advisor.observe(t, trainer.live());
            for (const Finding& f : advisor.findings())
                seen.insert(f.kind);
            last = r.record;
        }
    }
    void apply(const Command& c) { commands.push_back(trainer.apply(c)); }
    const Finding* standing(FindingKind kind) const
    {
        for (const Finding& f : advisor.findings()) {
            if (f.kind == kind)
                return &f;
        }
        return nullptr;
    }
    std::string names(const Finding& f) const { return moduleList(f.modules, trainer.info().modules); }

    Trainer trainer;
    Advisor advisor;
    std::vector<Event> commands;
    std::set<FindingKind> seen; // at any step
    StepRecord last;
};

RunConfig fp16(double scale)
{
    RunConfig c = smallRun();
    c.precision = "mixed-fp16";
    c.scaler.initialScale = scale;
    return c;
}

TEST(AdvisorOnRuns, NothingIsSaidOfAHealthyRun)
{
    Watched w(fp16(65536));
    w.run(150);
    EXPECT_TRUE(w.seen.empty()) << findingText(w.advisor.findings().empty() ? w.advisor.ended().front()
                                                                            : w.advisor.findings().front(),
                                               w.trainer.info().modules);
}

TEST(AdvisorOnRuns, TooSmallAScaleFlushesAndItsRemedyMendsThat)
{
    RunConfig c = fp16(0x1p-8);
    Watched w(c);
    w.run(20);
    ASSERT_NE(w.standing(FindingKind::Flushing), nullptr);
    // What was flushed upstream is zero further down and not counted there, so that a scale far too small may take a
    // second look.
    int clicks = 0;
    double share = 1.0;
    for (; clicks < 4 && w.standing(FindingKind::Flushing); ++clicks) {
        const Finding f = *w.standing(FindingKind::Flushing);
        EXPECT_LT(f.share, share);
        share = f.share;
        ASSERT_FALSE(f.remedies.empty());
        ASSERT_EQ(f.remedies.front().kind, RemedyKind::SetScale);
        for (const Command& command : f.remedies.front().commands)
            w.apply(command);
        w.run(20);
    }
    EXPECT_EQ(w.standing(FindingKind::Flushing), nullptr);
    EXPECT_LE(clicks, 3);
    EXPECT_EQ(w.last.skippedSteps, 0) << "and nothing overflowed";
}

TEST(AdvisorOnRuns, AScalerThatFindsItsLimit)
{
    RunConfig c = fp16(0x1p18);
    c.scaler.growthInterval = 10;
    Watched w(c);
    w.run(150);
    ASSERT_GT(w.last.skippedSteps, 2);
    const Finding* f = w.standing(FindingKind::ProbeOverflow);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->of, 11);
    EXPECT_FALSE(w.seen.contains(FindingKind::TensorOverflow));
    EXPECT_FALSE(w.seen.contains(FindingKind::BackoffStreak));
}

TEST(AdvisorOnRuns, AnInitialScaleFarTooHigh)
{
    Watched w(fp16(0x1p40));
    w.run(60);
    EXPECT_TRUE(w.seen.contains(FindingKind::BackoffStreak));
    EXPECT_FALSE(w.seen.contains(FindingKind::TensorOverflow));
    ASSERT_FALSE(w.advisor.ended().empty());
    EXPECT_TRUE(w.advisor.ended().front().atStart);
    EXPECT_EQ(w.advisor.ended().front().count, w.last.skippedSteps);
}

TEST(AdvisorOnRuns, OneTensorThatSpikesAgainAndAgain)
{
    // By the user the spikes are not held against it ...
    Watched yours(fp16(65536));
    Watched hidden(fp16(65536));
    for (int i = 0; i < 8; ++i) {
        for (Watched* w : {&yours, &hidden}) {
            const Event e = w->trainer.apply(InjectSpike{"h1.mlp.fc", 1e7, true});
            if (w == &yours)
                w->commands.push_back(e);
            w->run(12);
        }
    }
    EXPECT_EQ(yours.last.skippedSteps, 8);
    EXPECT_TRUE(yours.seen.empty());
    // ... but where nobody is known to have made them.
    const Finding* f = hidden.standing(FindingKind::TensorOverflow);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(hidden.names(*f), "h1.mlp.fc");
    EXPECT_EQ(f->tap, static_cast<std::int8_t>(Tap::WeightGrad));
}

TEST(AdvisorOnRuns, WeightsTooLargeForTheForwardPass)
{
    Watched w(fp16(65536));
    w.run(5);
    w.apply(InjectLearningRateJump{1e9});
    w.run(10);
    EXPECT_TRUE(w.seen.contains(FindingKind::ForwardOverflow) || w.seen.contains(FindingKind::NonfiniteLoss));
    EXPECT_FALSE(w.seen.contains(FindingKind::TensorOverflow));
}

TEST(AdvisorOnRuns, ABadBatchIsTheUsersOwn)
{
    RunConfig c = fp16(65536);
    Watched w(c);
    w.run(200);
    w.apply(InjectLearningRateJump{300});
    w.run(10);
    const Finding* f = w.standing(FindingKind::LossJump);
    ASSERT_NE(f, nullptr);
    EXPECT_TRUE(f->injected);
    EXPECT_EQ(f->severity, Severity::Note);
}

TEST(AdvisorOnRuns, GradientsThatAreAllFlushed)
{
    RunConfig c = fp16(0x1p-60);
    c.precision = "pure-fp16";
    c.scaler.dynamic = false;
    Watched w(c);
    w.run(10);
    const Finding* f = w.standing(FindingKind::ZeroGradients);
    ASSERT_NE(f, nullptr);
    EXPECT_TRUE(f->whole);
    EXPECT_GT(f->share, 0.0) << "lost by rounding";
}

TEST(AdvisorOnRuns, BothFormatsThatNeedNoScale)
{
    for (const char* precision : {"mixed-bf16", "fp32"}) {
        RunConfig c = fp16(65536);
        c.precision = precision;
        Watched w(c);
        w.run(5);
        EXPECT_EQ(w.seen, std::set<FindingKind>{FindingKind::ScalerUseless}) << precision;
    }
}

TEST(AdvisorOnRuns, TheShadowSeesWhatAScaleTooSmallDoes)
{
    for (const double scale : {0x1p-12, 65536.0}) {
        RunConfig c = fp16(scale);
        c.shadowInterval = 2;
        c.scaler.dynamic = false;
        Watched w(c);
        w.run(12);
        EXPECT_EQ(w.seen.contains(FindingKind::ShadowDeviates), scale < 1) << scale;
    }
}

// The same stream gives the same findings, however it is cut into pieces.
TEST(AdvisorOnRuns, DoesNotDependOnHowTheStreamIsDrained)
{
    RunConfig c = fp16(0x1p-6);
    c.scaler.growthInterval = 5;
    Trainer trainer(c);
    Advisor one;
    Advisor many;
    one.restart(trainer.info());
    many.restart(trainer.info());
    Telemetry all;
    for (int i = 0; i < 120; ++i) {
        const Trainer::StepResult& r = trainer.step();
        Telemetry t;
        t.steps.push_back(r.record);
        t.events = r.events;
        t.snapshots.push_back(r.snapshot);
        one.observe(t, trainer.live());
        all.steps.push_back(r.record);
        all.events.insert(all.events.end(), r.events.begin(), r.events.end());
        all.snapshots.push_back(r.snapshot);
    }
    many.observe(all, trainer.live());
    const auto texts = [&](const Advisor& a) {
        std::vector<std::string> out;
        for (const Finding& f : a.findings())
            out.push_back(std::to_string(f.firstStep) + findingText(f, trainer.info().modules));
        for (const Finding& f : a.ended())
            out.push_back(std::to_string(f.lastStep) + findingText(f, trainer.info().modules));
        return out;
    };
    EXPECT_EQ(texts(one), texts(many));
    EXPECT_FALSE(texts(one).empty());
}

} // namespace
} // namespace halfscope
