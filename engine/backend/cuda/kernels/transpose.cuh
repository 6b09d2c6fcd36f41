// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime.h>

namespace halfscope::cuda {

// to (cols, rows) = from (rows, cols) transposed, elements of one byte: FP8 factors for cuBLASLt, which takes them one
// way only. The CPU has no twin: its products read either way.
void transposeBytes(cudaStream_t stream, const void* from, void* to, long long rows, long long cols);

} // namespace halfscope::cuda
