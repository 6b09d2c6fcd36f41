// SPDX-License-Identifier: GPL-3.0-or-later
// How every operation reads its inputs as FP32 and stores its FP32 results: multiplied by the probe's factor, counted,
// rounded once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/backend/cpu/scratch.h"

namespace halfscope::cpu {

// Elements counted and stored at a time. Fixed, because the order in which sums are merged follows from it.
inline constexpr std::int64_t kChunkElements = 8192;

constexpr std::int64_t ceilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Rows of a matrix with `cols` columns that make a chunk of about kChunkElements.
constexpr std::int64_t rowsPerChunk(std::int64_t cols)
{
    return cols <= 0 || cols >= kChunkElements ? 1 : kChunkElements / cols;
}

// The address of element `index`.
const void* elementAddress(const Tensor& t, std::int64_t index);
void* elementAddress(Tensor& t, std::int64_t index);

// n elements from `first` on, as FP32: in place where the tensor holds FP32 numbers, else widened into `temporary`.
const float* readElements(const Tensor& t, std::int64_t first, std::int64_t n, float* temporary);

// Where an operation puts results for a tensor: in place where it holds FP32 numbers, else in `temporary`.
float* resultPlace(Tensor& t, std::int64_t first, float* temporary);

// Whether some of the n values are infinite or NaN.
bool anyNonfinite(const float* x, std::int64_t n);

// Writes results into tensors of one format; one for each chunk and probe.
class Sink {
public:
    Sink(FormatId format, const CastProbe* probe, ProbeSlot* slot) : m_format(format), m_probe(probe), m_slot(slot) {}

    // to[i] = round(values[i] * factor), n elements. `values` is changed by the factor, and clamped; it may be `to`
    // itself for an FP32 tensor.
    void store(float* values, void* to, std::int64_t n);
    // The same for a block: rows of `values` are `valuesStride` floats apart, those of `to` `stride` elements. A block
    // that is measured is made contiguous first: then `values` may be `to` only if it is contiguous there, and `packed`
    // has room for the block.
    void storeBlock(float* values, std::int64_t valuesStride, std::int64_t rows, std::int64_t cols, void* to,
                    std::int64_t stride, void* packed);
    // x[i] = the value a tensor of the format would hold, without counting; tells whether a finite value saturated.
    static bool roundInPlace(FormatId format, float* x, std::int64_t n, void* packed);
    void noteSaturated(bool saturated)
    {
        if (m_slot != nullptr) {
            m_slot->saturated |= saturated;
        }
    }

private:
    void count(float* values, void* to, std::int64_t n);
    void write(float* values, void* to, std::int64_t n);

    FormatId m_format;
    const CastProbe* m_probe;
    ProbeSlot* m_slot;
};

// The slots of one probe for one operation. Chunks fill them in any order; finish() merges them in order of index.
class ProbeSlots {
public:
    // `probe` may be null: then nothing is counted.
    ProbeSlots(std::vector<ProbeSlot>& slots, CastProbe* probe, std::int64_t count);

    // The sink of chunk `index`; its slot begins empty.
    Sink sink(FormatId format, std::int64_t index);
    void finish();

private:
    std::vector<ProbeSlot>& m_slots;
    CastProbe* m_probe;
    std::int64_t m_count;
};

} // namespace halfscope::cpu
