// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/precision_plan.h"
#include "engine/model/transformer_config.h"

namespace halfscope {

// Bytes of tensors, by what they are for.
struct MemoryUse {
    double weights = 0;     // what the optimizer keeps, and rounded copies to compute with
    double gradients = 0;   // of the weights
    double moments = 0;     // AdamW's
    double activations = 0; // of a batch, kept for the backward pass, and its temporaries
    double total() const { return weights + gradients + moments + activations; }
    bool operator==(const MemoryUse&) const = default;
};

// What a model holds from its construction on, without making one: Transformer::memory() before the first step. `plan`
// has an entry for each of listModules(config).
MemoryUse modelMemory(const TransformerConfig& config, const PrecisionPlan& plan, const WeightStorage& storage = {});
inline double modelBytes(const TransformerConfig& config, const PrecisionPlan& plan, const WeightStorage& storage = {})
{
    return modelMemory(config, plan, storage).total();
}
// Of the FP32 model that a run's gradients are compared with: weights, gradients and activations; no moments.
double gradientShadowBytes(const TransformerConfig& config);
// Of the FP32 run alongside, its unscaled gradients included.
double shadowRunBytes(const TransformerConfig& config);

} // namespace halfscope
