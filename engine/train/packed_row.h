// SPDX-License-Identifier: GPL-3.0-or-later
// The histograms of one row of the history in a quarter of the memory they need to be worked with: counts in as few
// bytes as they have digits to base 128, everything exact. Immutable; a copy shares the bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/train/telemetry.h"

namespace halfscope {

struct SparseHistogram;

// The bins of a histogram from the first that is occupied to the last, and the exponent of the first: 0 where all are
// empty, as in a histogram that was never filled.
struct OccupiedBins {
    int firstExponent = 0;
    std::span<const std::uint64_t> counts;
};
OccupiedBins occupiedBins(const ExponentHistogram& histogram);

// A sum of packed histograms, exact, without a memory allocation for each.
class HistogramSum {
public:
    bool empty() const { return !m_any; }
    SparseHistogram result() const; // what SparseHistogram::merge() would have come to, in the same order

private:
    friend class PackedRow;
    bool m_any = false;
    std::array<std::uint64_t, ExponentHistogram::kBinCount> m_bins{};
    int m_low = ExponentHistogram::kBinCount; // occupied bins; low > high: none
    int m_high = -1;
    ClassCounts m_classes;
    float m_absMin = 0.0F;
    float m_absMax = 0.0F;
    double m_sum = 0.0;
    double m_sumSquares = 0.0;
    std::uint64_t m_unscaledToInfinity = 0;
    FormatId m_format = FormatId::Fp32;
    float m_ownScale = 0.0F;
};

class PackedRow {
public:
    PackedRow() = default;
    // Packs taps one after the other; those without values count as not measured.
    class Writer {
    public:
        void add(const SparseHistogram& tap);
        void add(const TapStatistics& tap);
        void addEmpty();
        PackedRow take();

    private:
        void header(FormatId format, float ownScale, const ClassCounts& classes, float absMin, float absMax, double sum,
                    double sumSquares, std::uint64_t unscaledToInfinity);
        void number(std::uint64_t value);
        template <typename T>
        void raw(T value);
        void close(); // puts the tap's length before it

        std::vector<std::uint8_t> m_bytes;
        // One tap: at most 10 bytes for each count, and less than 150 for the rest.
        std::array<std::uint8_t, 10 * ExponentHistogram::kBinCount + 150> m_tap;
        std::size_t m_length = 0;
    };

    // Goes through the taps in their order.
    class Reader {
    public:
        explicit Reader(const PackedRow& row) : m_at(row.m_bytes ? row.m_bytes->data() : nullptr) {}
        void skip();
        void read(SparseHistogram& into); // keeps its memory
        // Adds the tap if it was measured and, where `only` says so, in that format; returns whether it did.
        bool addTo(HistogramSum& sum, std::optional<FormatId> only = {});

    private:
        template <typename Into>
        void header(Into into);
        std::uint64_t number();
        template <typename T>
        T raw();

        const std::uint8_t* m_at;
    };

    std::size_t bytes() const { return m_bytes ? sizeof(*m_bytes) + m_bytes->capacity() : 0; }

private:
    std::shared_ptr<const std::vector<std::uint8_t>> m_bytes;
};

} // namespace halfscope
