// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/scaler_recipe.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/core/number_text.h"

namespace halfscope {

namespace {

// A Python float.
std::string real(double value)
{
    const std::string text = numberText(value);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string whole(std::int64_t value) { return numberText(value); }

// What backing off multiplies by.
double backoffOf(const ScalerConfig& c)
{
    return c.backoffRule == BackoffRule::Divide ? 1.0 / c.growthFactor : c.backoffFactor;
}

// Collects what a system does otherwise. Each check names the setting and what the system has instead.
class Differences {
public:
    explicit Differences(const ScalerConfig& config) : m_config(config) {}

    void unless(bool same, const std::string& what)
    {
        if (!same)
            all.push_back(what);
    }
    void factors(double growth, double backoff)
    {
        unless(m_config.growthFactor == growth, "it grows by " + numberText(growth));
        unless(backoffOf(m_config) == backoff, "it backs off by " + numberText(backoff));
    }
    void noHysteresis()
    {
        unless(m_config.hysteresisKind == HysteresisKind::None || m_config.hysteresis == 1,
               "every overflow backs off; there is no hysteresis");
    }
    void budget()
    {
        unless(m_config.hysteresisKind == HysteresisKind::Budget || m_config.hysteresis == 1,
               "its hysteresis is a budget that growth refills");
    }
    void minimum(double value)
    {
        unless(m_config.minScale == value,
               value == kNoMinimum ? "there is no smallest scale" : "its smallest scale is " + numberText(value));
    }
    void noMaximum() { unless(m_config.maxScale >= kHighestUsableScale, "there is no largest scale"); }
    void after(GrowthAfter rule)
    {
        unless(m_config.growthAfter == rule, rule == GrowthAfter::N ? "it grows after exactly the interval"
                                             : rule == GrowthAfter::NPlusOne
                                                 ? "it grows one clean step later than the interval says"
                                                 : "its first growth comes one clean step later");
    }
    void noTolerance() { unless(m_config.tolerance == 0 && m_config.threshold == 0, "no overflow is tolerated"); }

    std::vector<std::string> all;

private:
    const ScalerConfig& m_config;
};

Recipe pytorch(const ScalerConfig& c)
{
    Recipe recipe;
    if (!c.enabled) {
        recipe.text = "import torch\n\nscaler = torch.amp.GradScaler(\"cuda\", enabled=False)\n";
        return recipe;
    }
    Differences d(c);
    d.unless(c.dynamic, "GradScaler has no static scale; with this interval it only falls");
    d.noHysteresis();
    d.minimum(kNoMinimum);
    d.noMaximum();
    d.after(GrowthAfter::N);
    d.noTolerance();
    recipe.text =
        "import torch\n\nscaler = torch.amp.GradScaler(\n    \"cuda\",\n    init_scale=" + real(c.initialScale) +
        ",\n    growth_factor=" + real(c.growthFactor) + ",\n    backoff_factor=" + real(backoffOf(c)) +
        ",\n    growth_interval=" + whole(c.dynamic ? c.growthInterval : 2'000'000'000) + ",\n)\n";
    recipe.differences = std::move(d.all);
    return recipe;
}

Recipe deepspeed(const ScalerConfig& c)
{
    Differences d(c);
    const double power = std::clamp(std::round(std::log2(c.initialScale)), 0.0, 126.0);
    const double minimum = std::max(1.0, std::round(c.minScale));
    if (c.enabled && c.dynamic) {
        d.factors(2.0, 0.5);
        d.unless(std::exp2(power) == c.initialScale, "it starts at a power of two, 2^" + numberText(power));
        d.unless(c.hysteresisKind != HysteresisKind::Repeating || c.hysteresis == 1,
                 "its hysteresis is not renewed by backing off");
        d.minimum(minimum);
        d.noMaximum();
        d.after(GrowthAfter::FirstNPlusOne);
        d.noTolerance();
        d.unless(c.atMinimum == AtMinimum::Stop, "it raises at the smallest scale");
    }
    d.unless(c.enabled, "its FP16 mode always has a scale; this one is 1");
    const double fixed = !c.enabled ? 1.0 : c.dynamic ? 0.0 : c.initialScale;
    const bool tolerates = c.hysteresisKind != HysteresisKind::None;
    Recipe recipe;
    recipe.text =
        "{\n  \"fp16\": {\n    \"enabled\": true,\n    \"loss_scale\": " + numberText(fixed) +
        ",\n    \"initial_scale_power\": " + numberText(power) +
        ",\n    \"loss_scale_window\": " + whole(c.growthInterval) +
        ",\n    \"hysteresis\": " + whole(tolerates ? c.hysteresis : 1) +
        ",\n    \"consecutive_hysteresis\": " + (c.hysteresisKind == HysteresisKind::Consecutive ? "true" : "false") +
        ",\n    \"min_loss_scale\": " + numberText(minimum) + "\n  }\n}\n";
    recipe.differences = std::move(d.all);
    return recipe;
}

Recipe megatron(const ScalerConfig& c)
{
    Recipe recipe;
    if (!c.enabled || !c.dynamic) {
        recipe.text = "--fp16 --loss-scale " + numberText(c.enabled ? c.initialScale : 1.0) + "\n";
        return recipe;
    }
    Differences d(c);
    d.factors(2.0, 0.5);
    d.budget();
    // The program insists on a smallest scale above 0 and not above the initial one.
    const double minimum = c.minScale > 0 ? c.minScale : kLowestUsableScale;
    d.unless(c.minScale > 0, "there must be a smallest scale");
    d.noMaximum();
    d.after(GrowthAfter::N);
    d.noTolerance();
    const bool tolerates = c.hysteresisKind != HysteresisKind::None;
    recipe.text = "--fp16 --initial-loss-scale " + numberText(c.initialScale) + " --min-loss-scale " +
                  numberText(minimum) + " --loss-scale-window " + whole(c.growthInterval) + " --hysteresis " +
                  whole(tolerates ? c.hysteresis : 1) + "\n";
    recipe.differences = std::move(d.all);
    return recipe;
}

Recipe keras(const ScalerConfig& c, float learningRate)
{
    const std::string optimizer = "keras.optimizers.AdamW(learning_rate=" + numberText(learningRate) + ")";
    Differences d(c);
    if (c.enabled && c.dynamic) {
        d.factors(2.0, 0.5);
        d.noHysteresis();
        d.minimum(kNoMinimum);
        d.noMaximum();
        d.after(GrowthAfter::N);
        d.noTolerance();
    }
    Recipe recipe;
    if (!c.enabled) {
        recipe.text = "import keras\n\noptimizer = " + optimizer + "\n";
        return recipe;
    }
    d.unless(c.dynamic, "LossScaleOptimizer has no static scale; with these steps it only falls");
    recipe.text = "import keras\n\noptimizer = keras.optimizers.LossScaleOptimizer(\n    " + optimizer +
                  ",\n    initial_scale=" + real(c.initialScale) +
                  ",\n    dynamic_growth_steps=" + whole(c.dynamic ? c.growthInterval : 2'000'000'000) + ",\n)\n";
    recipe.differences = std::move(d.all);
    return recipe;
}

Recipe flax(const ScalerConfig& c)
{
    Recipe recipe;
    if (!c.enabled) {
        recipe.text = "dynamic_scale = None\n";
        return recipe;
    }
    Differences d(c);
    d.unless(c.dynamic, "DynamicScale has no static scale; with this interval it only falls");
    d.noHysteresis();
    d.unless(c.maxScale >= kHighestUsableScale, "its largest scale is FP32's");
    d.after(GrowthAfter::NPlusOne);
    d.noTolerance();
    recipe.text = "from flax.training.dynamic_scale import DynamicScale\n\ndynamic_scale = DynamicScale(\n"
                  "    growth_factor=" +
                  real(c.growthFactor) + ",\n    backoff_factor=" + real(backoffOf(c)) +
                  ",\n    growth_interval=" + whole(c.dynamic ? c.growthInterval : 2'000'000'000) +
                  ",\n    scale=" + real(c.initialScale) +
                  ",\n    minimum_scale=" + (c.minScale > 0 ? real(c.minScale) : "None") + ",\n)\n";
    recipe.differences = std::move(d.all);
    return recipe;
}

} // namespace

std::span<const RecipeTarget> recipeTargets()
{
    static constexpr std::array<RecipeTarget, 5> kTargets = {{{RecipeFor::PyTorch, "pytorch", "PyTorch"},
                                                              {RecipeFor::DeepSpeed, "deepspeed", "DeepSpeed JSON"},
                                                              {RecipeFor::Megatron, "megatron", "Megatron-LM flags"},
                                                              {RecipeFor::Keras, "keras", "Keras 3"},
                                                              {RecipeFor::Flax, "flax", "Flax"}}};
    return kTargets;
}

Recipe scalerRecipe(RecipeFor target, const ScalerConfig& config, float learningRate)
{
    switch (target) {
    case RecipeFor::PyTorch:
        return pytorch(config);
    case RecipeFor::DeepSpeed:
        return deepspeed(config);
    case RecipeFor::Megatron:
        return megatron(config);
    case RecipeFor::Keras:
        return keras(config, learningRate);
    case RecipeFor::Flax:
        return flax(config);
    }
    return {};
}

} // namespace halfscope
