// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/precision_plan.h"

#include <array>

namespace halfscope {

namespace {

constexpr std::array<PrecisionPreset, 4> kPresets = {{
    {"fp32", "FP32", "every module in FP32; no loss scale is needed"},
    {"mixed-fp16", "Mixed FP16",
     "matrix products in FP16; embeddings, norms, softmax and loss in FP32; FP32 master weights (PyTorch autocast)"},
    {"mixed-bf16", "Mixed BF16", "the same with BF16, whose exponents reach as far as FP32's"},
    {"pure-fp16", "Pure FP16", "every module but the loss in FP16; FP32 master weights"},
}};

// The format a preset gives a module of this kind.
std::optional<FormatId> presetFormat(std::string_view preset, ModuleKind kind)
{
    const bool product = kind == ModuleKind::Linear || kind == ModuleKind::Attention;
    if (preset == "fp32")
        return FormatId::Fp32;
    if (preset == "mixed-fp16")
        return product ? FormatId::Fp16 : FormatId::Fp32;
    if (preset == "mixed-bf16")
        return product ? FormatId::Bf16 : FormatId::Fp32;
    if (preset == "pure-fp16")
        return kind == ModuleKind::Loss ? FormatId::Fp32 : FormatId::Fp16;
    return std::nullopt;
}

} // namespace

std::span<const PrecisionPreset> precisionPresets() { return kPresets; }

std::optional<PrecisionPlan> makePlan(std::string_view preset, const std::vector<ModuleInfo>& modules)
{
    if (!presetFormat(preset, ModuleKind::Loss))
        return std::nullopt;
    PrecisionPlan plan;
    plan.reserve(modules.size());
    for (const ModuleInfo& module : modules)
        plan.push_back(*presetFormat(preset, module.kind));
    return plan;
}

std::string planKey(const PrecisionPlan& plan, const std::vector<ModuleInfo>& modules)
{
    for (const PrecisionPreset& preset : kPresets) {
        if (makePlan(preset.key, modules) == plan)
            return std::string(preset.key);
    }
    return "custom";
}

std::vector<FormatId> allowedFormats(ModuleKind kind)
{
    if (kind == ModuleKind::Loss)
        return {FormatId::Fp32};
    return {FormatId::Fp32, FormatId::Fp16, FormatId::Bf16};
}

} // namespace halfscope
