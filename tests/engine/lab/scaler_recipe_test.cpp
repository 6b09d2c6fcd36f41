// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/scaler_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/io/json_text.h"

namespace halfscope {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const ScalerConfig& preset(std::string_view key) { return findScalerPreset(key)->config; }

std::string differences(RecipeFor target, const ScalerConfig& config)
{
    std::string all;
    for (const std::string& one : scalerRecipe(target, config).differences)
        all += one + "; ";
    return all;
}

TEST(ScalerRecipe, EachSystemTakesItsOwnPresetWithoutDifferences)
{
    EXPECT_EQ(differences(RecipeFor::PyTorch, preset("pytorch")), "");
    EXPECT_EQ(differences(RecipeFor::DeepSpeed, preset("deepspeed")), "");
    EXPECT_EQ(differences(RecipeFor::Megatron, preset("megatron")), "");
    EXPECT_EQ(differences(RecipeFor::Keras, preset("keras3")), "");
    EXPECT_EQ(differences(RecipeFor::Flax, preset("flax")), "");
    for (const RecipeTarget& target : recipeTargets())
        for (const char* key : {"off", "static"})
            EXPECT_THAT(scalerRecipe(target.target, preset(key)).text, testing::EndsWith("\n")) << target.key << key;
}

TEST(ScalerRecipe, PyTorchCode)
{
    EXPECT_EQ(scalerRecipe(RecipeFor::PyTorch, preset("pytorch")).text,
              "import torch\n\nscaler = torch.amp.GradScaler(\n    \"cuda\",\n    init_scale=65536.0,\n"
              "    growth_factor=2.0,\n    backoff_factor=0.5,\n    growth_interval=2000,\n)\n");
    ScalerConfig c = preset("pytorch");
    c.growthFactor = 1.5;
    c.initialScale = 1e30;
    EXPECT_THAT(scalerRecipe(RecipeFor::PyTorch, c).text, HasSubstr("init_scale=1e+30,\n    growth_factor=1.5"));
    EXPECT_THAT(scalerRecipe(RecipeFor::PyTorch, preset("off")).text, HasSubstr("enabled=False"));
}

TEST(ScalerRecipe, DeepSpeedJsonParses)
{
    const nlohmann::json fp16 = parseJson(scalerRecipe(RecipeFor::DeepSpeed, preset("deepspeed")).text)["fp16"];
    EXPECT_EQ(fp16["loss_scale"], 0);
    EXPECT_EQ(fp16["initial_scale_power"], 16);
    EXPECT_EQ(fp16["loss_scale_window"], 1000);
    EXPECT_EQ(fp16["hysteresis"], 2);
    EXPECT_EQ(fp16["consecutive_hysteresis"], false);
    EXPECT_EQ(fp16["min_loss_scale"], 1);
    EXPECT_EQ(parseJson(scalerRecipe(RecipeFor::DeepSpeed, preset("static")).text)["fp16"]["loss_scale"], 65536);
    ScalerConfig c = preset("deepspeed");
    c.initialScale = 1000;
    EXPECT_THAT(differences(RecipeFor::DeepSpeed, c), HasSubstr("2^10"));
}

TEST(ScalerRecipe, MegatronFlags)
{
    EXPECT_EQ(scalerRecipe(RecipeFor::Megatron, preset("megatron")).text,
              "--fp16 --initial-loss-scale 4294967296 --min-loss-scale 1 --loss-scale-window 1000 --hysteresis 2\n");
    EXPECT_EQ(scalerRecipe(RecipeFor::Megatron, preset("static")).text, "--fp16 --loss-scale 65536\n");
}

TEST(ScalerRecipe, KerasAndFlaxCode)
{
    EXPECT_THAT(scalerRecipe(RecipeFor::Keras, preset("keras3")).text,
                HasSubstr("initial_scale=32768.0,\n    dynamic_growth_steps=2000,\n)"));
    EXPECT_THAT(scalerRecipe(RecipeFor::Keras, preset("keras3"), 3e-4F).text, HasSubstr("AdamW(learning_rate=3e-04),"));
    EXPECT_THAT(scalerRecipe(RecipeFor::Keras, preset("off"), 0.5F).text, HasSubstr("AdamW(learning_rate=0.5)\n"));
    EXPECT_THAT(scalerRecipe(RecipeFor::Flax, preset("flax")).text,
                HasSubstr("scale=65536.0,\n    minimum_scale=1.1754943508222875e-38,\n)"));
    EXPECT_THAT(scalerRecipe(RecipeFor::Flax, preset("pytorch")).text, HasSubstr("minimum_scale=None"));
}

// Every knob that a system has not must be named when it is turned.
TEST(ScalerRecipe, SaysWhatASystemCannotDo)
{
    ScalerConfig c = preset("pytorch");
    c.hysteresis = 3;
    c.hysteresisKind = HysteresisKind::Budget;
    c.minScale = 1;
    c.maxScale = 0x1p24;
    c.tolerance = 0.1;
    const std::string pytorch = differences(RecipeFor::PyTorch, c);
    for (const char* word : {"hysteresis", "smallest", "largest", "tolerated"})
        EXPECT_THAT(pytorch, HasSubstr(word));
    c = preset("pytorch");
    c.growthFactor = 3;
    c.backoffFactor = 0.25;
    for (const RecipeFor target : {RecipeFor::DeepSpeed, RecipeFor::Megatron, RecipeFor::Keras}) {
        EXPECT_THAT(differences(target, c), HasSubstr("grows by 2"));
        EXPECT_THAT(differences(target, c), HasSubstr("backs off by 0.5"));
    }
    EXPECT_THAT(differences(RecipeFor::Flax, c), HasSubstr("one clean step later"));
    EXPECT_THAT(differences(RecipeFor::Flax, c), Not(HasSubstr("grows by")));
    EXPECT_THAT(differences(RecipeFor::PyTorch, preset("static")), HasSubstr("static"));
}

} // namespace
} // namespace halfscope
