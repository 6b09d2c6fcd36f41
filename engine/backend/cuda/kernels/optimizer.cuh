// SPDX-License-Identifier: GPL-3.0-or-later
// The passes over gradients and weights after the backward pass. CPU twin: unscale() and adamw() in
// backend/cpu/training.cpp; unscale's elements and adamw's results are the same bits.
#pragma once

#include "engine/backend/cuda/adamw_factors.h"
#include "engine/backend/cuda/kernels/sink.cuh"

namespace halfscope::cuda {

// to = gradient * inverseScale, n elements. The report: kNonfinite if a product is not finite, and the sum of squares.
void unscale(cudaStream_t stream, Source gradient, float inverseScale, float* to, long long n, const Report& report);
unsigned unscaleBlocks(long long n);

// n elements of each; master and both moments are updated in place.
void adamw(cudaStream_t stream, const AdamWFactors& factors, const float* gradient, float* master, float* moment1,
           float* moment2, long long n);

// Adds up what the blocks of each kernel left, in order: records[i].sum and .sumSquares from sums[ranges[i].first] on.
struct SumRange {
    unsigned first;
    unsigned count;
};
void finishRecords(cudaStream_t stream, Record* records, const BlockSums* sums, const SumRange* ranges, unsigned count);

} // namespace halfscope::cuda
