// SPDX-License-Identifier: GPL-3.0-or-later
// The format each module computes in. Master weights, moments and norms' statistics are FP32 whatever the plan.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/transformer_config.h"

namespace halfscope {

using PrecisionPlan = std::vector<FormatId>; // one entry a module, by module id

struct PrecisionPreset {
    std::string_view key;  // "fp32", "mixed-fp16", "mixed-bf16", "pure-fp16"
    std::string_view name; // "Mixed FP16"
    std::string_view description;
};
std::span<const PrecisionPreset> precisionPresets();

// nullopt: no such preset. "mixed-*" is what PyTorch autocast does: matrix products (linear layers and attn.core) in
// the 16-bit format; embeddings, norms and loss in FP32.
std::optional<PrecisionPlan> makePlan(std::string_view preset, const std::vector<ModuleInfo>& modules);
// The key of the preset this plan equals, or "custom".
std::string planKey(const PrecisionPlan& plan, const std::vector<ModuleInfo>& modules);
// The formats a module may have: FP32, FP16, BF16; the loss FP32 only.
std::vector<FormatId> allowedFormats(ModuleKind kind);

} // namespace halfscope
