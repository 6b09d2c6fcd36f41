// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/precision_plan.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace halfscope {

namespace {

constexpr std::array<PrecisionPreset, 8> kPresets = {{
    {"fp32", "FP32", "every module in FP32; no loss scale is needed"},
    {"tf32", "TF32", "FP32, but the factors of matrix products are rounded to TF32 (PyTorch's allow_tf32)"},
    {"mixed-fp16", "Mixed FP16",
     "matrix products in FP16; embeddings, norms, softmax and loss in FP32; FP32 master weights (PyTorch autocast)"},
    {"mixed-bf16", "Mixed BF16", "the same with BF16, whose exponents reach as far as FP32's"},
    {"pure-fp16", "Pure FP16", "every module but the loss in FP16; FP32 master weights unless master-weights is off"},
    {"pure-bf16", "Pure BF16", "every module but the loss in BF16; FP32 master weights unless master-weights is off"},
    {"fp8", "FP8",
     "linear layers in FP8 (E4M3, gradients E5M2, a scale a tensor), attention and what lies between in BF16"},
    {"sensitive-fp32", "FP16, sensitive layers FP32", "FP16, with embeddings, norms, head and loss in FP32"},
}};

constexpr std::string_view kHeadNames[] = {"lm_head", "head"};
constexpr std::string_view kFp8Key = "fp8";

bool sameWord(std::string_view text, std::string_view key)
{
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    return std::equal(text.begin(), text.end(), key.begin(), key.end(), same);
}

// The format a preset gives a module.
std::optional<FormatId> presetFormat(std::string_view preset, const ModuleInfo& module)
{
    const ModuleKind kind = module.kind;
    const bool product = kind == ModuleKind::Linear || kind == ModuleKind::Attention;
    if (preset == "fp32")
        return FormatId::Fp32;
    if (preset == "tf32")
        return product ? FormatId::Tf32 : FormatId::Fp32;
    if (preset == "mixed-fp16")
        return product ? FormatId::Fp16 : FormatId::Fp32;
    if (preset == "mixed-bf16")
        return product ? FormatId::Bf16 : FormatId::Fp32;
    if (preset == "pure-fp16")
        return kind == ModuleKind::Loss ? FormatId::Fp32 : FormatId::Fp16;
    if (preset == "pure-bf16")
        return kind == ModuleKind::Loss ? FormatId::Fp32 : FormatId::Bf16;
    if (preset == "fp8")
        return kind == ModuleKind::Linear      ? FormatId::Fp8E4M3
               : kind == ModuleKind::Attention ? FormatId::Bf16
                                               : FormatId::Fp32;
    if (preset == "sensitive-fp32")
        return product && std::ranges::find(kHeadNames, module.name) == std::end(kHeadNames) ? FormatId::Fp16
                                                                                             : FormatId::Fp32;
    return std::nullopt;
}

} // namespace

std::span<const PrecisionPreset> precisionPresets() { return kPresets; }

std::string_view precisionPresetWords()
{
    static const std::string words = [] {
        std::string all;
        for (const PrecisionPreset& preset : kPresets)
            all += (all.empty() ? "" : ", ") + std::string(preset.key);
        return all;
    }();
    return words;
}

std::optional<PrecisionPlan> makePlan(std::string_view preset, const std::vector<ModuleInfo>& modules)
{
    if (!presetFormat(preset, {}))
        return std::nullopt;
    PrecisionPlan plan;
    plan.reserve(modules.size());
    for (const ModuleInfo& module : modules)
        plan.push_back(*presetFormat(preset, module));
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
    switch (kind) {
    case ModuleKind::Loss:
        return {FormatId::Fp32};
    case ModuleKind::Linear:
        return {FormatId::Fp32, FormatId::Tf32, FormatId::Fp16, FormatId::Bf16, FormatId::Fp8E4M3};
    case ModuleKind::Attention:
        return {FormatId::Fp32, FormatId::Tf32, FormatId::Fp16, FormatId::Bf16};
    default:
        return {FormatId::Fp32, FormatId::Fp16, FormatId::Bf16};
    }
}

std::string_view moduleFormatKey(FormatId format)
{
    return format == FormatId::Fp8E4M3 ? kFp8Key : floatFormat(format).key;
}

std::string_view moduleFormatName(FormatId format)
{
    return format == FormatId::Fp8E4M3 ? "FP8" : floatFormat(format).name;
}

std::optional<FormatId> parseModuleFormat(std::string_view key)
{
    if (sameWord(key, kFp8Key))
        return FormatId::Fp8E4M3;
    const std::optional<FormatId> format = parseFormat(key);
    return format && floatFormat(*format).storageBytes > 1 ? format : std::nullopt; // one FP8 format alone is none
}

FormatId storageFormat(FormatId module)
{
    return module == FormatId::Tf32 ? FormatId::Fp32 : module == FormatId::Fp8E4M3 ? FormatId::Bf16 : module;
}

FormatId forwardFormat(FormatId module) { return module == FormatId::Tf32 ? FormatId::Fp32 : module; }

FormatId backwardFormat(FormatId module)
{
    return module == FormatId::Fp8E4M3 ? FormatId::Fp8E5M2 : forwardFormat(module);
}

} // namespace halfscope
