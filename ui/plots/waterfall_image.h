// SPDX-License-Identifier: GPL-3.0-or-later
// The picture of the waterfall: one column a group of steps, one row an exponent, coloured by the share of the column's
// gradients. A ring of columns on a fixed grid of steps, so that a scrolling view only computes what is new.
#pragma once

#include <QImage>
#include <array>
#include <cstdint>
#include <vector>

#include "ui/run_model.h"

namespace halfscope {

class WaterfallImage {
public:
    static constexpr int kColumns = 2048; // at most so many at once
    static constexpr int kRows = ExponentHistogram::kBinCount;
    // Shares between these have colours of their own; what is beyond has the first or the last.
    static constexpr double kFloorShare = 1e-6;
    static constexpr double kTopShare = 0.25;

    void setColors(const std::array<QRgb, 256>& density);
    // Forgets everything: another run, another selection.
    void clear();
    // Brings the columns that show the steps low..high up to date. Returns how many had to be computed. `most`: of the
    // history's tensors to go through in this call, about; the newest columns come first, and the rest is left for the
    // next calls, until isComplete().
    int update(const RunModel& run, double low, double high, std::int64_t most = std::int64_t{1} << 62);
    bool isComplete() const { return m_complete; }

    std::int64_t stepsPerColumn() const { return m_stepsPerColumn; }
    std::int64_t firstColumn() const { return m_first; } // column c covers steps c * stepsPerColumn + 1 and following
    std::int64_t columnEnd() const { return m_end; }
    // Sum of the history rows that start in a column; empty counts when there are none.
    static SparseHistogram columnOf(const RunModel& run, std::int64_t firstStep, std::int64_t lastStep);

    // Draws columns and exponents into the rectangle that shows steps low..high and exponents bottom..top.
    void paint(QPainter& painter, const QRectF& rect, double low, double high, double bottom, double top) const;
    // Colour index of a cell, 0: empty.
    std::uint8_t level(std::int64_t column, int exponent) const;
    int occupiedLow() const { return m_occupiedLow; } // exponents with values among the columns kept; low > high: none
    int occupiedHigh() const { return m_occupiedHigh; }

private:
    void computeColumn(const RunModel& run, std::int64_t column);
    static std::int64_t workOf(const RunModel& run, std::int64_t firstStep, std::int64_t lastStep);

    std::array<QRgb, 256> m_colors{};
    std::vector<std::uint8_t> m_levels; // [column % kColumns][row], row 0 is the largest exponent
    QImage m_image;                     // the same, coloured: kColumns x kRows
    std::int64_t m_stepsPerColumn = 1;
    std::int64_t m_first = 0;
    std::int64_t m_end = 0; // exclusive
    bool m_complete = true;
    std::int64_t m_lastStepSeen = 0;
    std::uint64_t m_generation = 0;
    TapSelection m_selection;
    int m_occupiedLow = 1;
    int m_occupiedHigh = 0;
};

} // namespace halfscope
