// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels that reduce along a row. Sums run in 16 interleaved lanes (element i in lane i % 16), reduced by a fixed
// tree.
#pragma once

#include <cstddef>

#include "engine/core/simd_dispatch.h"

namespace halfscope {

struct LayerNormRow {
    const float* dOut;
    const float* x;
    const float* gain;
    const float* residual; // may be null
    float mean;
    float rstd;
    float* dx;     // residual + gradient of x
    float* dGain;  // added to
    float* dShift; // added to
    std::size_t n;
};

// Products with rows [first, first + rows) of a lower triangular matrix that take only the terms on and below the
// diagonal. Slower than packed panels; for operands whose infinities must not meet the zeros above it.
struct LowerProduct {
    const float* lower; // (rows, first + rows)
    std::size_t lowerStride;
    std::size_t first;
    std::size_t rows;
    const float* b; // multiplyLower: (first + rows, cols), addLowerTransposed: (rows, cols)
    std::size_t bStride;
    std::size_t cols;
    float* c; // multiplyLower: (rows, cols) = lower b; addLowerTransposed: (first + rows, cols) += lower^T b
    std::size_t cStride;
};

struct RowKernels {
    // out = (x - mean) * rstd * gain + shift; mean and rstd = 1 / sqrt(variance + eps) are stored. Two passes.
    void (*layerNorm)(const float* x, const float* gain, const float* shift, float* out, std::size_t n, float* mean,
                      float* rstd);
    void (*layerNormBackward)(const LayerNormRow& row);
    // The next three work on whole groups of 16: what they write has room up to the next multiple of 16, and what they
    // leave there means nothing.
    // x = softmax(x * scale), in place.
    void (*softmax)(float* x, std::size_t n, float scale);
    // d = p * (d - sum(p * d)) * scale, in place: from the gradient of the probabilities to that of the scores.
    void (*softmaxBackward)(const float* p, float* d, std::size_t n, float scale);
    // -log(softmax(x)[target]). If dx is given: dx = (softmax(x) - [i == target]) * factor.
    double (*crossEntropy)(const float* x, std::size_t n, std::size_t target, float* dx, float factor);
    void (*multiplyLower)(const LowerProduct& product);
    void (*addLowerTransposed)(const LowerProduct& product);
};

HALFSCOPE_DECLARE_KERNELS(RowKernels, rowKernels)

} // namespace halfscope
