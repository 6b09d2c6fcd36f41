// SPDX-License-Identifier: GPL-3.0-or-later
// The past of the histograms in bounded memory: the latest rows whole, older ones merged 4:1, again and again, by exact
// addition. Nothing is sampled away. Least and greatest scales and the number of skipped steps stay exact as well.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "engine/train/packed_row.h"
#include "engine/train/telemetry.h"

namespace halfscope {

// A histogram over the occupied exponents only.
struct SparseHistogram {
    std::int16_t firstExponent = 0;
    std::vector<std::uint64_t> counts;
    ClassCounts classes;
    float absMin = 0.0F;
    float absMax = 0.0F;
    double sum = 0.0;
    double sumSquares = 0.0;
    std::uint64_t unscaledToInfinity = 0;
    FormatId format = FormatId::Fp32; // of the latest step merged into it
    float ownScale = 0.0F;            // likewise, as TapStatistics has it

    static SparseHistogram from(const TapStatistics& tap);
    void merge(const SparseHistogram& later);
    std::uint64_t at(int exponent) const;
    TensorStatistics expand() const;
};

// What a row is about.
struct HistorySpan {
    std::int64_t firstStep = 0;
    std::int64_t lastStep = 0;
    std::int64_t measuredSteps = 0; // rows merged into this one
    std::int64_t skippedSteps = 0;  // of them
    float minScale = 0.0F;
    float maxScale = 0.0F;
    float lastScale = 0.0F;
};

struct HistoryRow : HistorySpan {
    std::vector<SparseHistogram> taps; // index: HistogramHistory::tapIndex(); an empty one was not measured
};

class HistogramHistory {
public:
    static constexpr std::size_t kWholeRows = 1024;
    static constexpr std::size_t kRowsPerLevel = 256;

    explicit HistogramHistory(int moduleCount = 0);

    int moduleCount() const { return m_moduleCount; }
    int tapIndex(int module, Tap tap) const { return module * kTapCount + static_cast<int>(tap); }

    void append(const Snapshot& snapshot);
    void clear(int moduleCount);

    std::size_t rowCount() const;
    const HistorySpan& span(std::size_t index) const; // 0 is the oldest
    HistoryRow row(std::size_t index) const; // unpacked; for many taps of many rows use readTaps() or addTaps()
    // Calls `visit(tapIndex, const SparseHistogram&)` for every tap that was measured.
    template <typename Visit>
    void readTaps(std::size_t index, Visit visit) const;
    // Adds one tap of all `modules` (empty: all) that was measured, or of those of them in the format `only`.
    void addTaps(HistogramSum& sum, std::size_t index, Tap tap, const std::vector<int>& modules,
                 std::optional<FormatId> only = {}) const;
    // Index of the row covering `step`, or of the last one before it; rowCount() when there is none.
    std::size_t rowAt(std::int64_t step) const;
    std::size_t bytes() const;
    std::uint64_t version() const { return m_version; } // changes with every append and clear

private:
    struct Row {
        HistorySpan span;
        PackedRow taps;
    };
    const Row& packed(std::size_t index) const;
    PackedRow pack(const Snapshot& snapshot) const;

    int m_moduleCount = 0;
    std::uint64_t m_version = 0;
    std::vector<std::deque<Row>> m_levels; // [0] is the newest, whole rows
};

template <typename Visit>
void HistogramHistory::readTaps(std::size_t index, Visit visit) const
{
    PackedRow::Reader reader(packed(index).taps);
    SparseHistogram tap;
    for (int i = 0; i < m_moduleCount * kTapCount; ++i) {
        reader.read(tap);
        if (tap.classes.total() != 0)
            visit(i, std::as_const(tap));
    }
}

} // namespace halfscope
