// SPDX-License-Identifier: GPL-3.0-or-later
// Layer norm with eps 1e-5 over the rows of x (N, C). CPU twin: backend/cpu/layer_norm.cpp. A warp a row; two passes
// for mean and variance.
#pragma once

#include "engine/backend/cuda/kernels/probe.cuh"

namespace halfscope::cuda {

// out (N, C) = (x - mean) * rstd * gain + shift; mean and rstd (N, 1) are stored. gain and shift (1, C).
void layerNormForward(cudaStream_t stream, Source x, Source gain, Source shift, Destination out, float* mean,
                      float* rstd, long long rows, long long cols, const Probe& probe);

struct LayerNormInputs {
    Source dOut; // (N, C)
    Source x;    // (N, C)
    Source gain; // (1, C)
    const float* mean;
    const float* rstd;
    Source residual; // (N, C); no data: none
};
// dx (N, C) = residual + rstd * (u - mean(u) - h * mean(u h)), with h = (x - mean) * rstd and u = dOut * gain.
void layerNormBackward(cudaStream_t stream, const LayerNormInputs& in, Destination dx, long long rows, long long cols,
                       const Probe& probe);
// Sums over blocks of rows for dGain = sum dOut h and dShift = sum dOut: partials (rowChunks(rows), 2, C); see
// column_sum.cuh.
void layerNormPartials(cudaStream_t stream, const LayerNormInputs& in, float* partials, long long rows, long long cols);

} // namespace halfscope::cuda
