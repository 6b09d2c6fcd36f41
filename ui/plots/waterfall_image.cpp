// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/waterfall_image.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

namespace halfscope {

namespace {

std::int64_t ringIndex(std::int64_t column)
{
    return ((column % WaterfallImage::kColumns) + WaterfallImage::kColumns) % WaterfallImage::kColumns;
}

int rowOf(int exponent) { return ExponentHistogram::kMaxExponent - exponent; }

} // namespace

void WaterfallImage::setColors(const std::array<QRgb, 256>& density)
{
    m_colors = density;
    if (m_image.isNull())
        return;
    for (int row = 0; row < kRows; ++row) {
        auto* line = reinterpret_cast<QRgb*>(m_image.scanLine(row));
        for (int column = 0; column < kColumns; ++column) {
            const std::uint8_t cell = m_levels[static_cast<std::size_t>(column * kRows + row)];
            line[column] = cell == 0 ? 0U : m_colors[cell];
        }
    }
}

void WaterfallImage::clear()
{
    m_first = m_end = 0;
    m_lastStepSeen = 0;
    m_occupiedLow = 1;
    m_occupiedHigh = 0;
}

SparseHistogram WaterfallImage::columnOf(const RunModel& run, std::int64_t firstStep, std::int64_t lastStep)
{
    HistogramSum sum;
    const HistogramHistory& history = run.history;
    std::size_t index = history.rowAt(firstStep);
    if (index == history.rowCount())
        index = 0;
    for (; index < history.rowCount(); ++index) {
        const HistorySpan& span = history.span(index);
        if (span.firstStep > lastStep)
            break;
        if (span.firstStep >= firstStep)
            history.addTaps(sum, index, run.selection.tap, run.selection.modules);
    }
    return sum.result();
}

void WaterfallImage::computeColumn(const RunModel& run, std::int64_t column)
{
    const std::int64_t firstStep = column * m_stepsPerColumn + 1;
    const std::int64_t lastStep = firstStep + m_stepsPerColumn - 1;
    SparseHistogram sum = columnOf(run, firstStep, lastStep);
    if (sum.classes.total() == 0) {
        // No row starts here: inside a merged one that covers several columns, or between measured steps.
        const std::size_t index = run.history.rowAt(firstStep);
        if (index < run.history.rowCount()) {
            const HistorySpan& row = run.history.span(index);
            const std::int64_t interval = std::max(1, run.live.config.statisticsInterval);
            if (firstStep < std::max(row.lastStep + 1, row.firstStep + interval)) {
                if (const auto selected = run.selectedAt(index))
                    sum = *selected;
            }
        }
    }
    const std::int64_t ring = ringIndex(column);
    std::uint8_t* levels = m_levels.data() + ring * kRows;
    std::fill(levels, levels + kRows, std::uint8_t{0});
    const auto total = static_cast<double>(sum.classes.total());
    for (std::size_t i = 0; i < sum.counts.size(); ++i) {
        if (sum.counts[i] == 0)
            continue;
        const int exponent = sum.firstExponent + static_cast<int>(i);
        const double share = static_cast<double>(sum.counts[i]) / total;
        const double position = std::log(share / kFloorShare) / std::log(kTopShare / kFloorShare);
        levels[rowOf(exponent)] =
            static_cast<std::uint8_t>(std::lround(255.0 * std::clamp(position, 1.0 / 255.0, 1.0)));
        m_occupiedLow = m_occupiedLow > m_occupiedHigh ? exponent : std::min(m_occupiedLow, exponent);
        m_occupiedHigh = std::max(m_occupiedHigh, exponent);
    }
    for (int row = 0; row < kRows; ++row) {
        const std::uint8_t cell = levels[row];
        reinterpret_cast<QRgb*>(m_image.scanLine(row))[ring] = cell == 0 ? 0U : m_colors[cell];
    }
}

std::int64_t WaterfallImage::workOf(const RunModel& run, std::int64_t firstStep, std::int64_t lastStep)
{
    const HistogramHistory& history = run.history;
    const std::size_t last = history.rowAt(lastStep);
    std::size_t first = history.rowAt(firstStep);
    first = first == history.rowCount() ? 0 : first;
    const auto rows = last == history.rowCount() ? 1 : static_cast<std::int64_t>(last - std::min(first, last)) + 1;
    return rows * std::max(1, history.moduleCount()) * kTapCount;
}

int WaterfallImage::update(const RunModel& run, double low, double high, std::int64_t most)
{
    m_complete = true;
    if (m_image.isNull()) {
        m_image = QImage(kColumns, kRows, QImage::Format_ARGB32_Premultiplied);
        m_image.fill(0);
        m_levels.assign(static_cast<std::size_t>(kColumns) * kRows, 0);
    }
    if (run.info.generation != m_generation || run.selection != m_selection) {
        clear();
        m_generation = run.info.generation;
        m_selection = run.selection;
    }
    const HistogramHistory& history = run.history;
    if (history.rowCount() == 0 || !(high > low)) {
        clear();
        return 0;
    }
    const std::int64_t lastStep = history.span(history.rowCount() - 1).lastStep;
    if (lastStep < m_lastStepSeen)
        clear();

    // Powers of two, so that zooming in and out comes back to the same columns.
    std::int64_t perColumn = 1;
    while ((high - low) / static_cast<double>(perColumn) > kColumns - 2)
        perColumn *= 2;
    if (perColumn != m_stepsPerColumn) {
        clear();
        m_stepsPerColumn = perColumn;
    }
    const auto columnAt = [&](std::int64_t step) { return (step - 1) / perColumn; };
    const std::int64_t from = columnAt(std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(low))));
    const std::int64_t end = columnAt(std::min(lastStep, static_cast<std::int64_t>(std::ceil(high)))) + 1;
    if (end <= from)
        return 0;

    int computed = 0;
    // The column that the newest step fell into may have been incomplete: forget it, wherever the view is.
    if (lastStep > m_lastStepSeen && m_lastStepSeen > 0)
        m_end = std::clamp(columnAt(m_lastStepSeen), m_first, m_end);
    if (end > m_end && m_end > m_first &&
        workOf(run, m_end * perColumn + 1, end * perColumn) > most) // as good as nothing
        m_first = m_end;
    if (m_first == m_end || from > m_end || end < m_first) {
        m_first = m_end = end; // to be extended downwards
        m_occupiedLow = 1;
        m_occupiedHigh = 0;
    }
    for (; m_end < end; ++m_end, ++computed) {
        computeColumn(run, m_end);
        most -= workOf(run, m_end * perColumn + 1, (m_end + 1) * perColumn);
    }
    m_first = std::max(m_first, m_end - kColumns);
    while (from < m_first) {
        if (most <= 0) {
            m_complete = false;
            break;
        }
        --m_first;
        m_end = std::min(m_end, m_first + kColumns); // the ring holds no more
        computeColumn(run, m_first);
        most -= workOf(run, m_first * perColumn + 1, (m_first + 1) * perColumn);
        ++computed;
    }
    m_lastStepSeen = lastStep;
    return computed;
}

void WaterfallImage::paint(QPainter& painter, const QRectF& rect, double low, double high, double bottom,
                           double top) const
{
    if (m_first == m_end || !(high > low) || !(top > bottom))
        return;
    const auto per = static_cast<double>(m_stepsPerColumn);
    const double xScale = rect.width() / (high - low);
    const double yScale = rect.height() / (top - bottom);
    // Step s covers [s - 1/2, s + 1/2], exponent e covers [e, e + 1].
    const double y = rect.top() + (top - (ExponentHistogram::kMaxExponent + 1)) * yScale;
    painter.save();
    painter.setClipRect(rect, Qt::IntersectClip);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    const auto visibleFirst = std::max(m_first, static_cast<std::int64_t>(std::floor((low - 0.5) / per)));
    const auto visibleEnd = std::min(m_end, static_cast<std::int64_t>(std::ceil((high + 0.5) / per)) + 1);
    for (std::int64_t column = visibleFirst; column < visibleEnd;) {
        // Up to the ring's seam in one piece.
        const std::int64_t ring = ringIndex(column);
        const std::int64_t count = std::min<std::int64_t>(visibleEnd - column, kColumns - ring);
        const double x = rect.left() + (static_cast<double>(column) * per + 0.5 - low) * xScale;
        // Only the rows in view: painters on paper keep the whole picture otherwise.
        const double width = static_cast<double>(count) * per * xScale;
        const int rowFirst = std::clamp(static_cast<int>(std::floor((rect.top() - y) / yScale)), 0, kRows - 1);
        const int rowEnd = std::clamp(static_cast<int>(std::ceil((rect.bottom() - y) / yScale)), rowFirst + 1, kRows);
        painter.drawImage(QRectF(x, y + rowFirst * yScale, width, (rowEnd - rowFirst) * yScale), m_image,
                          QRectF(static_cast<double>(ring), rowFirst, static_cast<double>(count), rowEnd - rowFirst));
        column += count;
    }
    painter.restore();
}

std::uint8_t WaterfallImage::level(std::int64_t column, int exponent) const
{
    if (column < m_first || column >= m_end || exponent < ExponentHistogram::kMinExponent ||
        exponent > ExponentHistogram::kMaxExponent)
        return 0;
    return m_levels[static_cast<std::size_t>(ringIndex(column) * kRows + rowOf(exponent))];
}

} // namespace halfscope
