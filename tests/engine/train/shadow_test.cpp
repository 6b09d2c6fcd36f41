// SPDX-License-Identifier: GPL-3.0-or-later
// The FP32 shadow: it disturbs nothing, and says what two runs beside one another say.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "engine/model/transformer.h"
#include "engine/train/gradient_shadow.h"
#include "engine/train/trainer.h"
#include "tests/engine/train/small_run.h"
#include "tests/engine/train/training_state.h"

namespace halfscope {
namespace {

GradientComparison compared(const std::vector<float>& g, const std::vector<float>& s)
{
    ComparisonSums sums;
    sums.add(g, s);
    return sums.result();
}

TEST(ComparisonSums, KnownAngles)
{
    // At 45 degrees and of the same component along s: cos = 1/sqrt 2, error = 1.
    const GradientComparison c = compared({1.0F, 1.0F}, {1.0F, 0.0F});
    EXPECT_DOUBLE_EQ(c.cosine, 1.0 / std::numbers::sqrt2);
    EXPECT_DOUBLE_EQ(c.relativeError, 1.0);
    EXPECT_DOUBLE_EQ(c.norm, std::numbers::sqrt2);
    EXPECT_DOUBLE_EQ(c.shadowNorm, 1.0);
    EXPECT_DOUBLE_EQ(compared({-3.0F}, {1.0F}).cosine, -1.0);
    EXPECT_DOUBLE_EQ(compared({-3.0F}, {1.0F}).relativeError, 4.0);
    EXPECT_DOUBLE_EQ(compared({3.0F, 4.0F}, {3.0F, 4.0F}).cosine, 1.0);
    EXPECT_EQ(compared({3.0F, 4.0F}, {3.0F, 4.0F}).relativeError, 0.0);
    // Where FP32 itself would overflow or vanish.
    EXPECT_DOUBLE_EQ(compared({3e38F, 3e38F}, {3e38F, 3e38F}).cosine, 1.0);
    EXPECT_DOUBLE_EQ(compared({1e-45F}, {1e-45F}).cosine, 1.0);
}

TEST(ComparisonSums, NothingIsSaidWhereNothingIsDefined)
{
    const float inf = std::numeric_limits<float>::infinity();
    const GradientComparison nonfinite = compared({1.0F, inf}, {1.0F, 2.0F});
    EXPECT_TRUE(std::isnan(nonfinite.cosine));
    EXPECT_TRUE(std::isnan(nonfinite.relativeError));
    EXPECT_TRUE(std::isnan(compared({1.0F}, {0.0F}).relativeError));
    // All of the gradient was lost: the error is 1, and there is no direction.
    EXPECT_TRUE(std::isnan(compared({0.0F}, {2.0F}).cosine));
    EXPECT_EQ(compared({0.0F}, {2.0F}).relativeError, 1.0);
}

RunConfig shadowed(const std::string& precision)
{
    RunConfig config = smallRun();
    config.precision = precision;
    config.model.dropout = 0.1F;
    config.scaler.initialScale = 1024;
    config.scaler.growthInterval = 7;
    return config;
}

TEST(GradientShadow, DoesNotDisturbTheRun)
{
    for (const bool tied : {false, true}) {
        RunConfig plain = shadowed("mixed-fp16");
        plain.model.tiedHead = tied;
        RunConfig watched = plain;
        watched.shadowInterval = 2;
        watched.shadowRun = true;
        Trainer a(plain);
        Trainer b(watched);
        int reports = 0;
        for (int i = 0; i < 40; ++i) {
            if (i == 20) {
                for (Trainer* t : {&a, &b})
                    t->apply(InjectSpike{"lm_head", 1e9, true});
            }
            const StepRecord ra = a.step().record;
            const Trainer::StepResult& rb = b.step();
            ASSERT_EQ(ra.loss, rb.record.loss) << i;
            ASSERT_EQ(ra.outcome, rb.record.outcome);
            ASSERT_EQ(ra.scaleNext, rb.record.scaleNext);
            EXPECT_TRUE(std::isnan(ra.shadowLoss));
            EXPECT_FALSE(std::isnan(rb.record.shadowLoss));
            EXPECT_EQ(rb.shadow != nullptr, i % 2 == 0) << "every second step, the first included";
            reports += rb.shadow != nullptr ? 1 : 0;
        }
        EXPECT_EQ(reports, 20);
        EXPECT_EQ(a.live().scaler, b.live().scaler);
        EXPECT_GT(b.step().record.skippedSteps, 0) << "a skip is to be among the steps";
        const auto before = stateBits(a);
        a.step();
        EXPECT_FALSE(sameBits(before, stateBits(a))) << "the test can tell";
        EXPECT_TRUE(sameBits(stateBits(a), stateBits(b)));
    }
}

// With an all-FP32 plan and a power of two as scale, scaling is exact: the shadow is the run.
TEST(GradientShadow, OfAnFp32RunIsTheRunItself)
{
    RunConfig config = shadowed("fp32");
    config.shadowInterval = 1;
    Trainer trainer(config);
    for (int i = 0; i < 5; ++i) {
        const Trainer::StepResult& r = trainer.step();
        ASSERT_TRUE(r.shadow);
        EXPECT_EQ(r.shadow->loss, r.record.loss);
        EXPECT_EQ(r.shadow->total.relativeError, 0.0);
        EXPECT_DOUBLE_EQ(r.shadow->total.cosine, 1.0);
        EXPECT_NEAR(r.shadow->total.norm, r.record.gradNorm, 1e-12 * r.record.gradNorm);
        for (const ShadowReport::Module& m : r.shadow->modules)
            EXPECT_EQ(m.gradient.relativeError, 0.0) << trainer.info().modules[static_cast<std::size_t>(m.module)].name;
    }
}

// An independent source: a second trainer, in FP32 from the same seed, whose first step has the same weights and batch.
TEST(GradientShadow, SaysWhatTwoRunsBesideOneAnotherSay)
{
    RunConfig config = shadowed("pure-fp16");
    config.shadowInterval = 1;
    Trainer run(config);
    RunConfig reference = shadowed("fp32");
    reference.scaler.enabled = false;
    Trainer fp32(reference);

    const ShadowPtr report = run.step().shadow;
    const double loss = fp32.step().record.loss;
    EXPECT_EQ(report->loss, loss);
    const auto& parameters = run.model().parameters();
    long double total = 0;
    long double totalReference = 0;
    for (const ShadowReport::Module& m : report->modules) {
        long double dot = 0;
        long double gg = 0;
        long double rr = 0;
        long double dd = 0;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (parameters[i].module != m.module)
                continue;
            const std::vector<float> g = values(run.backend(), parameters[i].gradient); // scaled by 1024: exact
            const std::vector<float> r = values(fp32.backend(), fp32.model().parameters()[i].gradient);
            for (std::size_t k = 0; k < g.size(); ++k) {
                const long double x = static_cast<long double>(g[k]) / 1024;
                const long double y = r[k];
                dot += x * y;
                gg += x * x;
                rr += y * y;
                dd += (x - y) * (x - y);
            }
        }
        total += dd;
        totalReference += rr;
        // Sums of at most a few thousand terms in double: relative rounding below 1e-12; the cosine is within 1e-6 of
        // one, so its error is absolute.
        EXPECT_NEAR(m.gradient.cosine, static_cast<double>(dot / std::sqrt(gg * rr)), 1e-12);
        const auto error = static_cast<double>(std::sqrt(dd / rr));
        EXPECT_NEAR(m.gradient.relativeError, error, 1e-10 * error);
        EXPECT_GT(m.gradient.relativeError, 1e-5) << "FP16 rounds";
        EXPECT_LT(m.gradient.relativeError, 0.2);
    }
    const auto error = static_cast<double>(std::sqrt(total / totalReference));
    EXPECT_NEAR(report->total.relativeError, error, 1e-10 * error);
}

TEST(GradientShadow, SeesGradientsThatAreLost)
{
    RunConfig config = shadowed("mixed-fp16");
    config.shadowInterval = 1;
    config.scaler.dynamic = false;
    config.scaler.initialScale = 0x1p-14; // nearly everything is flushed
    Trainer low(config);
    config.scaler.initialScale = 0x1p10;
    Trainer good(config);
    const ShadowPtr lost = low.step().shadow;
    const ShadowPtr kept = good.step().shadow;
    EXPECT_GT(lost->total.relativeError, 0.5);
    EXPECT_LT(kept->total.relativeError, 0.05);
    EXPECT_GT(kept->total.cosine, 0.999);
}

TEST(GradientShadow, CanBeTurnedOnAndOffAndCountsItsMemory)
{
    Trainer trainer(shadowed("mixed-fp16"));
    EXPECT_EQ(trainer.live().shadowBytes, 0.0);
    EXPECT_FALSE(trainer.step().shadow);
    EXPECT_EQ(trainer.apply(SetSetting{"shadow-interval", "1"}).kind, EventKind::Command);
    const Trainer::StepResult& on = trainer.step();
    EXPECT_TRUE(on.shadow);
    EXPECT_GT(on.record.shadowMs, 0.0F);
    EXPECT_GT(trainer.live().shadowBytes, 4.0 * static_cast<double>(trainer.info().parameterCount));
    EXPECT_EQ(trainer.apply(SetSetting{"shadow-interval", "0"}).kind, EventKind::Command);
    EXPECT_FALSE(trainer.step().shadow);
    EXPECT_EQ(trainer.live().shadowBytes, 0.0);
}

TEST(ShadowRun, IsTheFp32RunOfTheSameSeed)
{
    RunConfig config = shadowed("pure-fp16");
    config.shadowRun = true;
    Trainer run(config);
    RunConfig reference = shadowed("fp32");
    reference.scaler.enabled = false;
    Trainer fp32(reference);
    bool differs = false;
    for (int i = 0; i < 30; ++i) {
        const StepRecord r = run.step().record;
        const StepRecord f = fp32.step().record;
        if (i == 10) {
            for (Trainer* t : {&run, &fp32}) {
                t->apply(SetSetting{"learning-rate", "0.001"});
                t->apply(InjectLearningRateJump{3.0});
                t->apply(InjectBadBatch{});
            }
        }
        EXPECT_EQ(r.shadowLoss, f.loss) << "step " << i + 1;
        differs = differs || r.loss != f.loss;
    }
    EXPECT_TRUE(differs);
}

// A language model that becomes a classifier on the way, with a learning rate that rises and falls across the swap.
RunConfig swapping(const std::string& precision)
{
    RunConfig config = shadowed(precision);
    config.task = "brackets";
    config.model.batch = 8;
    config.pretrainSteps = 6;
    config.validationInterval = 0;
    config.optimizer.schedule = LearningRateSchedule::WarmupCosine;
    config.optimizer.warmupSteps = 4;
    config.optimizer.decaySteps = 12;
    return config;
}

constexpr int kSwappingSteps = 14;

// In FP32 with a power of two as scale both shadows are the run, before the swap and after it.
TEST(Shadows, OfAnFp32RunAreTheRunItselfAcrossTheHeadSwap)
{
    RunConfig config = swapping("fp32");
    config.shadowInterval = 1;
    config.shadowRun = true;
    Trainer trainer(config);
    for (int step = 1; step <= kSwappingSteps; ++step) {
        const Trainer::StepResult& r = trainer.step();
        EXPECT_EQ(r.headSwapped, step == 7);
        EXPECT_EQ(r.record.outcome, StepOutcome::Applied);
        EXPECT_EQ(r.record.shadowLoss, r.record.loss) << "step " << step;
        ASSERT_TRUE(r.shadow);
        EXPECT_EQ(r.shadow->loss, r.record.loss) << "step " << step;
        EXPECT_EQ(r.shadow->total.relativeError, 0.0) << "step " << step;
        EXPECT_EQ(r.shadow->modules.size(), 16U) << "two embeddings, 2 x 6 in the blocks, final norm, head; all but "
                                                    "attention's core, pool and loss have weights";
    }
}

TEST(Shadows, DoNotDisturbARunWhoseHeadIsSwapped)
{
    RunConfig plain = swapping("mixed-fp16");
    RunConfig watched = plain;
    watched.shadowInterval = 2;
    watched.shadowRun = true;
    RunConfig reference = swapping("fp32");
    reference.scaler.enabled = false;
    Trainer a(plain);
    Trainer b(watched);
    Trainer fp32(reference);
    for (int step = 1; step <= kSwappingSteps; ++step) {
        if (step == 9) { // a step that the run skips, and its shadow does not
            for (Trainer* t : {&a, &b})
                t->apply(InjectSpike{"head", 1e9, true});
        }
        const double loss = a.step().record.loss;
        const Trainer::StepResult& r = b.step();
        EXPECT_EQ(r.record.loss, loss) << "step " << step;
        EXPECT_EQ(r.record.outcome == StepOutcome::Applied, step != 9);
        EXPECT_EQ(r.record.shadowLoss, fp32.step().record.loss) << "step " << step;
        ASSERT_EQ(r.shadow != nullptr, step % 2 == 1);
        if (r.shadow && step != 9) {
            // FP16 rounds to 2^-11 relative; a cosine this near 1 shows that both computed the same gradient.
            EXPECT_GT(r.shadow->total.cosine, 0.99) << "step " << step;
        }
    }
    EXPECT_TRUE(sameBits(stateBits(a), stateBits(b)));
}

} // namespace
} // namespace halfscope
