// SPDX-License-Identifier: GPL-3.0-or-later
// Each rule on skips and the scale: that it speaks in its case, and is silent in the neighbouring one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/lab/advisor_stream.h"

namespace halfscope::test {
namespace {

RunConfig every(std::int64_t interval)
{
    RunConfig c;
    c.scaler.growthInterval = interval;
    return c;
}

std::string key(const Remedy* r)
{
    const auto* s = r == nullptr || r->commands.empty() ? nullptr : std::get_if<SetSetting>(&r->commands.back());
    return s == nullptr ? "none" : s->key + "=" + s->value;
}

TEST(AdvisorProbe, OneSkipAfterAGrowthIsNormal)
{
    AdvisorStream run(every(20));
    for (int cycle = 0; cycle < 10; ++cycle) {
        run.clean(19);
        run.grow();
        run.skip();
    }
    run.clean();
    const Finding* f = run.standing(FindingKind::ProbeOverflow);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity, Severity::Note);
    EXPECT_EQ(f->count, 10); // the window holds all 211 steps' worth: 200 of them hold skips at 21, 42, ..., 210
    EXPECT_EQ(f->of, 21);    // 1 in N + 1
    EXPECT_EQ(run.standing(FindingKind::TensorOverflow), nullptr)
        << run.text(run.standing(FindingKind::TensorOverflow));
    EXPECT_EQ(run.standing(FindingKind::BackoffStreak), nullptr);
    EXPECT_THAT(run.text(f), testing::HasSubstr("about one in 21 is normal"));
}

TEST(AdvisorProbe, SilentWhereNothingGrewBefore)
{
    AdvisorStream run(every(2000));
    run.clean(30);
    run.skip();
    run.clean(30);
    EXPECT_TRUE(run.silent());
}

TEST(AdvisorProbe, ASpikeOfTheUsersIsNone)
{
    AdvisorStream run(every(20));
    run.clean(19);
    run.grow();
    Event spike;
    spike.kind = EventKind::Injected;
    spike.step = run.step + 1;
    spike.module = 3;
    run.skip("lm_head", ScaleEvent::BackedOff, {spike});
    run.clean();
    EXPECT_TRUE(run.silent());
}

TEST(AdvisorProbe, ASpikeAskedForInAPauseIsRemembered)
{
    AdvisorStream run(every(20));
    run.clean(19);
    run.grow();
    Telemetry paused; // a command of the next step, drained before that step is there
    Event spike;
    spike.kind = EventKind::Injected;
    spike.step = run.step + 1;
    spike.module = 3;
    paused.events.push_back(spike);
    run.advisor.observe(paused, run.live);
    run.skip();
    run.clean();
    EXPECT_TRUE(run.silent());
}

TEST(AdvisorProbe, EndsWhenTheScalerNoLongerProbes)
{
    AdvisorStream run(every(20));
    run.clean(19);
    run.grow();
    run.skip();
    run.clean(300);
    EXPECT_EQ(run.standing(FindingKind::ProbeOverflow), nullptr);
    const Finding* f = run.ended(FindingKind::ProbeOverflow);
    ASSERT_NE(f, nullptr);
    EXPECT_TRUE(f->ended);
    EXPECT_EQ(f->firstStep, 21); // the skip, though the step after it showed what it was
}

TEST(AdvisorProbe, EndsWhereSkipsAreMoreThanNormal)
{
    AdvisorStream run(every(20));
    for (int cycle = 0; cycle < 10; ++cycle) {
        run.clean(19);
        run.grow();
        run.skip();
    }
    run.clean();
    ASSERT_NE(run.standing(FindingKind::ProbeOverflow), nullptr);
    EXPECT_EQ(run.standing(FindingKind::ProbeOverflow)->window, 200);
    for (int i = 0; i < 3; ++i) { // ten in 200 are expected, and one for luck
        run.skip(i % 2 == 0 ? "ln_f" : "h0.mlp.fc");
        run.clean(2);
    }
    EXPECT_EQ(run.standing(FindingKind::ProbeOverflow), nullptr);
}

TEST(AdvisorProbe, WhatWasNormalBeforeTheScalerWasSetSaysNothing)
{
    AdvisorStream run(every(20));
    for (int cycle = 0; cycle < 5; ++cycle) {
        run.clean(19);
        run.grow();
        run.skip();
    }
    run.clean();
    ASSERT_NE(run.standing(FindingKind::ProbeOverflow), nullptr);
    run.live.config.scaler.growthInterval = 2000;
    run.clean();
    EXPECT_EQ(run.standing(FindingKind::ProbeOverflow), nullptr);
}

// Two overflows a visit: hysteresis of 2 pays for the first.
TEST(AdvisorProbe, KnowsWhatHysteresisCosts)
{
    RunConfig c = every(50);
    c.scaler.hysteresis = 2;
    c.scaler.hysteresisKind = HysteresisKind::Budget;
    AdvisorStream run(c);
    for (int cycle = 0; cycle < 5; ++cycle) {
        run.clean(49);
        run.grow();
        run.skip("lm_head", ScaleEvent::Tolerated);
        run.skip();
    }
    run.clean();
    const Finding* f = run.standing(FindingKind::ProbeOverflow);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->of, 26); // two of 52
    EXPECT_EQ(run.standing(FindingKind::TensorOverflow), nullptr);
}

TEST(AdvisorStreak, AtTheStartTheScaleIsOnItsWayDown)
{
    RunConfig c;
    c.scaler.initialScale = 0x1p32;
    AdvisorStream run(c);
    run.skip();
    run.skip();
    EXPECT_TRUE(run.silent()) << "two are not yet a streak";
    for (int i = 0; i < 10; ++i)
        run.skip();
    const Finding* f = run.standing(FindingKind::BackoffStreak);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity, Severity::Advice);
    EXPECT_TRUE(f->atStart);
    EXPECT_EQ(f->count, 12);
    EXPECT_EQ(f->scaleFrom, 0x1p32);
    EXPECT_EQ(f->scale, 0x1p20);
    EXPECT_THAT(run.text(f), testing::HasSubstr("2^32 -> 2^20"));
    ASSERT_NE(run.remedy(f, RemedyKind::SetScale), nullptr);
    EXPECT_LT(run.remedy(f, RemedyKind::SetScale)->value, 0x1p20);
    run.clean(9);
    EXPECT_NE(run.standing(FindingKind::BackoffStreak), nullptr) << "it does not flicker";
    run.clean(1);
    EXPECT_EQ(run.standing(FindingKind::BackoffStreak), nullptr);
    // The search for the first scale is not held against the tensor that overflowed.
    run.clean(190);
    EXPECT_EQ(run.standing(FindingKind::TensorOverflow), nullptr);
    EXPECT_EQ(run.ended(FindingKind::TensorOverflow), nullptr);
}

TEST(AdvisorStreak, LaterItIsAWarning)
{
    AdvisorStream run(every(2000));
    run.clean(100);
    for (int i = 0; i < 3; ++i)
        run.skip(i == 0 ? "lm_head" : i == 1 ? "ln_f" : "h0.mlp.fc");
    const Finding* f = run.standing(FindingKind::BackoffStreak);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity, Severity::Warning);
    EXPECT_FALSE(f->atStart);
    EXPECT_EQ(f->firstStep, 101); // of the streak
    EXPECT_THAT(run.text(f), testing::HasSubstr("grown suddenly"));
    EXPECT_EQ(run.advisor.findings().size(), 1U);
}

TEST(AdvisorTensor, NamesTheOneThatKeepsOverflowing)
{
    AdvisorStream run(every(1000));
    for (int i = 0; i < 6; ++i) {
        run.clean(15);
        run.skip("h0.attn.proj");
    }
    const Finding* f = run.standing(FindingKind::TensorOverflow);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity, Severity::Warning);
    ASSERT_EQ(f->modules.size(), 1U);
    EXPECT_EQ(f->modules.front(), run.module("h0.attn.proj"));
    EXPECT_EQ(f->count, f->of);
    EXPECT_EQ(f->values, 7U);
    EXPECT_EQ(key(run.remedy(f, RemedyKind::ModulesToFp32)), "precision.h0.attn.proj=fp32");
    EXPECT_EQ(key(run.remedy(f, RemedyKind::ModulesToBf16)), "precision.h0.attn.proj=bf16");
    EXPECT_THAT(run.text(f), testing::HasSubstr("h0.attn.proj overflows again and again"));
    run.clean(4200);
    EXPECT_EQ(run.standing(FindingKind::TensorOverflow), nullptr) << "long ago";
}

// The norm is in FP32 already; what overflows is made by the layer that reads it.
TEST(AdvisorTensor, TheGradientOfANormsOutputIsWidenedWhereItIsMade)
{
    AdvisorStream run(every(1000));
    for (int i = 0; i < 6; ++i) {
        run.clean(15);
        run.skip("h0.ln_1");
    }
    const Finding* f = run.standing(FindingKind::TensorOverflow);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->modules.front(), run.module("h0.ln_1"));
    EXPECT_EQ(key(run.remedy(f, RemedyKind::ModulesToFp32)), "precision.h0.attn.qkv=fp32");
    EXPECT_EQ(key(run.remedy(f, RemedyKind::ModulesToBf16)), "precision.h0.attn.qkv=bf16");
}

TEST(AdvisorTensor, SilentWhenTheCulpritsDiffer)
{
    AdvisorStream run(every(1000));
    const char* names[] = {"h0.attn.proj", "lm_head", "h0.mlp.fc", "h0.attn.qkv"};
    for (int i = 0; i < 12; ++i) {
        run.clean(15);
        run.skip(names[i % 4]);
    }
    EXPECT_EQ(run.standing(FindingKind::TensorOverflow), nullptr);
}

TEST(AdvisorTensor, TheUsersOwnScaleIsNotHeldAgainstIt)
{
    AdvisorStream run(every(1000));
    run.clean(50);
    Event dragged;
    dragged.kind = EventKind::Command;
    dragged.key = "scale";
    dragged.step = run.step + 1;
    run.skip("lm_head", ScaleEvent::BackedOff, {dragged});
    for (int i = 0; i < 5; ++i)
        run.skip("lm_head");
    const Finding* f = run.standing(FindingKind::BackoffStreak);
    ASSERT_NE(f, nullptr);
    EXPECT_TRUE(f->injected);
    EXPECT_THAT(run.text(f), testing::HasSubstr("raised above what the gradients allow"));
    EXPECT_EQ(run.standing(FindingKind::TensorOverflow), nullptr);
}

TEST(AdvisorFloor, AnOverflowAtTheSmallestScale)
{
    RunConfig c;
    c.scaler.minScale = 128;
    c.scaler.initialScale = 128;
    AdvisorStream run(c);
    run.clean(50);
    EXPECT_TRUE(run.silent()) << "being there is no fault";
    run.skip("h0.mlp.proj", ScaleEvent::AtMinimum);
    const Finding* f = run.standing(FindingKind::AtFloor);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity, Severity::Error);
    EXPECT_EQ(f->limit, 128.0);
    EXPECT_EQ(key(run.remedy(f, RemedyKind::ModulesToFp32)), "precision.h0.mlp.proj=fp32");
    EXPECT_EQ(key(run.remedy(f, RemedyKind::LowerMinScale)), "min-scale=1");
    for (int i = 0; i < 10; ++i)
        run.skip("h0.mlp.proj", ScaleEvent::AtMinimum);
    EXPECT_EQ(run.standing(FindingKind::AtFloor)->count, 11);
    EXPECT_EQ(run.standing(FindingKind::BackoffStreak), nullptr) << "one finding says it";
    EXPECT_EQ(run.standing(FindingKind::TensorOverflow), nullptr);
    run.clean(20);
    EXPECT_EQ(run.standing(FindingKind::AtFloor), nullptr);
    run.skip("h0.mlp.proj", ScaleEvent::AtMinimum);
    EXPECT_NE(run.standing(FindingKind::AtFloor), nullptr);
    run.live.config.scaler.minScale = 1; // no longer at the floor, though still overflowing
    run.skip("h0.mlp.proj");
    EXPECT_EQ(run.standing(FindingKind::AtFloor), nullptr);
}

TEST(AdvisorFloor, WithoutAMinimumTheScaleFallsBelowOne)
{
    RunConfig c;
    c.scaler.initialScale = 8;
    AdvisorStream run(c);
    run.clean(20);
    for (int i = 0; i < 3; ++i)
        run.skip();
    EXPECT_EQ(run.standing(FindingKind::AtFloor), nullptr) << "at 1";
    run.skip();
    const Finding* f = run.standing(FindingKind::AtFloor);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->limit, 0.0);
    EXPECT_EQ(f->scale, 0.5);
    EXPECT_THAT(run.text(f), testing::HasSubstr("fallen to 2^-1"));
}

TEST(AdvisorForward, ALossScaleDoesNotMendIt)
{
    AdvisorStream run;
    run.clean(5);
    StepRecord r = run.next();
    r.forwardSaturatedModule = run.module("h0.mlp.fc");
    r.foundInf = true;
    r.outcome = StepOutcome::SkippedNonfiniteLoss;
    r.loss = std::numeric_limits<double>::quiet_NaN();
    run.feed(r);
    const Finding* f = run.standing(FindingKind::ForwardOverflow);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity, Severity::Error);
    EXPECT_TRUE(f->lossLost);
    EXPECT_EQ(key(run.remedy(f, RemedyKind::ModulesToBf16)), "precision.h0.mlp.fc=bf16");
    EXPECT_EQ(key(run.remedy(f, RemedyKind::MeasureActivations)), "activations=on");
    EXPECT_EQ(run.standing(FindingKind::NonfiniteLoss), nullptr) << "the cause is named";
    run.clean(49);
    EXPECT_NE(run.standing(FindingKind::ForwardOverflow), nullptr);
    run.clean(1);
    EXPECT_EQ(run.standing(FindingKind::ForwardOverflow), nullptr);
    EXPECT_EQ(run.ended(FindingKind::ForwardOverflow)->lastStep, 6);
}

TEST(AdvisorForward, BackwardOverflowsAreNotForwardOnes)
{
    AdvisorStream run;
    run.clean(5);
    run.skip();
    EXPECT_EQ(run.standing(FindingKind::ForwardOverflow), nullptr);
}

TEST(AdvisorInterval, SkipsKeepItFromGrowing)
{
    AdvisorStream run(every(100));
    for (int i = 0; i < 4; ++i) {
        run.clean(60);
        run.skip(i % 2 == 0 ? "lm_head" : "ln_f");
    }
    const Finding* f = run.standing(FindingKind::IntervalUnreached);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->of, 100);
    EXPECT_EQ(f->value, 60.0);
    EXPECT_EQ(f->count, 4);
    EXPECT_EQ(key(run.remedy(f, RemedyKind::GrowthInterval)), "growth-interval=30");
    run.clean(99);
    run.grow();
    EXPECT_EQ(run.standing(FindingKind::IntervalUnreached), nullptr);
}

TEST(AdvisorInterval, OffersNoneThatIsAllProbesAndEndsWhenTheScaleIsSet)
{
    AdvisorStream run(every(20));
    for (int i = 0; i < 8; ++i) {
        run.clean(8);
        run.skip(i % 2 == 0 ? "lm_head" : "ln_f");
    }
    const Finding* f = run.standing(FindingKind::IntervalUnreached);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(run.remedy(f, RemedyKind::GrowthInterval), nullptr) << "half of 8 is too short";
    Event set;
    set.kind = EventKind::Command;
    set.key = "scale";
    set.step = run.step + 1;
    run.feed(run.next(), {set});
    EXPECT_EQ(run.standing(FindingKind::IntervalUnreached), nullptr);
}

TEST(AdvisorInterval, SilentWhileItGrowsNowAndThenOrIsYetToCome)
{
    AdvisorStream growing(every(100));
    for (int i = 0; i < 8; ++i) {
        growing.clean(99);
        growing.grow();
        growing.skip();
        growing.clean(40);
        growing.skip();
    }
    EXPECT_EQ(growing.standing(FindingKind::IntervalUnreached), nullptr);
    AdvisorStream young(every(2000));
    for (int i = 0; i < 6; ++i) {
        young.clean(300);
        young.skip();
    }
    EXPECT_EQ(young.standing(FindingKind::IntervalUnreached), nullptr);
}

void capped(AdvisorStream& run)
{
    StepRecord r = run.next();
    r.scaleEvent = ScaleEvent::GrowthCapped;
    run.feed(r);
}

TEST(AdvisorCap, SaysWhatTheCapCosts)
{
    RunConfig c;
    c.scaler.maxScale = 1024;
    c.scaler.initialScale = 1024;
    AdvisorStream run(c);
    run.clean(10);
    EXPECT_TRUE(run.silent()) << "growth was not due yet";
    capped(run);
    const Finding* f = run.standing(FindingKind::GrowthCapped);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->limit, 1024.0);
    // 65520 / 1024 over 2^-6
    EXPECT_NEAR(f->value, std::log2(65520.0 / 1024.0) + 6.0, 1e-12);
    EXPECT_EQ(f->severity, Severity::Advice) << "twelve octaves are unused";
    EXPECT_EQ(key(run.remedy(f, RemedyKind::LiftMaxScale)), "max-scale=none");
    run.live.config.scaler.maxScale = kNoMaximum;
    run.clean(1);
    EXPECT_EQ(run.standing(FindingKind::GrowthCapped), nullptr);
}

// The limit is that of the format the gradients are in: in BF16 a scale of 2^127 leaves the gradients' own distance.
TEST(AdvisorCap, TheRoomIsThatOfTheFormatInUse)
{
    RunConfig c;
    c.scaler.maxScale = 0x1p127;
    c.scaler.initialScale = 0x1p127;
    AdvisorStream run(c);
    StepRecord r = run.next();
    r.scaleEvent = ScaleEvent::GrowthCapped;
    r.bandFormat = FormatId::Bf16;
    r.bandAbsMax = 0x1p-6F;
    run.feed(r);
    const Finding* f = run.standing(FindingKind::GrowthCapped);
    ASSERT_NE(f, nullptr);
    // BF16 overflows from half a unit in the last place above its largest number, 2^128 (1 - 2^-9).
    EXPECT_NEAR(f->value, 1.0 + std::log2(1.0 - 0x1p-9) + 6.0, 1e-12);
}

TEST(AdvisorCap, WithLittleRoomItIsANoteAndABackoffEndsIt)
{
    RunConfig c;
    c.scaler.maxScale = 1 << 20;
    c.scaler.initialScale = 1 << 20;
    AdvisorStream run(c);
    capped(run);
    ASSERT_NE(run.standing(FindingKind::GrowthCapped), nullptr);
    EXPECT_EQ(run.standing(FindingKind::GrowthCapped)->severity, Severity::Note);
    run.skip();
    EXPECT_EQ(run.standing(FindingKind::GrowthCapped), nullptr);
}

TEST(AdvisorScaler, IsOfNoUseWithoutANarrowFormat)
{
    for (const char* precision : {"fp32", "mixed-bf16", "mixed-fp16", "pure-fp16"}) {
        RunConfig c;
        c.precision = precision;
        AdvisorStream run(c);
        run.clean();
        const bool narrow = std::string(precision).find("fp16") != std::string::npos;
        const Finding* f = run.standing(FindingKind::ScalerUseless);
        EXPECT_EQ(f == nullptr, narrow) << precision;
        if (f) {
            EXPECT_EQ(key(run.remedy(f, RemedyKind::ScalerOff)), "scaler-mode=off");
            run.live.config.scaler.enabled = false;
            run.clean();
            EXPECT_EQ(run.standing(FindingKind::ScalerUseless), nullptr);
        }
    }
}

TEST(AdvisorOrder, TheGravestFirstThenTheOldest)
{
    RunConfig c = every(20);
    AdvisorStream run(c);
    run.clean(19);
    run.grow();
    run.skip();
    run.clean();
    StepRecord r = run.next();
    r.forwardSaturatedModule = 3;
    run.feed(r);
    run.loss(std::numeric_limits<double>::quiet_NaN());
    std::vector<FindingKind> kinds;
    for (const Finding& f : run.advisor.findings())
        kinds.push_back(f.kind);
    EXPECT_THAT(kinds, testing::ElementsAre(FindingKind::NonfiniteLoss, FindingKind::ForwardOverflow,
                                            FindingKind::ProbeOverflow));
    const std::uint64_t version = run.advisor.version();
    run.advisor.restart(run.info);
    EXPECT_NE(run.advisor.version(), version);
    EXPECT_TRUE(run.silent());
}

} // namespace
} // namespace halfscope::test
