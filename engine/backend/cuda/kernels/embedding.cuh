// SPDX-License-Identifier: GPL-3.0-or-later
// CPU twin: backend/cpu/embedding.cpp. N tokens, vocabulary V, context T, width C.
#pragma once

#include "engine/backend/cuda/kernels/probe.cuh"

namespace halfscope::cuda {

// out (N, C) = table[n] + position (T, C)[n % T], where table[n] is row rows[n] of token (V, C), or, where rows[n] is
// negative, row -1 - rows[n] of patches.
struct EmbeddingTables {
    Source token;
    Source patches;
    Source position;
    const int* rows;
};
void embeddingForward(cudaStream_t stream, const EmbeddingTables& tables, Destination out, long long count,
                      long long context, long long width, const Probe& probe);
// to (N, C): to[n] = from[rows[n]]
void gatherRows(cudaStream_t stream, Source from, const int* rows, Destination to, long long count, long long width,
                const Probe& probe);
// dToken (V, C): row v is the sum of dOut (N, C) at the places order[begin[v]] ... order[begin[v + 1] - 1], in order.
void tokenEmbeddingBackward(cudaStream_t stream, const int* begin, const int* order, Source dOut, Destination dToken,
                            long long vocabulary, long long width, const Probe& probe);
// dPosition (T, C): row t is the sum of dOut (N, C) at t, t + T, t + 2T, ...
void positionEmbeddingBackward(cudaStream_t stream, Source dOut, Destination dPosition, long long count,
                               long long context, long long width, const Probe& probe);
unsigned embeddingBlocks(long long rows, long long width); // of a grid that writes (rows, width)

} // namespace halfscope::cuda
