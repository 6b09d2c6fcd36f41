// SPDX-License-Identifier: GPL-3.0-or-later
// The only things that kernels need beyond the CUDA language, and how every one of them is launched. Kernels use no
// inline PTX, no cooperative groups, no texture and no spinning on another block, so that they run on the host stand-in
// of the tests as they are.
#pragma once

#include <cuda_runtime.h>

#include "engine/backend/cuda/errors.h"

#ifdef HALFSCOPE_CUDA_STANDIN
#define HALFSCOPE_DYNAMIC_SHARED(name) unsigned* name = static_cast<unsigned*>(::simt::dynamicShared())
#else
#define HALFSCOPE_DYNAMIC_SHARED(name)                                                                                 \
    extern __shared__ __align__(16) unsigned char halfscopeDynamicShared[];                                            \
    unsigned* name = reinterpret_cast<unsigned*>(halfscopeDynamicShared)
#endif

namespace halfscope::cuda {

constexpr int kThreads = 256; // of every block
constexpr int kLanes = 32;    // of a warp
constexpr int kWarps = kThreads / kLanes;
constexpr unsigned kAllLanes = 0xFFFFFFFFU;

// Blocks of a grid. They follow from the shape alone, never from the device, because sums are formed block by block.
constexpr long long kMostBlocks = 2048;
constexpr long long kGroup = 8;           // neighbouring elements that a thread treats at once
constexpr long long kGroupsPerThread = 4; // before there are more blocks

constexpr long long ceilDivide(long long a, long long b) { return (a + b - 1) / b; }

// For kernels that loop over the groups of 8 in each row of a (rows, cols) matrix; see forGroups().
inline unsigned groupBlocks(long long rows, long long cols)
{
    const long long blocks = ceilDivide(rows * ceilDivide(cols, kGroup), kThreads * kGroupsPerThread);
    return static_cast<unsigned>(blocks < 1 ? 1 : blocks > kMostBlocks ? kMostBlocks : blocks);
}

// For kernels that give each row to a warp.
inline unsigned rowBlocks(long long rows)
{
    const long long blocks = ceilDivide(rows, kWarps);
    return static_cast<unsigned>(blocks < 1 ? 1 : blocks > kMostBlocks ? kMostBlocks : blocks);
}

// cudaLaunchKernelEx is an ordinary function template, so no <<<>>> is needed anywhere. `kernel` needs its template
// arguments spelt out.
template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, dim3 grid, unsigned sharedBytes, void (*kernel)(Parameters...),
            Arguments&&... arguments)
{
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = dim3(kThreads);
    config.dynamicSmemBytes = sharedBytes;
    config.stream = stream;
    check(cudaLaunchKernelEx(&config, kernel, static_cast<Arguments&&>(arguments)...), "starting a kernel");
}

} // namespace halfscope::cuda
