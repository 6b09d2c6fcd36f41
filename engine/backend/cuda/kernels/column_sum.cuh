// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over the rows of a (rows, cols) matrix. CPU twin: columnSum() in backend/cpu/elementwise.cpp. Blocks of rows are
// summed from their first row on into `partials` (chunks, cols), then the chunks' sums are added in order.
#pragma once

#include "engine/backend/cuda/kernels/probe.cuh"

namespace halfscope::cuda {

constexpr long long kRowsPerChunk = 64;
constexpr long long rowChunks(long long rows) { return ceilDivide(rows, kRowsPerChunk); }
// For kernels that give a thread a column of a chunk: x counts blocks of columns, y chunks.
dim3 columnGrid(long long rows, long long cols);

// partials (rowChunks(rows), cols)
void columnPartials(cudaStream_t stream, Source from, float* partials, long long rows, long long cols);
// out (1, cols) = the sum of partials (chunks, ...); a row of partials is `stride` long. One Sink, for out alone.
void sumPartials(cudaStream_t stream, const float* partials, Destination out, long long chunks, long long stride,
                 long long cols, const Probe& probe);
unsigned sumPartialsBlocks(long long cols);

} // namespace halfscope::cuda
