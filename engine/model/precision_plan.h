// SPDX-License-Identifier: GPL-3.0-or-later
// The format each module computes in, and what weights and moments are kept in.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/transformer_config.h"

namespace halfscope {

// One entry a module, by module id. FormatId::Fp8E4M3 stands for "FP8": E4M3 forward, E5M2 for gradients.
using PrecisionPlan = std::vector<FormatId>;

// A module's format as settings and people write it: a format's own key and name, but "fp8" and "FP8" for FP8.
std::string_view moduleFormatKey(FormatId format);
std::string_view moduleFormatName(FormatId format);
std::optional<FormatId> parseModuleFormat(std::string_view key); // case-insensitive

// In which format a module's tensors are kept between its products: FP32 for TF32, to which factors are rounded only as
// a product reads them; BF16 for FP8, to which they are cast, each with its own scale, for the product.
FormatId storageFormat(FormatId module);
// In which format a linear layer's activations and weights, or the gradient of its output, are kept for its products.
FormatId forwardFormat(FormatId module);  // FP8: E4M3
FormatId backwardFormat(FormatId module); // FP8: E5M2

// How the optimizer keeps its state.
struct WeightStorage {
    bool master = true; // FP32 weights; false: in the module's storage format, where an update is rounded once
    bool momentsAsWeights = true; // AdamW's moments in the format of the weights, as torch has them; false: FP32
    FormatId weights(FormatId module) const { return master ? FormatId::Fp32 : storageFormat(module); }
    FormatId moments(FormatId module) const { return momentsAsWeights ? weights(module) : FormatId::Fp32; }
    bool operator==(const WeightStorage&) const = default;
};

struct PrecisionPreset {
    std::string_view key;  // "fp32", "mixed-fp16", ...
    std::string_view name; // "Mixed FP16"
    std::string_view description;
};
std::span<const PrecisionPreset> precisionPresets();
std::string_view precisionPresetWords(); // "fp32, tf32, ..."

// nullopt: no such preset. "mixed-*" is what PyTorch autocast does: matrix products (linear layers and attn.core) in
// the 16-bit format; embeddings, norms and loss in FP32.
std::optional<PrecisionPlan> makePlan(std::string_view preset, const std::vector<ModuleInfo>& modules);
// The key of the preset this plan equals, or "custom".
std::string planKey(const PrecisionPlan& plan, const std::vector<ModuleInfo>& modules);
// The formats a module may have: FP32, FP16, BF16; for products TF32 too, for linear layers FP8; the loss FP32 only.
std::vector<FormatId> allowedFormats(ModuleKind kind);

} // namespace halfscope
