// SPDX-License-Identifier: GPL-3.0-or-later
// The presets: each sets the parameters of the one state machine so that it is another system's scaler, traces equal to
// the bit (tests/golden/scaler_traces.json holds what the originals do).
#include "engine/amp/scaler_config.h"

namespace halfscope {

namespace {

ScalerPreset make(std::string_view key, std::string_view name, std::string_view difference, ScalerConfig config)
{
    config.preset = key;
    return {key, name, difference, std::move(config)};
}

ScalerConfig deepspeed()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp64;
    c.backoffRule = BackoffRule::Divide;
    c.growthInterval = 1000;
    c.growthAfter = GrowthAfter::FirstNPlusOne;
    c.growthCap = GrowthCap::None;
    c.hysteresis = 2;
    c.hysteresisKind = HysteresisKind::Budget;
    c.minScale = 1.0;
    c.atMinimum = AtMinimum::Stop;
    return c;
}

ScalerConfig deepspeedOld()
{
    ScalerConfig c = deepspeed();
    c.growthAfter = GrowthAfter::N;
    return c;
}

ScalerConfig megatron()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp32Factor;
    c.initialScale = 0x1p32;
    c.growthInterval = 1000;
    c.growthCap = GrowthCap::None;
    c.hysteresis = 2;
    c.hysteresisKind = HysteresisKind::Budget;
    c.minScale = 1.0;
    return c;
}

ScalerConfig apex()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp64;
    c.growthCap = GrowthCap::Clamp;
    c.maxScale = 0x1p24;
    return c;
}

ScalerConfig keras3()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp32Factor;
    c.initialScale = 0x1p15;
    c.growthCap = GrowthCap::None;
    return c;
}

ScalerConfig tfKeras()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp32Factor;
    c.initialScale = 0x1p15;
    c.backoffRule = BackoffRule::Divide;
    c.minScale = 1.0;
    return c;
}

ScalerConfig flax()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp32Factor;
    c.growthAfter = GrowthAfter::NPlusOne;
    c.growthCap = GrowthCap::Clamp;
    c.minScale = 0x1p-126;
    c.maxScale = kHighestUsableScale;
    return c;
}

ScalerConfig jmp()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp32Factor;
    c.initialScale = 0x1p15;
    c.backoffRule = BackoffRule::Divide;
    c.minScale = 1.0;
    return c;
}

ScalerConfig fairseq()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp64;
    c.initialScale = 0x1p15;
    c.backoffRule = BackoffRule::Divide;
    c.growthCap = GrowthCap::None;
    c.minScale = 1e-4;
    c.atMinimum = AtMinimum::Stop;
    c.minTrigger = MinTrigger::Reached;
    return c;
}

ScalerConfig paddle()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp32Factor;
    c.growthCap = GrowthCap::None;
    c.hysteresisKind = HysteresisKind::Repeating;
    return c;
}

ScalerConfig mindspore()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp64;
    c.initialScale = 0x1p24;
    c.growthCap = GrowthCap::None;
    c.minScale = 1.0;
    c.maxOverflows = 1000;
    return c;
}

ScalerConfig onnxruntime()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp64;
    c.growthCap = GrowthCap::Clamp;
    c.minScale = 1.0;
    c.maxScale = 0x1p24;
    return c;
}

ScalerConfig colossalai()
{
    ScalerConfig c;
    c.arithmetic = ScaleArithmetic::Fp32Factor;
    c.growthInterval = 1000;
    c.growthCap = GrowthCap::None;
    c.hysteresis = 2;
    c.hysteresisKind = HysteresisKind::Budget;
    return c;
}

ScalerConfig fixed(bool skipNonfinite)
{
    ScalerConfig c;
    c.dynamic = false;
    c.skipNonfinite = skipNonfinite;
    return c;
}

ScalerConfig off()
{
    ScalerConfig c;
    c.enabled = false;
    return c;
}

std::vector<ScalerPreset> makePresets()
{
    return {
        make("pytorch", "PyTorch GradScaler",
             "torch.amp.GradScaler: 2^16, doubled after 2000 clean steps, halved at each overflow; no floor", {}),
        make("deepspeed", "DeepSpeed",
             "tolerates one overflow until it next grows; grows after 1000 clean steps, the first time after 1001; "
             "raises at scale 1",
             deepspeed()),
        make("deepspeed-old", "DeepSpeed before June 2025",
             "as DeepSpeed, but the first growth too takes 1000 clean steps", deepspeedOld()),
        make("megatron", "Megatron-LM",
             "starts at 2^32; tolerates one overflow until it next grows; interval 1000; never below 1, no cap",
             megatron()),
        make("apex", "Apex amp", "never above 2^24; kept as a Python number, without a floor", apex()),
        make("keras3", "Keras 3", "starts at 2^15; no floor, and grows to infinity", keras3()),
        make("tf-keras", "TF-Keras", "starts at 2^15 and never falls below 1", tfKeras()),
        make("flax", "Flax DynamicScale", "grows after 2001 clean steps, not 2000; floor 2^-126, cap at FP32's largest",
             flax()),
        make("jmp", "JMP", "one factor for both directions; starts at 2^15, never falls below 1", jmp()),
        make("fairseq", "fairseq",
             "one factor for both directions; starts at 2^15; an overflow that would take it to 1e-4 raises; with a "
             "tolerance, rare overflows are forgiven",
             fairseq()),
        make("paddle", "Paddle", "backs off at every n-th overflow in a row (n = 1 here); no floor, no cap", paddle()),
        make("mindspore", "MindSpore", "starts at 2^24, never below 1; raises after 1000 overflows in a row",
             mindspore()),
        make("onnxruntime", "ONNX Runtime", "stays between 1 and 2^24", onnxruntime()),
        make("colossalai", "Colossal-AI", "tolerates one overflow until it next grows; interval 1000; no floor, no cap",
             colossalai()),
        make("static", "Static scale", "the scale never moves; steps with nonfinite gradients are skipped",
             fixed(true)),
        make("static-apex", "Static scale as in Apex",
             "the scale never moves and nothing is skipped: a nonfinite gradient goes into the weights", fixed(false)),
        make("off", "Off", "scale 1, no scaling; steps with nonfinite gradients are still skipped", off()),
    };
}

} // namespace

const std::vector<ScalerPreset>& scalerPresets()
{
    static const std::vector<ScalerPreset> presets = makePresets();
    return presets;
}

const ScalerPreset* findScalerPreset(std::string_view key)
{
    for (const ScalerPreset& preset : scalerPresets()) {
        if (preset.key == key)
            return &preset;
    }
    return nullptr;
}

std::string_view scalerPresetKey(const ScalerConfig& config)
{
    ScalerConfig unlabelled = config;
    for (const ScalerPreset& preset : scalerPresets()) {
        unlabelled.preset = preset.config.preset;
        if (unlabelled == preset.config)
            return preset.key;
    }
    return "custom";
}

} // namespace halfscope
