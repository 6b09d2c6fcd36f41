// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/rate_kernels.h"

#include "engine/core/simd.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {

namespace {

// More chains than the latency of a multiply-add times the number of units, and with two constants no more than there
// are registers.
constexpr int kChains = 12;

float multiplyAdd(std::int64_t rounds)
{
    const Vec factor = Vec::broadcast(0.5F);
    const Vec term = Vec::broadcast(1.0F); // every chain goes towards 2: no value is subnormal or infinite
    Vec chains[kChains];
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i)
        chains[i] = Vec::broadcast(static_cast<float>(i + 1));
    for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
        for (int i = 0; i < kChains; ++i)
            chains[i] = fma(chains[i], factor, term);
    }
    Vec sum = chains[0];
#pragma GCC unroll 12
    for (int i = 1; i < kChains; ++i)
        sum = sum + chains[i];
    float lanes[kWidth];
    sum.store(lanes);
    float total = 0.0F;
    for (int i = 0; i < kWidth; ++i)
        total += lanes[i];
    return total;
}

} // namespace

const RateKernels rateKernels = {std::int64_t{2} * kChains * kWidth, multiplyAdd};

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
