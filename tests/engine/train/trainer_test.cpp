// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <set>

#include "engine/core/cpu_features.h"
#include "engine/model/transformer.h"
#include "engine/train/optimizer.h"
#include "engine/train/settings_registry.h"
#include "tests/engine/train/task_support.h"

namespace halfscope {
namespace {

TEST(Trainer, LearnsTheGeneratedText)
{
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    Trainer trainer(config);
    double first = 0;
    double last = 0;
    for (int i = 0; i < 150; ++i) {
        const StepRecord& r = trainer.step().record;
        if (i < 10)
            first += r.loss / 10;
        if (i >= 140)
            last += r.loss / 10;
    }
    // At the start every character is about equally likely: the loss is close to the logarithm of their number.
    EXPECT_NEAR(first, std::log(trainer.info().data.vocabulary), 0.7);
    EXPECT_LT(last, first - 0.7);
}

// The best end-to-end test of the whole chain of scaling: with FP32 modules a power of two goes through every operation
// exactly, so the scale cannot be seen in the result.
TEST(Trainer, Fp32TrainingIsBitIdenticalForEveryPowerOfTwoScale)
{
    std::vector<std::vector<float>> reference;
    std::vector<double> losses;
    for (const int exponent : {0, -20, -8, 1, 8, 16, 24, 40}) {
        RunConfig config = smallRun();
        config.precision = "fp32";
        config.scaler.dynamic = false;
        config.scaler.initialScale = std::ldexp(1.0, exponent);
        Trainer trainer(config);
        std::vector<double> now;
        for (int i = 0; i < 12; ++i) {
            const StepRecord& r = trainer.step().record;
            ASSERT_EQ(r.outcome, StepOutcome::Applied) << exponent;
            now.push_back(r.loss);
            now.push_back(r.gradNorm);
        }
        if (reference.empty()) {
            reference = stateBits(trainer);
            losses = now;
        }
        EXPECT_TRUE(sameBits(stateBits(trainer), reference)) << "scale 2^" << exponent;
        EXPECT_EQ(now, losses) << "scale 2^" << exponent;
    }
}

TEST(Trainer, BitIdenticalForAnyThreadsAndInstructionSet)
{
    std::vector<std::vector<float>> reference;
    std::vector<StepRecord> records;
    std::vector<TensorStatistics> statistics;
    for (const SimdLevel level : {SimdLevel::Portable, SimdLevel::Avx2, SimdLevel::Avx512}) {
        if (level > bestSimdLevel())
            continue;
        setSimdLevel(level);
        for (const int threads : {1, 2, 3}) {
            RunConfig config = smallRun();
            config.precision = "mixed-fp16";
            config.threads = threads;
            config.model.dropout = 0.1F;
            Trainer trainer(config);
            std::vector<StepRecord> now;
            std::vector<TensorStatistics> taps;
            for (int i = 0; i < 6; ++i) {
                const Trainer::StepResult& r = trainer.step();
                now.push_back(r.record);
                for (const TapStatistics& t : r.snapshot->taps)
                    taps.push_back(t.statistics);
            }
            if (reference.empty()) {
                reference = stateBits(trainer);
                records = now;
                statistics = taps;
            }
            EXPECT_TRUE(sameBits(stateBits(trainer), reference))
                << simdLevelName(level) << ", " << threads << " threads";
            for (std::size_t i = 0; i < now.size(); ++i) {
                EXPECT_EQ(now[i].loss, records[i].loss);
                EXPECT_EQ(now[i].gradNorm, records[i].gradNorm);
            }
            ASSERT_EQ(taps.size(), statistics.size());
            for (std::size_t i = 0; i < taps.size(); ++i) {
                EXPECT_EQ(taps[i].classes, statistics[i].classes);
                EXPECT_EQ(taps[i].histogram, statistics[i].histogram);
                EXPECT_EQ(taps[i].sum, statistics[i].sum);
                EXPECT_EQ(taps[i].sumSquares, statistics[i].sumSquares);
            }
        }
    }
    setSimdLevel(bestSimdLevel());
}

TEST(Trainer, ASkippedStepLeavesEverythingUntouched)
{
    for (const char* precision : {"mixed-fp16", "pure-fp16"}) {
        RunConfig config = smallRun();
        config.precision = precision;
        config.optimizer.schedule = LearningRateSchedule::WarmupCosine;
        config.optimizer.warmupSteps = 10;
        Trainer trainer(config);
        for (int i = 0; i < 3; ++i)
            ASSERT_EQ(trainer.step().record.outcome, StepOutcome::Applied);
        const auto before = stateBits(trainer);
        const float rate = trainer.live().learningRate;
        ASSERT_EQ(trainer.apply(InjectSpike{"h0.mlp.fc", 0x1p30, false}).kind, EventKind::Injected);
        const Trainer::StepResult& r = trainer.step();
        EXPECT_EQ(r.record.outcome, StepOutcome::SkippedOverflow);
        EXPECT_TRUE(r.record.foundInf);
        EXPECT_EQ(r.record.appliedSteps, 3);
        EXPECT_EQ(r.record.skippedSteps, 1);
        EXPECT_EQ(r.record.scaleNext, r.record.scale / 2);
        EXPECT_TRUE(sameBits(stateBits(trainer), before));
        EXPECT_EQ(trainer.live().learningRate, rate);
        ASSERT_GE(r.record.overflowModule, 0);
        EXPECT_EQ(trainer.info().modules[static_cast<std::size_t>(r.record.overflowModule)].name, "h0.mlp.fc");
        EXPECT_EQ(r.record.overflowTap, static_cast<int>(Tap::ActivationGrad));
        ASSERT_FALSE(r.events.empty());
        EXPECT_EQ(r.events.front().kind, EventKind::Overflow);
        EXPECT_GT(r.events.front().count, 0U);
        EXPECT_EQ(trainer.step().record.outcome, StepOutcome::Applied) << "the spike is for one step";
    }
}

TEST(Trainer, EveryModuleWithAGradientCanBeTheCulprit)
{
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    Trainer trainer(config);
    trainer.step();
    for (const ModuleInfo& m : trainer.info().modules) {
        for (const bool weight : {false, true}) {
            const int id = trainer.model().moduleId(m.name);
            if (!trainer.model().hasTap(id, weight ? Tap::WeightGrad : Tap::ActivationGrad))
                continue;
            // 2^100 makes any gradient overflow FP16; FP32 needs a second factor from the scale.
            trainer.apply(SetScale{0x1p16});
            ASSERT_EQ(trainer.apply(InjectSpike{m.name, 3e38, weight}).kind, EventKind::Injected) << m.name;
            const StepRecord& r = trainer.step().record;
            if (r.outcome == StepOutcome::Applied)
                continue; // FP32 values so small that even this factor keeps them finite
            ASSERT_EQ(r.outcome, StepOutcome::SkippedOverflow) << m.name;
            const std::string culprit = trainer.info().modules[static_cast<std::size_t>(r.overflowModule)].name;
            EXPECT_EQ(culprit, m.name);
        }
    }
}

// With a tied head the embedding's gradient is a sum of two. Its rounding decides found_inf, so it is there that it is
// counted: a skip always has a culprit with a count.
TEST(Trainer, ATiedHeadsSumIsCountedWhereItIsRounded)
{
    RunConfig config = smallRun();
    config.model.tiedHead = true;
    config.precision = "mixed-fp16";
    config.modulePrecision = {{"tok_emb", FormatId::Fp16}, {"lm_head", FormatId::Fp16}};
    config.scaler.initialScale = 1;
    config.scaler.dynamic = false;
    Trainer trainer(config);
    int skips = 0;
    for (int exponent = 0; exponent <= 40 && skips < 3; ++exponent) {
        trainer.apply(SetScale{std::ldexp(1.0, exponent)});
        const Trainer::StepResult& r = trainer.step();
        ASSERT_NE(r.snapshot, nullptr);
        double squares = 0;
        for (const TapStatistics& tap : r.snapshot->taps) {
            const bool partial = trainer.info().modules[static_cast<std::size_t>(tap.module)].name == "lm_head";
            if (tap.tap == Tap::WeightGrad && !partial)
                squares += tap.statistics.sumSquares;
        }
        if (!r.record.foundInf) {
            // The clean norm is that of what was rounded: FP16's half ulp, 2^-11, relative, and what is subnormal.
            EXPECT_NEAR(r.record.gradNorm, std::sqrt(squares), 0x1p-10 * r.record.gradNorm + 1e-3) << exponent;
            continue;
        }
        ++skips;
        const auto overflow = std::ranges::find(r.events, EventKind::Overflow, &Event::kind);
        ASSERT_NE(overflow, r.events.end());
        EXPECT_GT(overflow->count, 0U) << overflow->text;
    }
    EXPECT_EQ(skips, 3);
}

TEST(Trainer, UnmeasuredSkipsStillNameTheirTensorAndCount)
{
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    config.statisticsInterval = 10;
    Trainer sparse(config);
    config.statisticsInterval = 1;
    Trainer dense(config);
    for (int i = 0; i < 4; ++i) {
        if (i == 3) {
            sparse.apply(InjectSpike{"h1.attn.proj", 0x1p24, false});
            dense.apply(InjectSpike{"h1.attn.proj", 0x1p24, false});
        }
        const Trainer::StepResult& a = sparse.step();
        const Trainer::StepResult& b = dense.step();
        EXPECT_EQ(a.record.loss, b.record.loss);
        if (i == 3) {
            ASSERT_FALSE(a.events.empty());
            EXPECT_EQ(a.events.front().text, b.events.front().text);
            EXPECT_GT(a.events.front().count, 0U);
        } else {
            EXPECT_EQ(a.snapshot != nullptr, i == 0);
        }
    }
    EXPECT_TRUE(sameBits(stateBits(sparse), stateBits(dense)));
}

TEST(Trainer, BiasCorrectionIsRightWhenTheRunStartsWithSkips)
{
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    config.optimizer.clipNorm = 0;
    config.optimizer.weightDecay = 0;
    config.scaler.initialScale = 0x1p60; // overflows many times before the first applied step
    Trainer trainer(config);
    const auto before = stateBits(trainer);
    int skips = 0;
    while (trainer.step().record.outcome != StepOutcome::Applied)
        ++skips;
    ASSERT_GT(skips, 10);
    // Adam's first update moves each weight by learningRate * g / (|g| + eps'), so by almost exactly the rate wherever
    // |g| is well above eps; t counted wrongly would give another size.
    const auto after = stateBits(trainer);
    const double rate = config.optimizer.learningRate;
    int checked = 0;
    for (std::size_t i = 0; i < after.size(); i += 3) {
        for (std::size_t j = 0; j < after[i].size(); ++j) {
            const double g = static_cast<double>(after[i + 1][j]) / 0.1; // moment1 = (1 - beta1) g
            if (std::abs(g) < 1e-3)
                continue;
            const double moved = std::abs(static_cast<double>(after[i][j]) - static_cast<double>(before[i][j]));
            EXPECT_NEAR(moved, rate, rate * 1e-4 + 2 * std::abs(static_cast<double>(before[i][j])) * 0x1p-24);
            ++checked;
        }
    }
    EXPECT_GT(checked, 100);
}

TEST(Trainer, PrecisionChangesAtAnyStepWithoutTouchingMastersOrMoments)
{
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    Trainer trainer(config);
    trainer.step();
    const auto before = stateBits(trainer);
    for (const char* value : {"fp32", "bf16", "fp16"}) {
        const Event e = trainer.apply(SetSetting{"precision.h0.mlp.fc", value});
        EXPECT_EQ(e.kind, EventKind::Command) << e.text;
        EXPECT_TRUE(sameBits(stateBits(trainer), before));
    }
    for (const char* value : {"fp32", "mixed-bf16", "pure-fp16", "mixed-fp16"}) {
        EXPECT_EQ(trainer.apply(SetSetting{"precision", value}).kind, EventKind::Command);
        EXPECT_TRUE(sameBits(stateBits(trainer), before));
        const StepRecord& r = trainer.step().record;
        EXPECT_TRUE(std::isfinite(r.loss)) << value;
        EXPECT_NEAR(r.loss, std::log(trainer.info().data.vocabulary), 1.0) << value;
        trainer.apply(SetSetting{"learning-rate", "1e-3"});
        if (r.outcome == StepOutcome::Applied)
            break;
    }
    EXPECT_EQ(trainer.apply(SetSetting{"precision.nonsense", "fp16"}).kind, EventKind::Rejected);
    EXPECT_EQ(trainer.apply(SetSetting{"precision.loss", "fp16"}).kind, EventKind::Rejected);
}

// What only a restart can change must leave the run that goes on alone.
TEST(Trainer, SettingsThatAreNotLiveWaitForTheRestart)
{
    RunConfig config = smallRun();
    config.model.dropout = 0.1F;
    Trainer plain(config);
    Trainer edited(config);
    for (int i = 0; i < 4; ++i) {
        if (i == 1) {
            for (const auto& [key, value] : {std::pair{"batch", "64"},
                                             {"context", "8"},
                                             {"width", "64"},
                                             {"depth", "3"},
                                             {"seed", "77"},
                                             {"dropout", "0.5"},
                                             {"threads", "1"},
                                             {"initial-scale", "8"}})
                ASSERT_EQ(edited.apply(SetSetting{key, value}).kind, EventKind::Command) << key;
        }
        EXPECT_EQ(plain.step().record.loss, edited.step().record.loss) << i;
    }
    EXPECT_TRUE(sameBits(stateBits(plain), stateBits(edited)));
    EXPECT_EQ(edited.live().config.model.batch, 64);
    EXPECT_EQ(edited.live().config.seed, 77U);
    EXPECT_EQ(edited.info().config.seed, config.seed);
}

TEST(Trainer, FormatThereAndBackGivesTheSameBits)
{
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    Trainer plain(config);
    Trainer switched(config);
    for (int i = 0; i < 3; ++i) {
        plain.step();
        switched.step();
    }
    switched.apply(SetSetting{"precision", "pure-fp16"});
    switched.apply(SetSetting{"precision", "mixed-fp16"});
    for (int i = 0; i < 3; ++i) {
        plain.step();
        switched.step();
    }
    EXPECT_TRUE(sameBits(stateBits(plain), stateBits(switched)));
}

TEST(Trainer, EveryPrecisionAndShapeTrains)
{
    for (const char* precision : {"fp32", "mixed-fp16", "mixed-bf16", "pure-fp16"}) {
        for (const bool preNorm : {true, false}) {
            for (const bool tied : {true, false}) {
                RunConfig config = smallRun();
                config.precision = precision;
                config.model.preNorm = preNorm;
                config.model.tiedHead = tied;
                config.model.dropout = tied ? 0.1F : 0.0F;
                config.model.activation = preNorm ? Activation::Gelu : Activation::Relu;
                config.measureActivations = true;
                Trainer trainer(config);
                double first = trainer.step().record.loss;
                double last = first;
                for (int i = 0; i < 40; ++i)
                    last = trainer.step().record.loss;
                EXPECT_LT(last, first) << precision << " pre-norm " << preNorm << " tied " << tied;
                std::int64_t counted = 0;
                const SnapshotPtr snapshot = trainer.step().snapshot;
                ASSERT_TRUE(snapshot);
                for (const TapStatistics& t : snapshot->taps) {
                    EXPECT_EQ(t.statistics.count(), t.statistics.classes.total());
                    if (t.tap == Tap::WeightGrad)
                        counted += static_cast<std::int64_t>(t.statistics.count());
                }
                const std::int64_t headTwice =
                    tied ? static_cast<std::int64_t>(trainer.info().data.vocabulary) * config.model.width : 0;
                EXPECT_EQ(counted, trainer.info().parameterCount + headTwice);
            }
        }
    }
}

TEST(Trainer, NonfiniteLossIsItsOwnOutcome)
{
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    config.scaler.initialScale = 1024;
    Trainer trainer(config);
    trainer.step();
    // A weight large enough that the head's FP16 result overflows, though the weight itself is a finite FP16 value.
    Parameter& head = trainer.model().parameters().back();
    ASSERT_EQ(head.name, "lm_head.weight");
    trainer.backend().upload(std::vector<float>(static_cast<std::size_t>(head.master.size()), 60000.0F), head.master);
    trainer.model().refreshCompute();
    Parameter& shift = trainer.model().parameters()[trainer.model().parameters().size() - 2];
    trainer.backend().upload(std::vector<float>(static_cast<std::size_t>(shift.master.size()), 50.0F), shift.master);
    const auto before = stateBits(trainer);
    const StepRecord& r = trainer.step().record;
    EXPECT_FALSE(std::isfinite(r.loss));
    EXPECT_EQ(r.outcome, StepOutcome::SkippedNonfiniteLoss);
    EXPECT_EQ(r.overflowModule, -1);
    ASSERT_GE(r.forwardSaturatedModule, 0);
    EXPECT_EQ(trainer.info().modules[static_cast<std::size_t>(r.forwardSaturatedModule)].name, "lm_head");
    EXPECT_TRUE(sameBits(stateBits(trainer), before));
}

TEST(Trainer, WhatHappensAtTheMinimumIsSelectable)
{
    for (const AtMinimum action : {AtMinimum::Skip, AtMinimum::Pause, AtMinimum::Stop, AtMinimum::Sanitise}) {
        RunConfig config = smallRun();
        config.precision = "mixed-fp16";
        config.scaler.minScale = config.scaler.initialScale = 256;
        config.scaler.atMinimum = action;
        Trainer trainer(config);
        trainer.step();
        trainer.apply(InjectSpike{"h0.mlp.proj", 0x1p40, false});
        const Trainer::StepResult& r = trainer.step();
        EXPECT_EQ(r.record.scaleNext, 256.0F);
        EXPECT_EQ(r.record.outcome,
                  action == AtMinimum::Sanitise ? StepOutcome::Applied : StepOutcome::SkippedOverflow);
        EXPECT_EQ(r.pauseRequested, action == AtMinimum::Pause);
        EXPECT_EQ(r.stopRequested, action == AtMinimum::Stop);
        for (const auto& tensor : stateBits(trainer)) {
            for (const float v : tensor)
                ASSERT_TRUE(std::isfinite(v));
        }
    }
}

// PyTorch's scale has no floor. Where it would vanish the run is held at a scale that FP32 can divide by, says so and
// pauses; it never trains on NaN in silence.
TEST(Trainer, AScaleThatVanishesIsHeldAndTheRunPauses)
{
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    config.scaler = findScalerPreset("pytorch")->config;
    config.scaler.initialScale = 1;
    config.scaler.backoffFactor = 1e-39;
    Trainer trainer(config);
    trainer.apply(InjectSpike{"lm_head", 1e30, true});
    const Trainer::StepResult* result = &trainer.step();
    ASSERT_TRUE(result->record.foundInf);
    EXPECT_TRUE(result->pauseRequested);
    EXPECT_EQ(result->record.scaleNext, 0x1p-126F);
    EXPECT_NE(result->endReason.find("divide"), std::string::npos);
    int said = 0;
    for (const Event& e : result->events)
        said += e.kind == EventKind::UnusableScale ? 1 : 0;
    EXPECT_EQ(said, 1);
    for (int i = 0; i < 3; ++i) // and it can go on
        EXPECT_TRUE(std::isfinite(trainer.step().record.loss));
}

// The initial scale only counts at a restart: it may not stand in the way of a bound for the running scale.
TEST(Trainer, ABoundMayPassTheInitialScale)
{
    RunConfig config = smallRun();
    config.scaler.initialScale = 1;
    Trainer trainer(config);
    const Event up = trainer.apply(SetSetting{"min-scale", "1048576"});
    EXPECT_EQ(up.kind, EventKind::Command) << up.text;
    EXPECT_NE(up.text.find("initial-scale follows"), std::string::npos) << up.text;
    EXPECT_EQ(trainer.live().scaler.scale, 1048576.0);
    EXPECT_EQ(trainer.apply(SetSetting{"max-scale", "1024"}).kind, EventKind::Rejected); // below the minimum
    EXPECT_EQ(trainer.live().config.scaler.initialScale, 1048576.0);
}

// Selected, a statistical rule sets the scale after each measured step to what it advises; otherwise it only advises.
TEST(Trainer, AStatisticalRuleSteersTheScale)
{
    for (const ScalerRule rule : {ScalerRule::LogNormal, ScalerRule::Preventive, ScalerRule::StabilityBand}) {
        RunConfig config = smallRun();
        config.precision = "mixed-fp16";
        config.scaler.rule = rule;
        config.scaler.initialScale = 0x1p-10;
        config.scaler.growthInterval = 1; // would double every step
        Trainer trainer(config);
        int steered = 0;
        for (int i = 0; i < 30; ++i) {
            const Trainer::StepResult& r = trainer.step();
            EXPECT_NE(r.record.scaleEvent, ScaleEvent::Grew);
            if (r.record.foundInf)
                continue;
            const double advised = trainer.live().advice.of(rule);
            ASSERT_GT(advised, 0.0);
            EXPECT_EQ(static_cast<double>(r.record.scaleNext), advised);
            if (r.record.scaleEvent == ScaleEvent::Steered) {
                ++steered;
                EXPECT_EQ(std::ranges::count(r.events, EventKind::Steered, &Event::kind), 1);
            }
        }
        EXPECT_GE(steered, 1) << scalerRuleKey(rule);
        EXPECT_GT(trainer.live().scaler.scale, 1.0) << scalerRuleKey(rule);
    }
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    config.scaler.initialScale = 8;
    Trainer trainer(config);
    EXPECT_EQ(trainer.step().record.scaleNext, 8.0F);
    EXPECT_GT(trainer.live().advice.stabilityBand, 0.0);
}

// The band judges what the scale is for: gradients in FP32 modules have no part in it, unless there are no others.
TEST(Trainer, TheStableScalesAreOfTheGradientsInNarrowFormats)
{
    for (const char* precision : {"mixed-fp16", "fp32", "mixed-bf16"}) {
        RunConfig config = smallRun();
        config.precision = precision;
        Trainer trainer(config);
        const Trainer::StepResult& r = trainer.step();
        TensorStatistics all;
        TensorStatistics narrow;
        bool found = false;
        for (const TapStatistics& tap : r.snapshot->taps) {
            if (tap.tap != Tap::WeightGrad)
                continue;
            all.merge(tap.statistics);
            if (tap.format == FormatId::Fp16 || tap.format == FormatId::Bf16) {
                narrow.merge(tap.statistics);
                found = true;
            }
        }
        const TensorStatistics& band = found ? narrow : all;
        EXPECT_EQ(found, std::string(precision) != "fp32");
        EXPECT_EQ(r.record.bandFormat, std::string(precision) == "mixed-bf16" ? FormatId::Bf16 : FormatId::Fp16);
        EXPECT_EQ(r.record.bandAbsMin, band.absMin) << precision;
        EXPECT_EQ(r.record.bandAbsMax, band.absMax) << precision;
        EXPECT_EQ(r.record.gradAbsMin, all.absMin) << precision;
        EXPECT_EQ(r.record.gradAbsMax, all.absMax) << precision;
        if (std::string(precision) == "mixed-fp16") {
            EXPECT_LT(narrow.count(), all.count());
        }
        // The quantile by counting down: fewer than its share lie in the bins below it.
        std::uint64_t below = 0;
        for (int e = ExponentHistogram::kMinExponent; std::ldexp(1.0F, e) < r.record.bandLowQuantile; ++e)
            below += band.histogram.at(e);
        const double wanted = config.lowQuantile * static_cast<double>(band.histogram.total());
        EXPECT_LT(static_cast<double>(below), wanted) << precision;
        EXPECT_GE(static_cast<double>(below + band.histogram.at(std::ilogb(r.record.bandLowQuantile))), wanted)
            << precision;
    }
}

TEST(Trainer, TooManyOverflowsInARowEndTheRun)
{
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    config.scaler = findScalerPreset("mindspore")->config;
    config.scaler.maxOverflows = 2;
    Trainer trainer(config);
    for (int step = 1; step <= 3; ++step) {
        trainer.apply(InjectSpike{"lm_head", 1e30, true});
        const Trainer::StepResult& r = trainer.step();
        ASSERT_TRUE(r.record.foundInf);
        EXPECT_EQ(r.stopRequested, step == 3);
        EXPECT_EQ(r.record.scaleEvent == ScaleEvent::TooManyOverflows, step == 3);
    }
}

// Apex's static scaler skips nothing: one overflow and the weights are lost, which HalfScope shows but does not hide.
TEST(Trainer, AStaticScaleAsApexAppliesNonfiniteGradients)
{
    RunConfig config = smallRun();
    config.precision = "mixed-fp16";
    config.scaler = findScalerPreset("static-apex")->config;
    config.scaler.initialScale = 1;
    Trainer trainer(config);
    trainer.step();
    trainer.apply(InjectSpike{"lm_head", 1e30, true});
    const Trainer::StepResult& r = trainer.step();
    EXPECT_TRUE(r.record.foundInf);
    EXPECT_EQ(r.record.outcome, StepOutcome::Applied);
    ASSERT_FALSE(r.events.empty());
    EXPECT_NE(r.events.front().text.find("weights are no longer finite"), std::string::npos) << r.events.front().text;
    EXPECT_FALSE(std::isfinite(trainer.step().record.loss));
}

TEST(Trainer, RefusesWhatCannotRunWithOneSentence)
{
    RunConfig config = smallRun();
    config.model.heads = 3; // does not divide the width
    EXPECT_THROW(Trainer{config}, std::runtime_error);
    config = smallRun();
    config.text = "no/such/file.txt";
    EXPECT_THROW(Trainer{config}, std::runtime_error);
    config = smallRun();
    config.backend = "abacus";
    EXPECT_THROW(Trainer{config}, std::runtime_error);
}

} // namespace
} // namespace halfscope
