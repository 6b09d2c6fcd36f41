// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/gemm_pack.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "engine/backend/cpu/store.h"
#include "engine/numerics/cast.h"

namespace halfscope::cpu {

namespace {

constexpr std::int64_t kPieceDepth = 256; // values of k widened at a time, from lines along k
constexpr std::int64_t kPieceWidth = 512; // neighbours widened at a time, from lines across k
constexpr std::int64_t kPieceLines = 16;
constexpr std::int64_t kRowPadding = 16; // between rows that are copied, so that they do not crowd the same cache sets

// The element (line, offset) of the operand in memory.
const void* addressOf(const Operand& operand, std::int64_t line, std::int64_t offset)
{
    const std::int64_t index = line * operand.stride + offset;
    return static_cast<const std::byte*>(operand.data) + index * floatFormat(operand.format).storageBytes;
}

// Copies a (lines, length) piece as FP32 unless it is that already; rounds it if it is to be TF32. Returns where it
// lies and its stride.
const float* widenPiece(const Operand& operand, std::int64_t line, std::int64_t lines, std::int64_t offset,
                        std::int64_t length, float* scratch, std::int64_t& stride)
{
    if (operand.format == FormatId::Fp32) {
        stride = operand.stride;
        return static_cast<const float*>(addressOf(operand, line, offset));
    }
    stride = length;
    for (std::int64_t i = 0; i < lines; ++i) {
        readAsFloats(operand.format, addressOf(operand, line + i, offset), scratch + i * length, length);
    }
    return scratch;
}

using PackLines = void (*)(const float*, std::int64_t, std::int64_t, std::int64_t, float*);
using PackAcross = void (*)(const float*, std::int64_t, std::int64_t, std::int64_t, float*, std::int64_t);

// Lines [first, first + count) run along k. Panel p of them begins at to + p * panel.
void packAlong(PackLines pack, std::int64_t width, const Operand& operand, std::int64_t first, std::int64_t count,
               std::int64_t depth, float* to, std::int64_t panel, float* scratch)
{
    for (std::int64_t line = 0; line < count; line += width) {
        const std::int64_t lines = std::min(width, count - line);
        float* begin = to + line / width * panel;
        for (std::int64_t k = 0; k < depth; k += kPieceDepth) {
            const std::int64_t length = std::min(kPieceDepth, depth - k);
            std::int64_t stride = 0;
            const float* from = widenPiece(operand, first + line, lines, k, length, scratch, stride);
            pack(from, stride, lines, length, begin + k * width);
        }
    }
}

// Neighbours [first, first + count) of lines [line, line + depth); there is a line for each k. Panel p of those
// neighbours begins at to + p * panel, with line `line`.
void packAcross(PackAcross pack, std::int64_t width, const Operand& operand, std::int64_t line, std::int64_t depth,
                std::int64_t first, std::int64_t count, float* to, std::int64_t panel, float* scratch)
{
    const std::int64_t step = kPieceWidth / width * width;
    for (std::int64_t k = 0; k < depth; k += kPieceLines) {
        const std::int64_t lines = std::min(kPieceLines, depth - k);
        for (std::int64_t at = 0; at < count; at += step) {
            const std::int64_t length = std::min(step, count - at);
            std::int64_t stride = 0;
            const float* from = widenPiece(operand, line + k, lines, first + at, length, scratch, stride);
            pack(from, stride, length, lines, to + at / width * panel + k * width, panel);
        }
    }
}

// Whether the rows of a panel, read side by side, would take more than six lines of one set of a cache whose sets
// repeat every 4 KiB: the first one has eight or more of them.
bool crowded(std::int64_t rows, std::int64_t stride) { return rows * std::gcd(stride, std::int64_t{1024}) > 6 * 1024; }

} // namespace

void readAsFloats(FormatId format, const void* from, float* to, std::int64_t n)
{
    if (format == FormatId::Tf32) {
        castArray(format, static_cast<const float*>(from), to, static_cast<std::size_t>(n));
    } else {
        widenArray(format, from, to, static_cast<std::size_t>(n));
    }
}

std::int64_t packScratchSize(const GemmKernels& kernels)
{
    return std::max(kPieceDepth * std::max(kernels.tileRows, kernels.tileCols), kPieceWidth * kPieceLines);
}

std::int64_t panelsSizeA(const GemmKernels& kernels, std::int64_t rows, std::int64_t depth)
{
    return ceilDivide(rows, kernels.tileRows) * kernels.tileRows * (depth + kRowPadding);
}

PanelsA panelsA(const GemmKernels& kernels, const Operand& a, std::int64_t row, std::int64_t rows, std::int64_t depth,
                float* to, float* scratch)
{
    const std::int64_t width = kernels.tileRows;
    if (a.transposed) {
        packAcross(kernels.packAcrossA, width, a, 0, depth, row, rows, to, depth * width, scratch);
        return {to, depth * width, 0, width};
    }
    if (rows % width != 0) { // the last panel has rows that are not there
        packAlong(kernels.packLinesA, width, a, row, rows, depth, to, depth * width, scratch);
        return {to, depth * width, 0, width};
    }
    if (a.format == FormatId::Fp32 && !crowded(width, a.stride)) {
        return {static_cast<const float*>(addressOf(a, row, 0)), a.stride * width, a.stride, 1};
    }
    const std::int64_t stride = depth + kRowPadding;
    for (std::int64_t i = 0; i < rows; ++i) {
        readAsFloats(a.format, addressOf(a, row + i, 0), to + i * stride, depth);
    }
    return {to, stride * width, stride, 1};
}

void packTransposedA(const GemmKernels& kernels, const Operand& a, std::int64_t k, std::int64_t depth,
                     std::int64_t rows, std::int64_t panel, float* to, float* scratch)
{
    packAcross(kernels.packAcrossA, kernels.tileRows, a, k, depth, 0, rows, to + k * kernels.tileRows, panel, scratch);
}

void packB(const GemmKernels& kernels, const Operand& b, std::int64_t col, std::int64_t cols, std::int64_t depth,
           float* to, std::int64_t panel, float* scratch)
{
    float* const panels = to + col / kernels.tileCols * panel;
    if (b.transposed) {
        packAlong(kernels.packLinesB, kernels.tileCols, b, col, cols, depth, panels, panel, scratch);
    } else {
        packAcross(kernels.packAcrossB, kernels.tileCols, b, 0, depth, col, cols, panels, panel, scratch);
    }
}

} // namespace halfscope::cpu
