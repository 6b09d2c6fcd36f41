// SPDX-License-Identifier: GPL-3.0-or-later
// From matrices in any format, transposed or not, to the FP32 panels that the inner kernels read.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm_kernels.h"
#include "engine/backend/tensor.h"

namespace halfscope::cpu {

// One factor of a matrix product as it lies in memory.
struct Operand {
    FormatId format = FormatId::Fp32; // TF32: FP32 numbers, still to be rounded
    const void* data = nullptr;
    std::int64_t stride = 0; // elements from a row in memory to the next
    bool transposed = false; // the matrix meant is the transpose of the one in memory

    // With `tf32` an FP32 tensor is rounded to TF32 as it is read.
    static Operand of(const Tensor& t, bool transposed, bool tf32 = false)
    {
        const bool rounded = tf32 && t.format() == FormatId::Fp32;
        return {rounded ? FormatId::Tf32 : t.format(), t.data(), t.cols(), transposed};
    }
    static Operand of(const float* data, std::int64_t stride, bool transposed)
    {
        return {FormatId::Fp32, data, stride, transposed};
    }
};

// Floats of scratch that packing needs to widen, or round, an operand that is not FP32.
std::int64_t packScratchSize(const GemmKernels& kernels);

// n elements of an operand of this format, as the products take them.
void readAsFloats(FormatId format, const void* from, float* to, std::int64_t n);

// Rows of A in panels as the kernels read them.
struct PanelsA {
    const float* first = nullptr;
    std::int64_t panel = 0; // floats from a panel to the next
    std::int64_t row = 0;   // from a row to the next; 0 where they are packed
    std::int64_t step = 0;  // from a k to the next
};

// Floats that panelsA() needs.
std::int64_t panelsSizeA(const GemmKernels& kernels, std::int64_t rows, std::int64_t depth);

// Rows [row, row + rows) of A (m, k), all `depth` values of k: where they lie if the kernels can read them there, else
// in `to`.
PanelsA panelsA(const GemmKernels& kernels, const Operand& a, std::int64_t row, std::int64_t rows, std::int64_t depth,
                float* to, float* scratch);

// Values [k, k + depth) of all rows of a transposed A, which lies in memory as (k, rows). Panel p begins at
// to + p * panel, with k = 0.
void packTransposedA(const GemmKernels& kernels, const Operand& a, std::int64_t k, std::int64_t depth,
                     std::int64_t rows, std::int64_t panel, float* to, float* scratch);

// Columns [col, col + cols) of B (k, n); `col` is a multiple of tileCols. Panel p of B begins at to + p * panel.
void packB(const GemmKernels& kernels, const Operand& b, std::int64_t col, std::int64_t cols, std::int64_t depth,
           float* to, std::int64_t panel, float* scratch);

} // namespace halfscope::cpu
