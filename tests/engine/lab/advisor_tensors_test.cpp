// SPDX-License-Identifier: GPL-3.0-or-later
// The rules on tensors, loss and validation: that each speaks in its case, and is silent in the neighbouring one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/lab/advisor_stream.h"

namespace halfscope::test {
namespace {

constexpr FormatId kHalf = FormatId::Fp16;

RunConfig atScale(double scale)
{
    RunConfig c;
    c.scaler.initialScale = scale;
    return c;
}

// Gradients around 2^-22: at scale 1 a share of them lies at or below 2^-25; the normal distribution says which.
TEST(AdvisorFlushing, NamesTheLayersAndTheScaleThatMendsIt)
{
    AdvisorStream run(atScale(1));
    for (int i = 0; i < 8; ++i) {
        EXPECT_TRUE(run.silent());
        run.measured({run.tap("lm_head", Tap::WeightGrad, kHalf, -8),
                      run.tap("h0.mlp.fc", Tap::WeightGrad, kHalf, -22, 2.0, 0.0, 200'000),
                      run.tap("h0.attn.qkv", Tap::WeightGrad, kHalf, -20),
                      run.tap("ln_f", Tap::WeightGrad, FormatId::Fp32, -40)});
    }
    const Finding* f = run.standing(FindingKind::Flushing);
    ASSERT_NE(f, nullptr);
    // P(N(-22, 2) <= -25) = Phi(-1.5) = 0.0668; 1.6 million draws: deviation 0.0002. Phi(-2.5) = 0.0062 of qkv: below
    // the limit.
    EXPECT_NEAR(f->share, 0.0668, 0.001);
    EXPECT_THAT(f->modules, testing::ElementsAre(run.module("h0.mlp.fc")));
    EXPECT_EQ(f->tap, static_cast<std::int8_t>(Tap::WeightGrad));
    EXPECT_EQ(f->severity, Severity::Advice);
    // Up to one in a thousand may be lost. Scale 2^3 loses what is below 2^-28, Phi(-3) = 1.35 in a thousand; scale 2^4
    // what is below 2^-29, 0.23 in a thousand. 200,000 draws: deviations of 0.08 and 0.03 in a thousand.
    EXPECT_EQ(f->limit, 16.0);
    const Remedy* r = run.remedy(f, RemedyKind::SetScale);
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(std::get<SetScale>(r->commands.back()).scale, 16.0);
    EXPECT_THAT(run.text(f), testing::HasSubstr("h0.mlp.fc become zero at scale 2^0"));
    // Mended: after the window of eight steps it is over.
    run.scale = 16;
    for (int i = 0; i < 8; ++i)
        run.measured(
            {run.tap("lm_head", Tap::WeightGrad, kHalf, -8), run.tap("h0.mlp.fc", Tap::WeightGrad, kHalf, -22)});
    EXPECT_EQ(run.standing(FindingKind::Flushing), nullptr);
    EXPECT_NE(run.ended(FindingKind::Flushing), nullptr);
}

TEST(AdvisorFlushing, WhereTheLargestForbidsAnotherScaleFormatsAreOffered)
{
    AdvisorStream run(atScale(0x1p10));
    for (int i = 0; i < 10; ++i)
        run.measured({run.tap("lm_head", Tap::WeightGrad, kHalf, 3, 0.3), // almost at 2^16 / 2^10 / 2
                      run.tap("h0.mlp.fc", Tap::ActivationGrad, kHalf, -35)});
    const Finding* f = run.standing(FindingKind::Flushing);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->tap, static_cast<std::int8_t>(Tap::ActivationGrad));
    EXPECT_EQ(f->severity, Severity::Warning);
    // The largest of lm_head is about 2^4: with an octave to spare 2^11 is the most.
    if (f->limit == 0)
        EXPECT_EQ(run.remedy(f, RemedyKind::SetScale), nullptr);
    else
        EXPECT_LE(f->limit, 0x1p11);
    ASSERT_NE(run.remedy(f, RemedyKind::ModulesToFp32), nullptr);
    EXPECT_EQ(std::get<SetSetting>(run.remedy(f, RemedyKind::ModulesToFp32)->commands.front()).key,
              "precision.h0.mlp.fc");
}

// The gradient of a norm's output is in the format of the layer that reads it: to widen the norm would change nothing.
TEST(AdvisorFlushing, TheRemedyIsForTheLayersThatMakeTheGradientsSmall)
{
    AdvisorStream run(atScale(1));
    for (int i = 0; i < 10; ++i)
        run.measured({run.tap("h0.ln_1", Tap::ActivationGrad, kHalf, -27),
                      run.tap("ln_f", Tap::ActivationGrad, kHalf, -26),
                      run.tap("h0.mlp.fc", Tap::ActivationGrad, kHalf, -24)});
    const Finding* f = run.standing(FindingKind::Flushing);
    ASSERT_NE(f, nullptr);
    EXPECT_THAT(f->modules, testing::ElementsAre(run.module("h0.ln_1"), run.module("ln_f"), run.module("h0.mlp.fc")));
    EXPECT_EQ(f->count, 2);
    EXPECT_THAT(run.text(f), testing::HasSubstr("2 of the modules are in FP32"));
    const Remedy* r = run.remedy(f, RemedyKind::ModulesToFp32);
    ASSERT_NE(r, nullptr);
    EXPECT_THAT(r->modules,
                testing::ElementsAre(run.module("h0.attn.qkv"), run.module("h0.mlp.fc"), run.module("lm_head")));
    EXPECT_EQ(r->commands.size(), 3U);
}

TEST(AdvisorFlushing, SilentBelowOnePercentAndInBf16)
{
    AdvisorStream few(atScale(1));
    AdvisorStream wide(atScale(1));
    for (int i = 0; i < 20; ++i) {
        few.measured({few.tap("h0.mlp.fc", Tap::WeightGrad, kHalf, -20)}); // 0.6 %
        wide.measured({wide.tap("h0.mlp.fc", Tap::WeightGrad, FormatId::Bf16, -30)});
    }
    EXPECT_TRUE(few.silent());
    EXPECT_TRUE(wide.silent());
}

TEST(AdvisorFlushing, DoesNotFlickerAtTheLimit)
{
    AdvisorStream run(atScale(1));
    int changes = 0;
    bool before = false;
    for (int i = 0; i < 300; ++i) { // 1.0 % on average: Phi((-25 + 20.35) / 2) = Phi(-2.326)
        run.measured({run.tap("h0.mlp.fc", Tap::WeightGrad, kHalf, -20.35, 2.0, 0.0, 500)});
        const bool now = run.standing(FindingKind::Flushing) != nullptr;
        changes += now != before ? 1 : 0;
        before = now;
    }
    EXPECT_LE(changes, 3); // the noise of 4000 draws is 0.16 %: a tenth of the steps would cross a single threshold
}

TEST(AdvisorFlushing, WithTheScalerOffItOffersOne)
{
    RunConfig c;
    c.scaler.enabled = false;
    c.scaler.initialScale = 1;
    AdvisorStream run(c);
    for (int i = 0; i < 9; ++i)
        run.measured({run.tap("h0.mlp.fc", Tap::WeightGrad, kHalf, -24)});
    const Finding* f = run.standing(FindingKind::Flushing);
    ASSERT_NE(f, nullptr);
    EXPECT_NE(run.remedy(f, RemedyKind::ScalerOn), nullptr);
    EXPECT_EQ(run.remedy(f, RemedyKind::SetScale), nullptr);
}

TEST(AdvisorZeroGradients, TellsFlushedOnesFromThoseThatNeverCame)
{
    AdvisorStream lost(atScale(0x1p-60));
    AdvisorStream none(atScale(1024));
    AdvisorStream part(atScale(1024));
    for (int i = 0; i < 5; ++i) {
        lost.measured(
            {lost.tap("lm_head", Tap::WeightGrad, kHalf, -20), lost.tap("h0.mlp.fc", Tap::WeightGrad, kHalf, -20)});
        none.measured({none.tap("lm_head", Tap::WeightGrad, kHalf, 0, 1, 1.0)});
        part.measured({part.tap("lm_head", Tap::WeightGrad, kHalf, -10),
                       part.tap("h0.mlp.fc", Tap::WeightGrad, kHalf, 0, 1, 1.0)});
    }
    const Finding* f = lost.standing(FindingKind::ZeroGradients);
    ASSERT_NE(f, nullptr);
    EXPECT_TRUE(f->whole);
    EXPECT_EQ(f->share, 1.0);
    EXPECT_EQ(f->severity, Severity::Error);
    EXPECT_NE(lost.remedy(f, RemedyKind::SetScale), nullptr);
    f = none.standing(FindingKind::ZeroGradients);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->share, 0.0);
    EXPECT_EQ(none.remedy(f, RemedyKind::SetScale), nullptr);
    f = part.standing(FindingKind::ZeroGradients);
    ASSERT_NE(f, nullptr);
    EXPECT_FALSE(f->whole);
    EXPECT_THAT(f->modules, testing::ElementsAre(part.module("h0.mlp.fc")));
    EXPECT_EQ(f->severity, Severity::Warning);
}

TEST(AdvisorZeroGradients, MostlyZeroIsNotZero)
{
    AdvisorStream run(atScale(1024));
    for (int i = 0; i < 10; ++i)
        run.measured({run.tap("tok_emb", Tap::WeightGrad, FormatId::Fp32, -10, 2, 0.99)});
    EXPECT_TRUE(run.silent());
}

TEST(AdvisorZeroOutputs, NamedWhereMeasuredAndSeenInTheLoss)
{
    AdvisorStream run;
    run.live.config.measureActivations = true;
    for (int i = 0; i < 5; ++i)
        run.measured(
            {run.tap("h0.mlp.fc", Tap::Activation, kHalf, 0, 1, 1.0), run.tap("lm_head", Tap::Activation, kHalf, 0)});
    const Finding* f = run.standing(FindingKind::ZeroOutputs);
    ASSERT_NE(f, nullptr);
    EXPECT_THAT(f->modules, testing::ElementsAre(run.module("h0.mlp.fc")));
    EXPECT_FALSE(f->whole);

    AdvisorStream flat;
    for (int i = 0; i < 10; ++i)
        flat.loss(std::log(50.0));
    ASSERT_NE(flat.standing(FindingKind::ZeroOutputs), nullptr);
    EXPECT_TRUE(flat.standing(FindingKind::ZeroOutputs)->whole);
    AdvisorStream usual; // near it, as at the start of any run
    for (int i = 0; i < 30; ++i)
        usual.loss(std::log(50.0) + 0.001 * i);
    EXPECT_TRUE(usual.silent());
}

ShadowPtr compared(const AdvisorStream& run, double cosine, double error)
{
    auto s = std::make_shared<ShadowReport>();
    s->step = run.step + 1;
    s->modules.push_back({run.module("lm_head"), {0.9999, 0.01, 1, 1}});
    s->modules.push_back({run.module("h0.mlp.fc"), {cosine, error, 1, 1}});
    return s;
}

TEST(AdvisorShadow, NamesModulesWhoseDirectionChanges)
{
    AdvisorStream run;
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(run.silent());
        run.feed(run.next(), {}, {}, compared(run, 0.7, 0.9));
    }
    const Finding* f = run.standing(FindingKind::ShadowDeviates);
    ASSERT_NE(f, nullptr);
    EXPECT_THAT(f->modules, testing::ElementsAre(run.module("h0.mlp.fc")));
    EXPECT_EQ(f->value, 0.7);
    EXPECT_EQ(f->share, 0.9);
    EXPECT_EQ(f->severity, Severity::Warning);
    for (int i = 0; i < 3; ++i)
        run.feed(run.next(), {}, {}, compared(run, 0.99, 0.1));
    EXPECT_EQ(run.standing(FindingKind::ShadowDeviates), nullptr);
    // All of it lost: no direction, an error of 1.
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (int i = 0; i < 3; ++i)
        run.feed(run.next(), {}, {}, compared(run, nan, 1.0));
    EXPECT_NE(run.standing(FindingKind::ShadowDeviates), nullptr);
    // Not finite: the skip says that.
    AdvisorStream skip;
    for (int i = 0; i < 5; ++i)
        skip.feed(skip.next(), {}, {}, compared(skip, nan, nan));
    EXPECT_TRUE(skip.silent());
}

TEST(AdvisorLoss, NotFiniteWithoutAnOverflow)
{
    AdvisorStream run;
    run.clean(30);
    run.loss(std::numeric_limits<double>::infinity());
    run.loss(std::numeric_limits<double>::quiet_NaN());
    const Finding* f = run.standing(FindingKind::NonfiniteLoss);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity, Severity::Error);
    EXPECT_EQ(f->count, 2);
    EXPECT_EQ(f->firstStep, 31);
    EXPECT_NE(run.remedy(f, RemedyKind::Restart), nullptr);
    run.clean(50);
    EXPECT_EQ(run.standing(FindingKind::NonfiniteLoss), nullptr);
}

TEST(AdvisorLoss, NonfiniteGradientsThatWereApplied)
{
    RunConfig c;
    c.scaler.skipNonfinite = false;
    AdvisorStream run(c);
    run.clean(5);
    EXPECT_TRUE(run.silent());
    StepRecord r = run.next();
    r.foundInf = true;
    run.feed(r);
    const Finding* f = run.standing(FindingKind::WeightsLost);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity, Severity::Error);
    run.clean(500);
    EXPECT_NE(run.standing(FindingKind::WeightsLost), nullptr) << "until a restart";
    EXPECT_EQ(run.standing(FindingKind::NonfiniteLoss), nullptr);
}

// A loss like a real one: falling, with noise of a tenth.
double course(AdvisorStream& run, int i) { return 2.0 + 2.0 * std::exp(-i / 100.0) + 0.1 * run.rng.normal(); }

TEST(AdvisorLoss, ASuddenJumpAndItsEnd)
{
    AdvisorStream run;
    int i = 0;
    for (; i < 300; ++i)
        run.loss(course(run, i));
    EXPECT_TRUE(run.silent()) << "noise and descent are none";
    run.loss(5.0);
    EXPECT_TRUE(run.silent()) << "one may be the batch's";
    run.loss(4.5);
    const Finding* f = run.standing(FindingKind::LossJump);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity, Severity::Warning);
    EXPECT_NEAR(f->value, 2.1, 0.2);
    EXPECT_EQ(f->largest, 5.0);
    EXPECT_NE(run.remedy(f, RemedyKind::LearningRate), nullptr);
    for (int k = 0; k < 25; ++k, ++i)
        run.loss(course(run, i));
    EXPECT_EQ(run.standing(FindingKind::LossJump), nullptr);
    EXPECT_EQ(run.ended(FindingKind::LossJump)->firstStep, 301);
}

TEST(AdvisorLoss, TheRateIsNoRemedyWhereTheScheduleHasEnded)
{
    RunConfig c;
    c.optimizer.schedule = LearningRateSchedule::WarmupCosine;
    c.optimizer.warmupSteps = 10;
    c.optimizer.decaySteps = 100;
    for (const bool ended : {false, true}) {
        AdvisorStream run(c);
        for (int i = 0; i < (ended ? 200 : 60); ++i)
            run.loss(2.0 + 0.05 * run.rng.normal());
        run.loss(6.0);
        run.loss(6.0);
        const Finding* f = run.standing(FindingKind::LossJump);
        ASSERT_NE(f, nullptr);
        EXPECT_EQ(run.remedy(f, RemedyKind::LearningRate) == nullptr, ended);
    }
}

TEST(AdvisorLoss, WeightsThatAreNotFiniteAndWhy)
{
    for (const bool epsilonLost : {true, false}) {
        RunConfig config;
        config.precision = "pure-fp16";
        config.weightStorage.master = !epsilonLost;
        AdvisorStream run(config);
        run.clean(5);
        for (int i = 0; i < 3; ++i) {
            StepRecord r = run.next();
            r.loss = std::numeric_limits<double>::quiet_NaN();
            r.foundInf = true;
            r.outcome = StepOutcome::SkippedNonfiniteLoss;
            r.lostWeightsModule = run.module("tok_emb");
            run.feed(r);
        }
        const Finding* f = run.standing(FindingKind::WeightsLost);
        ASSERT_NE(f, nullptr);
        EXPECT_EQ(f->severity, Severity::Error);
        EXPECT_EQ(f->firstStep, 6);
        EXPECT_THAT(f->modules, testing::ElementsAre(run.module("tok_emb")));
        EXPECT_EQ(f->value > 0, epsilonLost);
        EXPECT_NE(run.remedy(f, RemedyKind::Restart), nullptr);
        EXPECT_EQ(run.remedy(f, RemedyKind::Epsilon) != nullptr, epsilonLost);
        EXPECT_EQ(run.text(f).find("epsilon") != std::string::npos, epsilonLost);
        EXPECT_EQ(run.standing(FindingKind::NonfiniteLoss), nullptr) << "one finding says it";
        EXPECT_EQ(run.standing(FindingKind::ForwardOverflow), nullptr);
        EXPECT_EQ(&run.advisor.findings().front(), f) << "the gravest first";
    }
}

TEST(AdvisorLoss, ALevelThatStaysIsTheNewCourse)
{
    AdvisorStream run;
    for (int i = 0; i < 200; ++i)
        run.loss(2.0 + 0.05 * run.rng.normal());
    for (int i = 0; i < 499; ++i)
        run.loss(6.0 + 0.05 * run.rng.normal());
    EXPECT_NE(run.standing(FindingKind::LossJump), nullptr);
    for (int i = 0; i < 200; ++i)
        run.loss(6.0 + 0.05 * run.rng.normal());
    EXPECT_EQ(run.standing(FindingKind::LossJump), nullptr);
    EXPECT_EQ(run.advisor.ended().size(), 1U);
}

TEST(AdvisorLoss, WhatWasInjectedIsSaidToBe)
{
    AdvisorStream run;
    for (int i = 0; i < 100; ++i)
        run.loss(2.0 + 0.05 * run.rng.normal());
    StepRecord r = run.next();
    r.loss = 6.0;
    Event bad;
    bad.kind = EventKind::Injected;
    bad.key = "inject.bad-batch";
    bad.step = r.step;
    run.feed(r, {bad});
    const Finding* f = run.standing(FindingKind::LossJump);
    ASSERT_NE(f, nullptr);
    EXPECT_TRUE(f->injected);
    EXPECT_EQ(f->severity, Severity::Note);
    EXPECT_TRUE(f->remedies.empty());
}

void look(AdvisorStream& run, double accuracy)
{
    StepRecord r = run.next();
    r.validationAccuracy = accuracy;
    run.feed(r);
    run.clean(10);
}

TEST(AdvisorValidation, UpsAndDownsThatAreNoChance)
{
    AdvisorStream run;
    for (const double a : {0.6, 0.8, 0.55, 0.82, 0.6, 0.79, 0.58}) {
        look(run, a);
        EXPECT_TRUE(run.silent());
    }
    look(run, 0.8);
    const Finding* f = run.standing(FindingKind::ValidationFluctuates);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->count, 6);
    EXPECT_EQ(f->value, 0.55);
    EXPECT_EQ(f->largest, 0.82);
    // Steady improvement, and the noise of 256 examples (three per cent), are none.
    AdvisorStream steady;
    AdvisorStream noise;
    for (int i = 0; i < 12; ++i) {
        look(steady, 0.3 + 0.05 * i);
        look(noise, 0.7 + (i % 2 == 0 ? 0.03 : -0.03));
    }
    EXPECT_TRUE(steady.silent());
    EXPECT_TRUE(noise.silent());
}

TEST(AdvisorEpsilon, IsLostInFp16MomentsOnly)
{
    struct Case {
        const char* precision;
        bool master;
        bool momentsAsWeights;
        float epsilon;
        bool lost;
    };
    // FP16 rounds up to 2^-25 = 2.98e-8 to zero; BF16 has FP32's range.
    for (const Case& c : {Case{"pure-fp16", false, true, 1e-8F, true}, Case{"pure-fp16", false, true, 1e-4F, false},
                          Case{"pure-fp16", false, false, 1e-8F, false}, Case{"pure-fp16", true, true, 1e-8F, false},
                          Case{"mixed-bf16", false, true, 1e-8F, false}, Case{"fp32", false, true, 1e-8F, false}}) {
        RunConfig config;
        config.precision = c.precision;
        config.weightStorage.master = c.master;
        config.weightStorage.momentsAsWeights = c.momentsAsWeights;
        config.optimizer.epsilon = c.epsilon;
        AdvisorStream run(config);
        run.clean();
        const Finding* f = run.standing(FindingKind::EpsilonLost);
        EXPECT_EQ(f != nullptr, c.lost) << c.precision << c.epsilon;
        if (f) {
            EXPECT_EQ(f->limit, 0x1p-25);
            EXPECT_EQ(f->remedies.front().kind, RemedyKind::Epsilon);
            EXPECT_NE(run.remedy(f, RemedyKind::MasterWeights), nullptr);
            run.live.config.optimizer.epsilon = 1e-4F;
            run.clean();
            EXPECT_EQ(run.standing(FindingKind::EpsilonLost), nullptr);
        }
    }
}

void updated(AdvisorStream& run, std::uint64_t lost, std::uint64_t all)
{
    const StepRecord r = run.next();
    auto s = std::make_shared<Snapshot>();
    s->step = s->firstStep = r.step;
    ModuleUpdates u;
    u.module = run.module("h0.mlp.fc");
    u.format = FormatId::Bf16;
    u.statistics.weights = all + 5;
    u.statistics.unchanged = 5;
    u.statistics.lost = lost;
    s->updates.push_back(u);
    run.feed(r, {}, s);
}

TEST(AdvisorUpdates, TooSmallToMoveTheWeight)
{
    RunConfig config;
    config.precision = "mixed-bf16"; // with FP16 moments epsilon would be lost as well
    config.scaler.enabled = false;
    config.measureUpdates = true;
    config.weightStorage.master = false;
    AdvisorStream run(config);
    for (int i = 0; i < 8; ++i) {
        EXPECT_TRUE(run.silent());
        updated(run, 60, 100);
    }
    const Finding* f = run.standing(FindingKind::UpdatesLost);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->share, 0.6); // of the updates, those of nothing left out
    EXPECT_THAT(f->modules, testing::ElementsAre(run.module("h0.mlp.fc")));
    EXPECT_EQ(f->remedies.front().kind, RemedyKind::MasterWeights);
    for (int i = 0; i < 8; ++i)
        updated(run, 2, 100);
    EXPECT_EQ(run.standing(FindingKind::UpdatesLost), nullptr);
    AdvisorStream few(config);
    for (int i = 0; i < 20; ++i)
        updated(few, 9, 100);
    EXPECT_TRUE(few.silent());
    for (int i = 0; i < 8; ++i)
        updated(few, 60, 100);
    EXPECT_NE(few.standing(FindingKind::UpdatesLost), nullptr);
    few.live.config.weightStorage.master = true; // from now on they add up
    updated(few, 60, 100);
    EXPECT_EQ(few.standing(FindingKind::UpdatesLost), nullptr);
    config.weightStorage.master = true;
    AdvisorStream deferred(config);
    for (int i = 0; i < 20; ++i)
        updated(deferred, 60, 100);
    EXPECT_TRUE(deferred.silent());
}

TEST(AdvisorMemory, IsBoundedAndAllKindsHaveWords)
{
    AdvisorStream run;
    for (int i = 0; i < 200; ++i) { // the same case again and again
        run.loss(std::numeric_limits<double>::quiet_NaN());
        run.clean(50);
    }
    EXPECT_EQ(run.advisor.ended().size(), 64U);
    for (int k = 0; k < kFindingKindCount; ++k) {
        Finding f;
        f.kind = static_cast<FindingKind>(k);
        f.modules = {3, 4, 5, 6, 7};
        f.tap = 0;
        EXPECT_FALSE(findingKey(f.kind).empty());
        EXPECT_TRUE(findingText(f, run.info.modules).ends_with(".")) << findingKey(f.kind);
    }
    EXPECT_EQ(moduleList({3}, run.info.modules), "h0.attn.qkv");
    EXPECT_EQ(moduleList({3, 4}, run.info.modules), "h0.attn.qkv and h0.attn.core");
    EXPECT_EQ(moduleList({3, 4, 5, 6}, run.info.modules), "h0.attn.qkv, h0.attn.core, h0.attn.proj and h0.ln_2");
    EXPECT_EQ(moduleList({3, 4, 5, 6, 7}, run.info.modules), "h0.attn.qkv, h0.attn.core, h0.attn.proj and 2 more");
}

} // namespace
} // namespace halfscope::test
