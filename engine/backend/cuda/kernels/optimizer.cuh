// SPDX-License-Identifier: GPL-3.0-or-later
// The passes over gradients and weights after the backward pass. CPU twin: unscale() and adamw() in
// backend/cpu/training.cpp; what is stored and counted are the same bits.
#pragma once

#include "engine/backend/adamw_factors.h"
#include "engine/backend/cuda/kernels/probe.cuh"

namespace halfscope::cuda {

// to = gradient * inverseScale, n elements. The report: kNonfinite if a product is not finite, and the sum of squares.
void unscale(cudaStream_t stream, Source gradient, float inverseScale, float* to, long long n, const Report& report);
unsigned unscaleBlocks(long long n);

// report.record->largest = the pattern of the largest magnitude of n elements, infinity if one is infinite or NaN.
void largestMagnitude(cudaStream_t stream, Source from, long long n, const Report& report);

// One update of n weights, see adamw() in backend.h. With a record, what it does to the weights is counted: as the
// classes below, and the exponents of |dw| / |w| as bins.
enum UpdateCount { kUpdateWeights, kUpdateUnchanged, kUpdateFromZero, kUpdateNonfinite, kUpdateLost };
struct AdamWArguments {
    AdamWFactors factors;
    const float* gradient;
    Destination weights;
    Destination moment1;
    Destination moment2;
    Record* record;   // null: nothing is counted
    FormatId movesIn; // the format in which a weight
    float moveFactor; // times this has to move to count as moved
};
void adamw(cudaStream_t stream, const AdamWArguments& arguments, long long n);

// Adds up what the blocks of each kernel left, in order: records[i].sum and .sumSquares from sums[ranges[i].first] on.
struct SumRange {
    unsigned first;
    unsigned count;
};
void finishRecords(cudaStream_t stream, Record* records, const BlockSums* sums, const SumRange* ranges, unsigned count);

} // namespace halfscope::cuda
