// SPDX-License-Identifier: GPL-3.0-or-later
// A figure of the held-out examples, measured after some of the steps: points joined by a line, and its best.
#pragma once

#include <functional>
#include <optional>
#include <qcustomplot.h>
#include <vector>

#include "ui/plots/min_max_pyramid.h"
#include "ui/plots/series_source.h"
#include "ui/plots/series_style.h"
#include "ui/run_model.h"

namespace halfscope {

class HeldOutSeries {
public:
    struct Point {
        std::int64_t step = 0;
        double value = 0.0;
    };

    // `largerIsBetter`: as for an accuracy; not for a loss.
    HeldOutSeries(double StepRecord::*figure, bool largerIsBetter);

    // Takes over what is new; all of it when it is another run. `headSwapped`: the first step as a classifier, or 0.
    void extend(const RunModel* run, std::int64_t headSwapped = 0);
    const std::vector<Point>& points() const { return m_points; }
    // Of what the model is now: null after the head was swapped, until something was measured.
    const Point* newest() const { return m_best ? &m_points.back() : nullptr; }
    const Point* best() const { return m_best ? &m_points[*m_best] : nullptr; } // the first of equals
    double at(std::int64_t step) const;                                         // nan: not measured there

    // `drawn`: where a value lies on the axis; nan: nowhere.
    using Drawn = std::function<double(double)>;
    MinMaxPyramid::Extent extent(const QCPRange& steps, const Drawn& drawn) const;
    // `place`: the pixel of a step and of a value as drawn.
    void paint(QCPPainter& painter, const QCPRange& steps, const Drawn& drawn,
               const std::function<QPointF(double, double)>& place, const SeriesStyle& style) const;
    static std::function<void(QCPPainter&, const QPointF&)> legend(const SeriesStyle& style);

private:
    double StepRecord::*m_figure;
    bool m_largerIsBetter;
    std::vector<Point> m_points;
    std::optional<std::size_t> m_best;
    std::size_t m_read = 0; // steps
    std::int64_t m_headSwapped = 0;
    SeriesSource m_source;
};

// The line of held-out figures, in every plot: blue, which stays apart from the amber of training for everybody.
inline SeriesStyle heldOutStyle(const Theme& theme) { return {seriesStyle(1, theme).color, {}}; }

} // namespace halfscope
