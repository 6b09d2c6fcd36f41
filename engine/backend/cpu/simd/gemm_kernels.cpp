// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/gemm_kernels.h"

#include "engine/core/simd.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {

namespace {

// Register tiles: as many accumulators as leave room for a column of B and one element of A.
constexpr int kTileVectors = 2;
#if HALFSCOPE_SIMD_WIDTH == 16
constexpr int kTileRows = 12; // 24 of 32 registers
#elif HALFSCOPE_SIMD_WIDTH == 8
constexpr int kTileRows = 6; // 12 of 16 registers
#else
constexpr int kTileRows = 4; // the emulated fma needs registers too
#endif
constexpr int kTileCols = kTileVectors * kWidth;
constexpr std::int64_t kDepth = 256;

void multiplyTile(std::int64_t depth, const float* a, const float* b, float* c, std::int64_t stride, bool accumulate)
{
    Vec sum[kTileRows][kTileVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < kTileVectors; ++j) {
            sum[i][j] = accumulate ? Vec::load(c + i * stride + j * kWidth) : Vec::zero();
        }
    }
    for (std::int64_t k = 0; k < depth; ++k) {
        Vec column[kTileVectors];
#pragma GCC unroll 2
        for (int j = 0; j < kTileVectors; ++j) {
            column[j] = Vec::load(b + j * kWidth);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kTileRows; ++i) {
            const Vec element = Vec::broadcast(a[i]);
#pragma GCC unroll 2
            for (int j = 0; j < kTileVectors; ++j) {
                sum[i][j] = fma(element, column[j], sum[i][j]);
            }
        }
        a += kTileRows;
        b += kTileCols;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < kTileVectors; ++j) {
            sum[i][j].store(c + i * stride + j * kWidth);
        }
    }
}

void multiply(const GemmBlock& block)
{
    // A panel of B stays in the first cache while the panels of A, which stay in the second, stream past it.
    for (std::int64_t col = 0; col < block.colPanels; ++col) {
        for (std::int64_t row = 0; row < block.rowPanels; ++row) {
            multiplyTile(block.depth, block.a + row * block.aPanel, block.b + col * block.bPanel,
                         block.c + row * kTileRows * block.stride + col * kTileCols, block.stride, block.accumulate);
        }
    }
}

template <int kPanelWidth>
HALFSCOPE_INLINE void packLines(const float* from, std::int64_t stride, std::int64_t lines, std::int64_t depth,
                                float* to)
{
    if (lines == kPanelWidth) {
        for (std::int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 32
            for (int i = 0; i < kPanelWidth; ++i) {
                to[k * kPanelWidth + i] = from[i * stride + k];
            }
        }
        return;
    }
    for (std::int64_t k = 0; k < depth; ++k) {
        for (std::int64_t i = 0; i < kPanelWidth; ++i) {
            to[k * kPanelWidth + i] = i < lines ? from[i * stride + k] : 0.0F;
        }
    }
}

template <int kPanelWidth>
HALFSCOPE_INLINE void packAcross(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth,
                                 float* to, std::int64_t panel)
{
    for (std::int64_t k = 0; k < depth; ++k) {
        const float* line = from + k * stride;
        float* at = to + k * kPanelWidth;
        std::int64_t first = 0;
        for (; first + kPanelWidth <= count; first += kPanelWidth) {
            __builtin_memcpy(at, line + first, sizeof(float) * kPanelWidth);
            at += panel;
        }
        if (first < count) {
            for (int i = 0; i < kPanelWidth; ++i) {
                at[i] = first + i < count ? line[first + i] : 0.0F;
            }
        }
    }
}

void packLinesA(const float* from, std::int64_t stride, std::int64_t lines, std::int64_t depth, float* to)
{
    packLines<kTileRows>(from, stride, lines, depth, to);
}

void packLinesB(const float* from, std::int64_t stride, std::int64_t lines, std::int64_t depth, float* to)
{
    packLines<kTileCols>(from, stride, lines, depth, to);
}

void packAcrossA(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth, float* to,
                 std::int64_t panel)
{
    packAcross<kTileRows>(from, stride, count, depth, to, panel);
}

void packAcrossB(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth, float* to,
                 std::int64_t panel)
{
    packAcross<kTileCols>(from, stride, count, depth, to, panel);
}

} // namespace

const GemmKernels gemmKernels = {kTileRows,  kTileCols,  kDepth,      multiply,
                                 packLinesA, packLinesB, packAcrossA, packAcrossB};

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
