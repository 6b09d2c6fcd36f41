// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/step_path.h"

#include <algorithm>
#include <cmath>

namespace halfscope {

namespace {

class PathBuilder {
public:
    void add(double x, double y)
    {
        const qsizetype n = m_current.size();
        // Extend a level stretch instead of adding to it.
        if (n >= 2 && m_current[n - 1].y() == y && m_current[n - 2].y() == y) {
            m_current[n - 1].setX(x);
            return;
        }
        m_current.append(QPointF(x, y));
    }
    void gap()
    {
        if (m_current.size() == 1) // a lone value is still a dot
            m_current.append(m_current.front() + QPointF(1, 0));
        if (!m_current.isEmpty())
            m_paths.push_back(m_current);
        m_current.clear();
    }
    std::vector<QPolygonF> take()
    {
        gap();
        return std::move(m_paths);
    }

private:
    QPolygonF m_current;
    std::vector<QPolygonF> m_paths;
};

} // namespace

std::vector<QPolygonF> stepPath(const MinMaxPyramid& series, double low, double high, double left, double width,
                                PathShape shape, std::size_t breakBefore)
{
    PathBuilder path;
    const auto last = static_cast<double>(series.size());
    if (!(high > low) || !(width >= 1) || last == 0)
        return path.take();
    const double pixelsPerStep = width / (high - low);
    const auto x = [&](double step) { return left + (step - low) * pixelsPerStep; };
    // One step beyond either edge, so that lines run out of the picture.
    const double first = std::max(1.0, std::floor(low) - 1);
    const double end = std::min(last, std::ceil(high) + 1);
    if (first > end)
        return path.take();

    if (pixelsPerStep > 1.0) {
        for (auto step = static_cast<std::size_t>(first); step <= static_cast<std::size_t>(end); ++step) {
            const auto value = static_cast<double>(series.value(step - 1));
            if (step == breakBefore)
                path.gap();
            if (!std::isfinite(value)) {
                path.gap();
                continue;
            }
            const auto at = static_cast<double>(step);
            if (shape == PathShape::Stairs) {
                path.add(x(at - 0.5), value);
                path.add(x(at + 0.5), value);
            } else {
                path.add(x(at), value);
            }
        }
        return path.take();
    }

    // Columns of one pixel; each step belongs to exactly one.
    const auto columns = static_cast<long>(std::ceil(width));
    auto begin = static_cast<std::size_t>(std::max(1.0, std::ceil(low)));
    const auto column = [&](double at, std::size_t from, std::size_t to) { // steps from .. to - 1
        const MinMaxPyramid::Extent extent = series.extent(from - 1, to - 1);
        if (shape == PathShape::Stairs && extent.valid && from > 1 && std::isfinite(series.value(from - 2)))
            path.add(at, static_cast<double>(series.value(from - 2))); // up to here the last value held
        if (!extent.valid) {
            path.gap();
        } else if (extent.min == extent.max) {
            path.add(at, extent.min);
        } else {
            const float opening = series.value(from - 1);
            const float closing = series.value(to - 2);
            if (std::isfinite(opening))
                path.add(at, opening);
            path.add(at, extent.min);
            path.add(at, extent.max);
            if (std::isfinite(closing))
                path.add(at, closing);
        }
    };
    for (long i = 0; i < columns && begin <= static_cast<std::size_t>(last); ++i) {
        const double edge = low + static_cast<double>(i + 1) / pixelsPerStep;
        const auto stop = static_cast<std::size_t>(std::clamp(std::ceil(edge), 1.0, last + 1)); // exclusive
        if (stop <= begin)
            continue;
        const double at = left + static_cast<double>(i) + 0.5;
        if (begin <= breakBefore && breakBefore < stop) {
            if (begin < breakBefore)
                column(at, begin, breakBefore);
            path.gap();
            begin = breakBefore;
        }
        column(at, begin, stop);
        begin = stop;
    }
    return path.take();
}

} // namespace halfscope
