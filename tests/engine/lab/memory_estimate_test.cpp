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
                const Transformer model(*backend, config, plan, 1);
                EXPECT_EQ(modelBytes(config, plan), static_cast<double>(model.bytes()))
                    << preset.key << (preNorm ? " pre" : " post") << (tied ? " tied" : "");
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

} // namespace halfscope::test
