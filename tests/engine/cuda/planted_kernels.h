// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels with the mistakes that kernels have, to prove that the stand-in and the sanitizers see them.
#pragma once

#include "engine/backend/cuda/kernels/launch.cuh"

namespace halfscope::test {

// Reverses 256 numbers, but nobody waits until all of them are in shared memory.
inline __global__ void reverseWithoutBarrier(float* x)
{
    __shared__ float copy[cuda::kThreads];
    copy[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = copy[cuda::kThreads - 1 - threadIdx.x];
}

// The same as it should be.
inline __global__ void reverse(float* x)
{
    __shared__ float copy[cuda::kThreads];
    copy[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = copy[cuda::kThreads - 1 - threadIdx.x];
}

// A count that should have been an atomicAdd.
inline __global__ void countWithoutAtomic(unsigned* counter)
{
    HALFSCOPE_DYNAMIC_SHARED(bins);
    if (threadIdx.x == 0)
        bins[0] = 0;
    __syncthreads();
    bins[0] += 1;
    __syncthreads();
    if (threadIdx.x == 0)
        *counter = bins[0];
}

inline __global__ void barrierForSome(float* x, unsigned some)
{
    if (threadIdx.x < some) {
        x[threadIdx.x] += 1.0F;
        __syncthreads();
    }
    x[threadIdx.x] += 1.0F;
    __syncthreads();
}

inline __global__ void returnBeforeBarrier(unsigned some)
{
    if (threadIdx.x >= some)
        return;
    __syncthreads();
}

inline __global__ void shuffleForSome(float* x, unsigned some)
{
    if (threadIdx.x < some)
        x[threadIdx.x] = __shfl_xor_sync(cuda::kAllLanes, x[threadIdx.x], 1);
}

// No check of the size of x.
inline __global__ void writeBeyondEnd(float* x) { x[blockIdx.x * cuda::kThreads + threadIdx.x] = 1.0F; }

// 256 threads write into shared memory for fewer.
inline __global__ void writeBeyondShared(unsigned* x)
{
    HALFSCOPE_DYNAMIC_SHARED(copy);
    copy[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = copy[threadIdx.x];
}

} // namespace halfscope::test
