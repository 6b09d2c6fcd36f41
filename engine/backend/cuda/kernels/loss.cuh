// SPDX-License-Identifier: GPL-3.0-or-later
// Cross-entropy with its gradient. CPU twin: crossEntropy() in backend/cpu/training.cpp and simd/row_kernels.cpp.
#pragma once

#include "engine/backend/cuda/kernels/probe.cuh"

namespace halfscope::cuda {

// logits (rows, cols), targets (rows), -1 where nothing is predicted. Leaves the sum of -log(softmax(row)[target]) over
// the other rows in `loss`. If dLogits has data: dLogits (rows, cols) = (softmax - [column is the target]) * factor, 0
// where nothing is predicted. A warp a row.
void crossEntropy(cudaStream_t stream, Source logits, const int* targets, Destination dLogits, float factor,
                  long long rows, long long cols, const Report& loss, const Probe& probe);

// columns[row] = where row `row` of x (rows, cols) is largest, the first of equals; -1 where the row has a NaN.
void argmax(cudaStream_t stream, Source x, int* columns, long long rows, long long cols);

} // namespace halfscope::cuda
