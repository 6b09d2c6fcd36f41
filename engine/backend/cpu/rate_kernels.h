// SPDX-License-Identifier: GPL-3.0-or-later
// How fast the processor's vector unit is at best: fused multiply-adds that wait for nothing.
#pragma once

#include <cstdint>

#include "engine/core/simd_dispatch.h"

namespace halfscope {

struct RateKernels {
    std::int64_t operationsPerRound; // a multiply-add counts as two
    float (*multiplyAdd)(std::int64_t rounds);
};

HALFSCOPE_DECLARE_KERNELS(RateKernels, rateKernels)

} // namespace halfscope
