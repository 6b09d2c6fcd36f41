// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels that treat each element alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backend/adamw_factors.h"
#include "engine/core/simd_dispatch.h"
#include "engine/numerics/float_format.h"

namespace halfscope {

inline constexpr unsigned kFlagSaturated = 1;
inline constexpr unsigned kFlagNonfinite = 2;

struct ElementKernels {
    // kFlagNonfinite if an element is not finite, kFlagSaturated if a finite one has at least the magnitude with these
    // bits.
    unsigned (*castFlags)(const float* x, std::size_t n, std::uint32_t overflowBits);
    float (*largestMagnitude)(const float* x, std::size_t n); // infinite if an element is infinite or NaN
    void (*clamp)(float* x, std::size_t n, float largest);    // of finite elements; others stay
    void (*scale)(float* x, std::size_t n, float by);
    void (*add)(const float* a, const float* b, float* to, std::size_t n); // to = a + b; may be in place
    void (*gelu)(const float* x, float* to, std::size_t n);                // x * Phi(x); may be in place
    void (*relu)(const float* x, float* to, std::size_t n);
    void (*geluBackward)(float* gradient, const float* x, std::size_t n); // gradient *= Phi(x) + x * phi(x)
    void (*reluBackward)(float* gradient, const float* x, std::size_t n); // gradient = x <= 0 ? 0 : gradient
    void (*adamw)(const AdamWFactors& f, const float* gradient, float* master, float* moment1, float* moment2,
                  std::size_t n);
};

HALFSCOPE_DECLARE_KERNELS(ElementKernels, elementKernels)

} // namespace halfscope
