// SPDX-License-Identifier: GPL-3.0-or-later
// What attention needs beside its matrix products, which cuBLAS computes for all sequences and heads at once. CPU twin:
// backend/cpu/attention.cpp; see there for the definition. H = batch * heads, T the context, d the width of a head.
//
//   forward:  split qkv -> q, k, v (H, T, d)   S = q k^T (FP32)   softmax: S -> P   O = P v   merge O -> out (N, C)
//   backward: split dOut -> dO (H, T, d)       dP = dO v^T        softmaxBackward: P, dP -> dS
//             dV = P^T dO   dQ = dS k   dK = dS^T q   merge dQ, dK, dV -> dQkv (N, 3C)
//
// The products take all of P and dS, with zeros where the mask is. They add nothing unless the other factor is infinite
// or NaN; splitting takes note of that (kNonfiniteInput), and then causalProduct() forms those sums again, one by one,
// without the masked terms. It is always launched and returns at once when there is nothing to mend, so the host need
// not wait to know.
#pragma once

#include "engine/backend/cuda/kernels/probe.cuh"

namespace halfscope::cuda {

struct HeadShape {
    int batch;
    int context;
    int heads;
    int headWidth;
    bool causal;
};
constexpr long long headCount(const HeadShape& s) { return static_cast<long long>(s.batch) * s.heads; }
constexpr long long tokenCount(const HeadShape& s) { return static_cast<long long>(s.batch) * s.context; }

constexpr unsigned kNonfiniteInput = 1;
constexpr unsigned kSaturatedInput = 2; // also by a score

// parts[i] (H, T, d) = columns [i C, (i + 1) C) of `from` (N, parts * C), rounded into `format`, stored as `storage`.
// Flags are added to *flags.
struct SplitArguments {
    Source from;
    FormatId format;
    unsigned saturatingFrom; // of `format`
    Destination parts[3];
    int count; // 1 or 3
};
void splitHeads(cudaStream_t stream, const HeadShape& shape, const SplitArguments& arguments, unsigned* flags);

// to (N, parts * C) from parts[i] (H, T, d) in FP32. With `flags`, the probe's record also gets kSaturated where they
// hold kSaturatedInput.
struct MergeArguments {
    const float* parts[3];
    int count;
    Destination to;
    const unsigned* flags;
};
void mergeHeads(cudaStream_t stream, const HeadShape& shape, const MergeArguments& arguments, const Probe& probe);
unsigned mergeBlocks(const HeadShape& shape, int parts);

// probabilities (H T, T) = softmax(round(scores) / sqrt(d)) over the keys a query meets, 0 elsewhere; also into `copy`,
// if that has data. A warp a row. Scores that saturate in `format` set kSaturatedInput.
struct SoftmaxArguments {
    const float* scores; // (H T, T)
    FormatId format;
    unsigned saturatingFrom;
    float scale; // 1 / sqrt(d)
    Destination probabilities;
    Destination copy; // of them, in the format that the product takes
};
void softmax(cudaStream_t stream, const HeadShape& shape, const SoftmaxArguments& arguments, unsigned* flags);

// dScores (H T, T) = round(P * (dP - rowsum(P * dP)) * scale), 0 where masked, rounded into `format`.
struct SoftmaxBackwardArguments {
    Source probabilities;        // (H T, T)
    const float* dProbabilities; // (H T, T)
    FormatId format;
    unsigned saturatingFrom;
    float scale;
    Destination dScores;
};
void softmaxBackward(cudaStream_t stream, const HeadShape& shape, const SoftmaxBackwardArguments& arguments,
                     unsigned* flags);

// If *flags holds kNonfiniteInput: c (H, T, d) = lower (H, T, T) b (H, T, d), or lower^T b, from the terms on and below
// the diagonal alone.
void causalProduct(cudaStream_t stream, const HeadShape& shape, Source lower, bool transposed, Source b, float* c,
                   const unsigned* flags);

} // namespace halfscope::cuda
