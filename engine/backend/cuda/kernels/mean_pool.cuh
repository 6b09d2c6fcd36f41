// SPDX-License-Identifier: GPL-3.0-or-later
// The mean of each `length` rows. CPU twin: backend/cpu/mean_pool.cpp; results are the same bits.
#pragma once

#include "engine/backend/cuda/kernels/probe.cuh"

namespace halfscope::cuda {

// out (B, C) = 1 / length * the sum of each `length` rows of x (B * length, C), in order
void meanPoolForward(cudaStream_t stream, Source x, Destination out, long long rows, long long length, long long cols,
                     const Probe& probe);
// dx (B * length, C): row n is dOut (B, C)[n / length] * 1 / length
void meanPoolBackward(cudaStream_t stream, Source dOut, Destination dx, long long rows, long long length,
                      long long cols, const Probe& probe);
unsigned meanPoolBlocks(long long rows, long long cols); // of a grid that writes (rows, cols)

} // namespace halfscope::cuda
