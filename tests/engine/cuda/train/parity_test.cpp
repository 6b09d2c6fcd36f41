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
#include "tests/engine/train/small_run.h"

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

// How far two losses may lie apart when both passes round in another order. Along the longest chain of a forward pass
// an activation is rounded by every addition of every product it goes through: C of the embedding's width in qkv, d and
// T in attention, C in proj and fc, 4 C in mlp.proj, C / 16 in two norms, twice (depth 2), and C and V in head and
// softmax. Each is at most half an ulp of a partial sum; residual sums and norms keep what goes on from growing. In a
// narrow format one of two neighbours may be stored instead of the other at each of the 8 stores a block.
double lossTolerance(const RunConfig& config, FormatId narrowest)
{
    const double c = config.model.width;
    const double chain = 2.0 * (7.0 * c + config.model.context + c / 8.0) + c + 100.0;
    const double stores = narrowest == FormatId::Fp32 ? 0.0 : 2.0 * 8.0 + 2.0;
    return 2.0 * (chain * 0x1p-24 + stores * floatFormat(narrowest).epsilon / 2.0);
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
        const double tolerance = lossTolerance(tinyRun("cpu", c.precision), c.narrowest);
        for (int step = 1; step <= 3; ++step) {
            const StepRecord a = host.step().record;
            const StepRecord b = device.step().record;
            const std::string what = std::string(c.precision) + ", step " + std::to_string(step);
            EXPECT_EQ(a.outcome, b.outcome) << what;
            EXPECT_EQ(a.foundInf, b.foundInf) << what;
            EXPECT_EQ(a.scale, b.scale) << what;
            EXPECT_EQ(a.scaleNext, b.scaleNext) << what;
            EXPECT_NEAR(a.loss, b.loss, tolerance * a.loss) << what;
            // The norm of gradients that went the same way back; its chains are as long again.
            EXPECT_NEAR(a.gradNorm, b.gradNorm, 4.0 * tolerance * a.gradNorm) << what;
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
        const double tolerance = lossTolerance(configs[0], FormatId::Fp16);
        for (int step = 1; step <= 2; ++step) {
            const StepRecord a = host.step().record;
            const StepRecord b = device.step().record;
            EXPECT_EQ(a.outcome, b.outcome) << change;
            EXPECT_NEAR(a.loss, b.loss, tolerance * a.loss) << change;
            EXPECT_NEAR(a.gradNorm, b.gradNorm, 4.0 * tolerance * a.gradNorm) << change;
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
