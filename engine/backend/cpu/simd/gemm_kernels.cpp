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
constexpr std::int64_t kDepth = 8192 / kTileCols; // a panel of B takes 32 KiB

// c = A B for one tile, or c += A B. A's rows lie side by side for each k (kRows = false), or run along k, `rowStride`
// floats apart.
template <bool kAccumulate, bool kRows>
HALFSCOPE_INLINE void multiplyTile(std::int64_t depth, const float* a, std::int64_t rowStride, const float* b, float* c,
                                   std::int64_t stride)
{
    constexpr int kHalf = kTileRows / 2;
    const float* lower = a + kHalf * rowStride; // two starting points, so that fewer multiples of the stride are needed
    Vec sum[kTileRows][kTileVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < kTileVectors; ++j) {
            sum[i][j] = kAccumulate ? Vec::load(c + i * stride + j * kWidth) : Vec::zero();
        }
    }
    const auto addProducts = [&](int k) __attribute__((always_inline))
    {
        Vec column[kTileVectors];
#pragma GCC unroll 2
        for (int j = 0; j < kTileVectors; ++j) {
            column[j] = Vec::load(b + k * kTileCols + j * kWidth);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kTileRows; ++i) {
            const float* at = !kRows      ? a + k * kTileRows + i
                              : i < kHalf ? a + i * rowStride + k
                                          : lower + (i - kHalf) * rowStride + k;
            const Vec element = Vec::broadcast(*at);
#pragma GCC unroll 2
            for (int j = 0; j < kTileVectors; ++j) {
                sum[i][j] = fma(element, column[j], sum[i][j]);
            }
        }
    };
    constexpr int kStep = kRows ? 1 : kTileRows; // floats of A from a k to the next
    for (; depth >= 2; depth -= 2) {
        addProducts(0);
        addProducts(1);
        a += 2 * kStep;
        lower += 2 * kStep;
        b += 2 * kTileCols;
    }
    if (depth > 0) {
        addProducts(0);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < kTileVectors; ++j) {
            sum[i][j].store(c + i * stride + j * kWidth);
        }
    }
}

template <bool kAccumulate, bool kRows>
void multiplyTiles(const GemmBlock& block)
{
    // A panel of B stays in the first cache while the panels of A, which stay in the second, stream past it.
    for (std::int64_t col = 0; col < block.colPanels; ++col) {
        for (std::int64_t row = 0; row < block.rowPanels; ++row) {
            multiplyTile<kAccumulate, kRows>(block.depth, block.a + row * block.aPanel, block.aRow,
                                             block.b + col * block.bPanel,
                                             block.c + row * kTileRows * block.stride + col * kTileCols, block.stride);
        }
    }
}

void multiply(const GemmBlock& block)
{
    if (block.aRow == 0) {
        block.accumulate ? multiplyTiles<true, false>(block) : multiplyTiles<false, false>(block);
    } else {
        block.accumulate ? multiplyTiles<true, true>(block) : multiplyTiles<false, true>(block);
    }
}

using Four [[gnu::vector_size(16)]] = float;
using FourIndices [[gnu::vector_size(16)]] = std::int32_t;

HALFSCOPE_INLINE void storeFour(Four v, float* to) { __builtin_memcpy(to, &v, sizeof v); }

// to[k * width + i] = line i at k, for four lines and four k.
template <int kPanelWidth>
HALFSCOPE_INLINE void transposeFour(const float* from, std::int64_t stride, float* to)
{
    const Four a = loadBytes<Four>(from);
    const Four b = loadBytes<Four>(from + stride);
    const Four c = loadBytes<Four>(from + 2 * stride);
    const Four d = loadBytes<Four>(from + 3 * stride);
    const Four abLow = __builtin_shuffle(a, b, FourIndices{0, 4, 1, 5}); // a0 b0 a1 b1
    const Four abHigh = __builtin_shuffle(a, b, FourIndices{2, 6, 3, 7});
    const Four cdLow = __builtin_shuffle(c, d, FourIndices{0, 4, 1, 5});
    const Four cdHigh = __builtin_shuffle(c, d, FourIndices{2, 6, 3, 7});
    storeFour(__builtin_shuffle(abLow, cdLow, FourIndices{0, 1, 4, 5}), to);
    storeFour(__builtin_shuffle(abLow, cdLow, FourIndices{2, 3, 6, 7}), to + kPanelWidth);
    storeFour(__builtin_shuffle(abHigh, cdHigh, FourIndices{0, 1, 4, 5}), to + 2 * kPanelWidth);
    storeFour(__builtin_shuffle(abHigh, cdHigh, FourIndices{2, 3, 6, 7}), to + 3 * kPanelWidth);
}

// The same for two lines, where the width is not a multiple of four.
template <int kPanelWidth>
HALFSCOPE_INLINE void transposeTwo(const float* from, std::int64_t stride, float* to)
{
    const Four a = loadBytes<Four>(from);
    const Four b = loadBytes<Four>(from + stride);
    const Four low = __builtin_shuffle(a, b, FourIndices{0, 4, 1, 5});
    const Four high = __builtin_shuffle(a, b, FourIndices{2, 6, 3, 7});
    __builtin_memcpy(to, &low, 8);
    __builtin_memcpy(to + kPanelWidth, reinterpret_cast<const char*>(&low) + 8, 8);
    __builtin_memcpy(to + 2 * kPanelWidth, &high, 8);
    __builtin_memcpy(to + 3 * kPanelWidth, reinterpret_cast<const char*>(&high) + 8, 8);
}

template <int kPanelWidth>
HALFSCOPE_INLINE void packLines(const float* from, std::int64_t stride, std::int64_t lines, std::int64_t depth,
                                float* to)
{
    static_assert(kPanelWidth % 2 == 0);
    std::int64_t k = 0;
    if (lines == kPanelWidth) {
        for (; k + 4 <= depth; k += 4) {
            float* at = to + k * kPanelWidth;
#pragma GCC unroll 8
            for (int i = 0; i + 4 <= kPanelWidth; i += 4) {
                transposeFour<kPanelWidth>(from + i * stride + k, stride, at + i);
            }
            if constexpr (kPanelWidth % 4 == 2) {
                constexpr int kRest = kPanelWidth - 2;
                transposeTwo<kPanelWidth>(from + kRest * stride + k, stride, at + kRest);
            }
        }
    }
    for (; k < depth; ++k) {
        for (std::int64_t i = 0; i < kPanelWidth; ++i) {
            to[k * kPanelWidth + i] = i < lines ? from[i * stride + k] : 0.0F;
        }
    }
}

// One panel after the other, so that what is written is contiguous. Whole registers are copied where what that writes
// beyond this k is overwritten by the next.
template <int kPanelWidth>
HALFSCOPE_INLINE void packAcross(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth,
                                 float* to, std::int64_t panel)
{
    constexpr std::int64_t kCopied = (kPanelWidth + kWidth - 1) / kWidth * kWidth;
    for (std::int64_t first = 0; first < count; first += kPanelWidth, to += panel) {
        if (first + kPanelWidth <= count) {
            std::int64_t k = 0;
            if (first + kCopied <= count) {
                for (; k + 1 < depth; ++k) {
                    __builtin_memcpy(to + k * kPanelWidth, from + k * stride + first, sizeof(float) * kCopied);
                }
            }
            for (; k < depth; ++k) {
                __builtin_memcpy(to + k * kPanelWidth, from + k * stride + first, sizeof(float) * kPanelWidth);
            }
            continue;
        }
        for (std::int64_t k = 0; k < depth; ++k) {
            for (std::int64_t i = 0; i < kPanelWidth; ++i) {
                to[k * kPanelWidth + i] = first + i < count ? from[k * stride + first + i] : 0.0F;
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
