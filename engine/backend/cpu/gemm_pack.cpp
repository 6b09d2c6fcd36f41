// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/gemm_pack.h"

#include <algorithm>
#include <cstddef>

#include "engine/numerics/cast.h"

namespace halfscope::cpu {

namespace {

constexpr std::int64_t kPieceDepth = 256; // values of k widened at a time, from lines along k
constexpr std::int64_t kPieceWidth = 512; // neighbours widened at a time, from lines across k
constexpr std::int64_t kPieceLines = 16;

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

// Lines [first, first + count) run along k.
void packAlong(PackLines pack, std::int64_t width, const Operand& operand, std::int64_t first, std::int64_t count,
               std::int64_t depth, float* to, float* scratch)
{
    for (std::int64_t line = 0; line < count; line += width) {
        const std::int64_t lines = std::min(width, count - line);
        float* panel = to + line * depth;
        for (std::int64_t k = 0; k < depth; k += kPieceDepth) {
            const std::int64_t length = std::min(kPieceDepth, depth - k);
            std::int64_t stride = 0;
            const float* from = widenPiece(operand, first + line, lines, k, length, scratch, stride);
            pack(from, stride, lines, length, panel + k * width);
        }
    }
}

// Neighbours [first, first + count) of every line; there is a line for each k.
void packAcross(PackAcross pack, std::int64_t width, const Operand& operand, std::int64_t first, std::int64_t count,
                std::int64_t depth, float* to, float* scratch)
{
    const std::int64_t step = kPieceWidth / width * width;
    for (std::int64_t at = 0; at < count; at += step) {
        const std::int64_t length = std::min(step, count - at);
        for (std::int64_t k = 0; k < depth; k += kPieceLines) {
            const std::int64_t lines = std::min(kPieceLines, depth - k);
            std::int64_t stride = 0;
            const float* from = widenPiece(operand, k, lines, first + at, length, scratch, stride);
            pack(from, stride, length, lines, to + at * depth + k * width, depth * width);
        }
    }
}

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

void packA(const GemmKernels& kernels, const Operand& a, std::int64_t row, std::int64_t rows, std::int64_t depth,
           float* to, float* scratch)
{
    if (a.transposed) {
        packAcross(kernels.packAcrossA, kernels.tileRows, a, row, rows, depth, to, scratch);
    } else {
        packAlong(kernels.packLinesA, kernels.tileRows, a, row, rows, depth, to, scratch);
    }
}

void packB(const GemmKernels& kernels, const Operand& b, std::int64_t col, std::int64_t cols, std::int64_t depth,
           float* to, float* scratch)
{
    float* const panels = to + col * depth;
    if (b.transposed) {
        packAlong(kernels.packLinesB, kernels.tileCols, b, col, cols, depth, panels, scratch);
    } else {
        packAcross(kernels.packAcrossB, kernels.tileCols, b, col, cols, depth, panels, scratch);
    }
}

} // namespace halfscope::cpu
