// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/memory_estimate.h"

#include <gtest/gtest.h>

#include "engine/backend/backend_registry.h"
#include "engine/model/transformer.h"
#include "engine/train/gradient_shadow.h"
#include "engine/train/shadow_run.h"

namespace halfscope::test {

TEST(MemoryEstimate, IsWhatAModelHolds)
{
    const auto backend = makeBackend("cpu", 1);
    for (const bool preNorm : {true, false}) {
        for (const bool tied : {false, true}) {
            for (const PrecisionPreset& preset : precisionPresets()) {
                TransformerConfig config;
                config.vocabulary = 37;
                config.width = 24;
                config.depth = 3;
                config.heads = 3;
                config.context = 10;
                config.batch = 2;
                config.preNorm = preNorm;
                config.tiedHead = tied;
                PrecisionPlan plan = makePlan(preset.key, listModules(config)).value();
                plan[3] = FormatId::Bf16; // one module by itself
                Transformer model(*backend, config, plan, 1);
                for (const WeightStorage storage :
                     {WeightStorage{}, WeightStorage{.master = false},
                      WeightStorage{.master = false, .momentsAsWeights = false}, WeightStorage{}}) {
                    model.setWeightStorage(storage);
                    const MemoryUse want = model.memory();
                    const MemoryUse got = modelMemory(config, plan, storage);
                    EXPECT_TRUE(got == want)
                        << preset.key << (preNorm ? " pre" : " post") << (tied ? " tied" : "")
                        << (storage.master ? "" : " without masters") << ": weights " << got.weights << " for "
                        << want.weights << ", gradients " << got.gradients << " for " << want.gradients << ", moments "
                        << got.moments << " for " << want.moments << ", activations " << got.activations << " for "
                        << want.activations;
                    EXPECT_EQ(got.total(), static_cast<double>(model.bytes()));
                }
            }
        }
    }
}

TEST(MemoryEstimate, CountsTheFp32ModelsAlongside)
{
    const auto backend = makeBackend("cpu", 1);
    for (const bool tied : {false, true}) {
        TransformerConfig config;
        config.vocabulary = 37;
        config.width = 24;
        config.depth = 2;
        config.heads = 3;
        config.context = 10;
        config.batch = 2;
        config.tiedHead = tied;
        const Transformer run(*backend, config, makePlan("mixed-fp16", listModules(config)).value(), 1);
        const GradientShadow shadow(*backend, run);
        EXPECT_EQ(gradientShadowBytes(config), static_cast<double>(shadow.bytes()));
        const ShadowRun alongside(*backend, run, 1);
        EXPECT_EQ(shadowRunBytes(config), static_cast<double>(alongside.bytes()));
    }
}

TEST(MemoryEstimate, HalvesWithoutMasterWeights)
{
    TransformerConfig config;
    config.vocabulary = 100;
    const std::vector<ModuleInfo> modules = listModules(config);
    double parameters = 0;
    for (const ModuleInfo& m : modules)
        parameters += static_cast<double>(m.parameters);
    const PrecisionPlan pure = makePlan("pure-fp16", modules).value();
    const MemoryUse with = modelMemory(config, pure);
    EXPECT_EQ(with.weights, 6 * parameters); // FP32 and an FP16 copy
    EXPECT_EQ(with.gradients, 2 * parameters);
    EXPECT_EQ(with.moments, 8 * parameters);
    const MemoryUse without = modelMemory(config, pure, {.master = false});
    EXPECT_EQ(without.weights, 2 * parameters);
    EXPECT_EQ(without.moments, 4 * parameters);
    EXPECT_EQ(without.activations, with.activations);
}

TEST(MemoryEstimate, OfClassifiers)
{
    const auto backend = makeBackend("cpu", 1);
    for (const bool preNorm : {true, false}) {
        for (const int patches : {0, 4, 9}) { // text, image and text, image
            for (const bool pretraining : {false, true}) {
                if (pretraining && patches > 0)
                    continue;
                for (const PrecisionPreset& preset : precisionPresets()) {
                    TransformerConfig config;
                    config.vocabulary = patches < 9 ? 37 : 0;
                    config.width = 24;
                    config.depth = 2;
                    config.heads = 3;
                    config.patches = patches;
                    config.patchWidth = patches > 0 ? 7 : 0;
                    config.context = 9;
                    config.classes = 5;
                    config.batch = 3;
                    config.preNorm = preNorm;
                    config.pretraining = pretraining;
                    PrecisionPlan plan = makePlan(preset.key, listModules(config)).value();
                    plan[0] = FormatId::Bf16; // one module by itself
                    Transformer model(*backend, config, plan, 1);
                    EXPECT_EQ(modelBytes(config, plan), static_cast<double>(model.bytes()))
                        << preset.key << (preNorm ? " pre " : " post ") << patches;
                    if (pretraining) {
                        model.swapHead(2);
                        EXPECT_EQ(modelBytes(model.config(), plan), static_cast<double>(model.bytes()));
                    }
                }
            }
        }
    }
}

} // namespace halfscope::test
