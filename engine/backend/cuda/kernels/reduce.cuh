// SPDX-License-Identifier: GPL-3.0-or-later
// Reductions over a warp and a block in a fixed order: no atomics on floats, so every run gives the same bits.
#pragma once

#include "engine/backend/cuda/kernels/launch.cuh"

namespace halfscope::cuda {

// Every lane gets the result.
template <class T>
__device__ inline T warpSum(T value)
{
    for (int by = kLanes / 2; by > 0; by /= 2)
        value += __shfl_xor_sync(kAllLanes, value, by);
    return value;
}

// The largest; one that is NaN is passed over.
__device__ inline float warpMax(float value)
{
    for (int by = kLanes / 2; by > 0; by /= 2)
        value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, by));
    return value;
}

__device__ inline unsigned warpMaxBits(unsigned value)
{
    for (int by = kLanes / 2; by > 0; by /= 2) {
        const unsigned other = __shfl_xor_sync(kAllLanes, value, by);
        value = other > value ? other : value;
    }
    return value;
}

// The sum over the block, for its first thread; the others get 0. `parts` is shared memory for kWarps numbers that
// nobody uses until all threads of the block are here.
__device__ inline double blockSum(double value, double* parts)
{
    value = warpSum(value);
    if (threadIdx.x % kLanes == 0)
        parts[threadIdx.x / kLanes] = value;
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0) {
        for (int warp = 0; warp < kWarps; ++warp)
            sum += parts[warp];
    }
    return sum;
}

} // namespace halfscope::cuda
