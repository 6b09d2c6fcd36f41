// SPDX-License-Identifier: GPL-3.0-or-later
// What AdamW multiplies by in FP32, the same on every backend. C++17, for the CUDA kernel.
#pragma once

#include "engine/numerics/format_id.h"

namespace halfscope {

struct AdamW;

// For each element, with g = gradient * gradientFactor:
//   moment1 = fma(g, oneMinusBeta1, moment1 * beta1)        moment2 = fma(g * g, oneMinusBeta2, moment2 * beta2)
//   weight  = weight * decay - stepSize * moment1 / (sqrt(moment2) / rootCorrection2 + epsilon)
struct AdamWFactors {
    float gradientFactor; // the gradient is multiplied by this first
    float decay;          // 1 - learning rate * weight decay
    float beta1;
    float oneMinusBeta1;
    float beta2;
    float oneMinusBeta2;
    float rootCorrection2; // sqrt(1 - beta2^t)
    float epsilon;
    float stepSize; // learning rate / (1 - beta1^t)
    FormatId every; // the result of every operation but the last is rounded into this
};

// As PyTorch: worked out in double, rounded when they meet FP32 numbers. Where weights and moments are in one format,
// every operation rounds into it.
AdamWFactors adamWFactors(const AdamW& hyper, FormatId weights, FormatId moment1, FormatId moment2);

} // namespace halfscope
