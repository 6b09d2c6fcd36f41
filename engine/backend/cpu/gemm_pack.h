// SPDX-License-Identifier: GPL-3.0-or-later
// From matrices in any format, transposed or not, to the FP32 panels that the inner kernels read.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm_kernels.h"
#include "engine/backend/tensor.h"

namespace halfscope::cpu {

// One factor of a matrix product as it lies in memory.
struct Operand {
    FormatId format = FormatId::Fp32;
    const void* data = nullptr;
    std::int64_t stride = 0; // elements from a row in memory to the next
    bool transposed = false; // the matrix meant is the transpose of the one in memory

    static Operand of(const Tensor& t, bool transposed) { return {t.format(), t.data(), t.cols(), transposed}; }
    static Operand of(const float* data, std::int64_t stride, bool transposed)
    {
        return {FormatId::Fp32, data, stride, transposed};
    }
};

// Floats of scratch that packing needs to widen a 16-bit operand.
std::int64_t packScratchSize(const GemmKernels& kernels);

// Rows [row, row + rows) of A (m, k), all `depth` values of k. Panel p begins at to + p * depth * tileRows.
void packA(const GemmKernels& kernels, const Operand& a, std::int64_t row, std::int64_t rows, std::int64_t depth,
           float* to, float* scratch);

// Columns [col, col + cols) of B (k, n); `col` is a multiple of tileCols and `to` is where column 0's panel begins.
// Panel p begins at to + p * depth * tileCols.
void packB(const GemmKernels& kernels, const Operand& b, std::int64_t col, std::int64_t cols, std::int64_t depth,
           float* to, float* scratch);

} // namespace halfscope::cpu
