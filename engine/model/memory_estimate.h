// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/precision_plan.h"
#include "engine/model/transformer_config.h"

namespace halfscope {

// Bytes of the tensors a model holds from its construction on, without making one: Transformer::bytes() before the
// first step. `plan` has an entry for each of listModules(config).
double modelBytes(const TransformerConfig& config, const PrecisionPlan& plan);
// Of the FP32 model that a run's gradients are compared with: weights, gradients and activations; no moments.
double gradientShadowBytes(const TransformerConfig& config);
// Of the FP32 run alongside, its unscaled gradients included.
double shadowRunBytes(const TransformerConfig& config);

} // namespace halfscope
