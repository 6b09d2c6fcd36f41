// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/held_out_series.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halfscope {

namespace {

constexpr double kDot = 2.2; // radius, pixels

void paintDot(QCPPainter& painter, const QPointF& at, const QColor& color)
{
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawEllipse(at, kDot, kDot);
}

} // namespace

HeldOutSeries::HeldOutSeries(double StepRecord::*figure, bool largerIsBetter)
    : m_figure(figure), m_largerIsBetter(largerIsBetter)
{
}

void HeldOutSeries::extend(const RunModel* run, std::int64_t headSwapped)
{
    if (m_source.changed(run, headSwapped, m_read)) {
        m_points.clear();
        m_best.reset();
        m_read = 0;
        m_headSwapped = headSwapped;
    }
    for (const std::size_t count = run != nullptr ? run->steps.size() : 0; m_read < count; ++m_read) {
        const StepRecord record = run->steps[m_read];
        const double value = record.*m_figure;
        if (!std::isfinite(value) || (!m_points.empty() && m_points.back().step == record.step))
            continue;
        m_points.push_back({record.step, value});
        if (record.step < m_headSwapped) // of what it was before
            continue;
        if (!m_best || (m_largerIsBetter ? value > m_points[*m_best].value : value < m_points[*m_best].value))
            m_best = m_points.size() - 1;
    }
}

double HeldOutSeries::at(std::int64_t step) const
{
    const auto found = std::ranges::lower_bound(m_points, step, {}, &Point::step);
    return found != m_points.end() && found->step == step ? found->value : std::numeric_limits<double>::quiet_NaN();
}

MinMaxPyramid::Extent HeldOutSeries::extent(const QCPRange& steps, const Drawn& drawn) const
{
    MinMaxPyramid::Extent extent;
    for (const Point& point : m_points) {
        if (steps.contains(static_cast<double>(point.step)))
            extent.include(static_cast<float>(drawn(point.value)));
    }
    return extent;
}

void HeldOutSeries::paint(QCPPainter& painter, const QCPRange& steps, const Drawn& drawn,
                          const std::function<QPointF(double, double)>& place, const SeriesStyle& style) const
{
    // One point beyond each edge, so that the line goes on to it.
    const auto begin =
        std::ranges::lower_bound(m_points, steps.lower, {}, [](const Point& p) { return double(p.step); });
    const auto end = std::ranges::upper_bound(m_points, steps.upper, {}, [](const Point& p) { return double(p.step); });
    const auto from = begin == m_points.begin() ? begin : begin - 1;
    const auto to = end == m_points.end() ? end : end + 1;
    // No line leads from what was measured before the head was swapped to what it is of since.
    const auto swap = std::ranges::lower_bound(from, to, m_headSwapped, {}, &Point::step);
    for (const auto& [first, last] : {std::pair(from, swap), std::pair(swap, to)}) {
        QPolygonF line;
        for (auto point = first; point != last; ++point) {
            if (const double value = drawn(point->value); std::isfinite(value))
                line << place(static_cast<double>(point->step), value);
        }
        painter.setBrush(Qt::NoBrush);
        painter.setPen(style.pen(1));
        painter.drawPolyline(line);
        // Dots where they can be told apart.
        const double width = line.size() > 1 ? line.last().x() - line.first().x() : 0;
        if (line.size() == 1 || width / static_cast<double>(line.size()) > 4 * kDot) {
            for (const QPointF& at : line)
                paintDot(painter, at, style.color);
        }
    }
}

std::function<void(QCPPainter&, const QPointF&)> HeldOutSeries::legend(const SeriesStyle& style)
{
    return [style](QCPPainter& painter, const QPointF& at) {
        legendLine(style)(painter, at);
        paintDot(painter, at - QPointF(1, 0), style.color);
    };
}

} // namespace halfscope
