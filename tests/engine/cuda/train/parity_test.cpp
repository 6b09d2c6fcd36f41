// SPDX-License-Identifier: GPL-3.0-or-later
// Whole training steps on the stand-in against the CPU backend: the same outcomes, the same losses up to rounding.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/backend/backend_registry.h"
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/model/transformer.h"
#include "engine/train/trainer.h"
#include "simt.h"
#include "standin_runtime.h"
#include "tests/engine/train/small_run.h"
#include "tests/support/moved_weights.h"

namespace halfscope::test {
namespace {

RunConfig tinyRun(const std::string& backend, const std::string& precision)
{
    static const bool replaced = [] {
        replaceBackend({"cuda", "CUDA", true, ""}, [](int) { return std::make_unique<cuda::CudaBackend>(); });
        return true;
    }();
    EXPECT_TRUE(replaced);
    RunConfig config = smallRun();
    config.backend = backend;
    config.precision = precision;
    config.model.width = 24;
    config.model.context = 12;
    config.model.batch = 2;
    config.threads = 1;
    return config;
}

std::vector<float> weights(Trainer& trainer)
{
    std::vector<float> all;
    for (const Parameter& p : trainer.model().parameters()) {
        std::vector<float> values(static_cast<std::size_t>(p.master.size()));
        trainer.backend().download(p.master, values);
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

// What the losses and gradient norms of a run may differ by, step by step: support/moved_weights.h.
struct Allowed {
    std::vector<Scatter> loss;
    std::vector<Scatter> gradNorm;
};

Allowed allowedFor(const RunConfig& config, FormatId narrowest, std::size_t steps)
{
    std::vector<StepRecord> plain;
    Trainer unmoved(config);
    for (std::size_t i = 0; i < steps; ++i)
        plain.push_back(unmoved.step().record);
    Allowed allowed{std::vector<Scatter>(steps), std::vector<Scatter>(steps)};
    for (int run = 1; run <= kMovedRuns; ++run) {
        Trainer moved(config);
        moveWeights(moved.backend(), moved.model(), narrowest, static_cast<std::uint64_t>(run));
        for (std::size_t i = 0; i < steps; ++i) {
            const StepRecord record = moved.step().record;
            allowed.loss[i].add(record.loss, plain[i].loss);
            allowed.gradNorm[i].add(record.gradNorm, plain[i].gradNorm);
        }
    }
    return allowed;
}

void expectClose(const Allowed& allowed, std::size_t step, const StepRecord& a, const StepRecord& b,
                 const std::string& what)
{
    EXPECT_NEAR(a.loss, b.loss, allowed.loss[step].allowed()) << what;
    EXPECT_NEAR(a.gradNorm, b.gradNorm, allowed.gradNorm[step].allowed()) << what;
    // And the yardstick is no longer than it may be: a lost layer's gradients show.
    EXPECT_LT(allowed.gradNorm[step].allowed(), 0.05 * a.gradNorm) << what;
}

struct Case {
    const char* precision;
    FormatId narrowest;
};
const Case kCases[] = {{"fp32", FormatId::Fp32},
                       {"mixed-fp16", FormatId::Fp16},
                       {"mixed-bf16", FormatId::Bf16},
                       {"pure-fp16", FormatId::Fp16}};

TEST(Parity, StepsAreTheCpuBackendsUpToRounding)
{
    for (const Case& c : kCases) {
        Trainer host(tinyRun("cpu", c.precision));
        Trainer device(tinyRun("cuda", c.precision));
        constexpr std::size_t kSteps = 3;
        const Allowed allowed = allowedFor(tinyRun("cpu", c.precision), c.narrowest, kSteps);
        for (std::size_t step = 0; step < kSteps; ++step) {
            const StepRecord a = host.step().record;
            const StepRecord b = device.step().record;
            const std::string what = std::string(c.precision) + ", step " + std::to_string(step + 1);
            EXPECT_EQ(a.outcome, b.outcome) << what;
            EXPECT_EQ(a.foundInf, b.foundInf) << what;
            EXPECT_EQ(a.scale, b.scale) << what;
            EXPECT_EQ(a.scaleNext, b.scaleNext) << what;
            expectClose(allowed, step, a, b, what);
        }
    }
}

TEST(Parity, OptionsOfTheModelTooAreTheCpuBackends)
{
    for (const char* change : {"post-norm", "tied", "relu", "dropout"}) {
        RunConfig configs[2] = {tinyRun("cpu", "mixed-fp16"), tinyRun("cuda", "mixed-fp16")};
        for (RunConfig& config : configs) {
            const std::string what = change;
            config.model.preNorm = what != "post-norm";
            config.model.tiedHead = what == "tied";
            config.model.activation = what == "relu" ? Activation::Relu : Activation::Gelu;
            config.model.dropout = what == "dropout" ? 0.1F : 0.0F;
        }
        Trainer host(configs[0]);
        Trainer device(configs[1]);
        constexpr std::size_t kSteps = 2;
        const Allowed allowed = allowedFor(configs[0], FormatId::Fp16, kSteps);
        for (std::size_t step = 0; step < kSteps; ++step) {
            const StepRecord a = host.step().record;
            const StepRecord b = device.step().record;
            EXPECT_EQ(a.outcome, b.outcome) << change;
            expectClose(allowed, step, a, b, change);
        }
    }
}

// From a scale far too high down to one that holds: every skip, its culprit and every scale are the same.
TEST(Parity, SkipsAndScalesAreTheCpuBackends)
{
    RunConfig configs[2] = {tinyRun("cpu", "mixed-fp16"), tinyRun("cuda", "mixed-fp16")};
    for (RunConfig& config : configs) {
        config.scaler.initialScale = 0x1p30F;
        config.scaler.backoffFactor = 0x1p-4F;
        config.scaler.growthInterval = 2;
    }
    Trainer host(configs[0]);
    Trainer device(configs[1]);
    int skips = 0;
    for (int step = 1; step <= 8; ++step) {
        const StepRecord a = host.step().record;
        const StepRecord b = device.step().record;
        EXPECT_EQ(a.outcome, b.outcome) << step;
        EXPECT_EQ(a.foundInf, b.foundInf) << step;
        EXPECT_EQ(a.scale, b.scale) << step;
        EXPECT_EQ(a.scaleNext, b.scaleNext) << step;
        EXPECT_EQ(a.overflowModule, b.overflowModule) << step;
        EXPECT_EQ(a.overflowTap, b.overflowTap) << step;
        skips += a.outcome == StepOutcome::SkippedOverflow ? 1 : 0;
    }
    EXPECT_GT(skips, 1);
    EXPECT_LT(skips, 8);
}

// What a tap counted: as many values, and those that decide the step in the same classes.
TEST(Parity, TapsCountTheSameValues)
{
    Trainer host(tinyRun("cpu", "mixed-fp16"));
    Trainer device(tinyRun("cuda", "mixed-fp16"));
    const SnapshotPtr a = host.step().snapshot;
    const SnapshotPtr b = device.step().snapshot;
    ASSERT_NE(a, nullptr);
    ASSERT_NE(b, nullptr);
    ASSERT_EQ(a->taps.size(), b->taps.size());
    for (std::size_t i = 0; i < a->taps.size(); ++i) {
        const TapStatistics& x = a->taps[i];
        const TapStatistics& y = b->taps[i];
        EXPECT_EQ(x.format, y.format);
        EXPECT_EQ(x.statistics.count(), y.statistics.count());
        for (const ValueClass each : {ValueClass::Saturating, ValueClass::Inf, ValueClass::NaN})
            EXPECT_EQ(x.statistics.classes[each], y.statistics.classes[each]);
    }
}

// FP8 on a device that multiplies it natively: the stand-in's two libraries add in the same order, so whole steps must
// give the same bits whether the products are native or emulated.
TEST(Parity, StepsInFp8AreTheSameNativeAndEmulated)
{
    RunConfig config = tinyRun("cuda", "fp8");
    config.model.width = 32;
    config.model.context = 8; // 16 tokens
    std::vector<float> first;
    for (const int capability : {80, 89}) {
        standin::reset();
        standin::setCapability(capability);
        Trainer trainer(config);
        for (int step = 0; step < 3; ++step)
            trainer.step();
        EXPECT_EQ(standin::calls("cublasLtMatmul") > 0, capability == 89);
        const std::vector<float> got = weights(trainer);
        if (first.empty())
            first = got;
        const bool same = got == first;
        EXPECT_TRUE(same);
    }
    standin::reset();
}

TEST(Parity, TheOrderOfThreadsAndBlocksChangesNothing)
{
    const simt::Options before = simt::options();
    std::vector<float> first;
    for (const simt::Order order : {simt::Order::Forward, simt::Order::Reverse, simt::Order::Shuffled}) {
        simt::options().order = order;
        Trainer trainer(tinyRun("cuda", "mixed-fp16"));
        for (int step = 0; step < 2; ++step)
            trainer.step();
        const std::vector<float> got = weights(trainer);
        if (first.empty())
            first = got;
        const bool same = got == first;
        EXPECT_TRUE(same);
    }
    simt::options() = before;
}

} // namespace
} // namespace halfscope::test
