// SPDX-License-Identifier: GPL-3.0-or-later
// The inner kernels of matrix products. B is packed into panels of `tileCols` columns, side by side for each k. A is
// packed likewise, into panels of `tileRows` rows, or read as it lies where each row runs along k. Rows and columns
// beyond the matrix are zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/simd_dispatch.h"

namespace halfscope {

// c (rowPanels * tileRows, colPanels * tileCols) [+]= A B over `depth` values of k.
struct GemmBlock {
    const float* a;      // first panel, at its first k
    std::int64_t aPanel; // floats from a panel to the next
    std::int64_t aRow;   // floats from a row to the next, where rows run along k; 0 where they are packed
    std::int64_t rowPanels;
    const float* b;
    std::int64_t bPanel;
    std::int64_t colPanels;
    std::int64_t depth;
    float* c;
    std::int64_t stride; // floats from a row of c to the next
    bool accumulate;     // go on from what c holds, instead of from 0
};

struct GemmKernels {
    std::int64_t tileRows;
    std::int64_t tileCols;
    std::int64_t depth; // values of k worth a pass, so that a panel of B stays in the first cache

    // Every element is one chain c = fma(a[k], b[k], c) in order of k.
    void (*multiply)(const GemmBlock& block);
    // Panels from lines that run along k: to[k * width + i] = from[i * stride + k]; lines beyond `lines` are zero.
    void (*packLinesA)(const float* from, std::int64_t stride, std::int64_t lines, std::int64_t depth, float* to);
    void (*packLinesB)(const float* from, std::int64_t stride, std::int64_t lines, std::int64_t depth, float* to);
    // Panels from lines that run across k: line k holds `count` neighbours; panel j begins at to + j * panel.
    void (*packAcrossA)(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth, float* to,
                        std::int64_t panel);
    void (*packAcrossB)(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth, float* to,
                        std::int64_t panel);
};

HALFSCOPE_DECLARE_KERNELS(GemmKernels, gemmKernels)

} // namespace halfscope
