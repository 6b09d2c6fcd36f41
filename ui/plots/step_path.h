// SPDX-License-Identifier: GPL-3.0-or-later
// Turns a series over steps into the few points a screen can show, keeping every peak.
#pragma once

#include <QPolygonF>
#include <vector>

#include "ui/plots/min_max_pyramid.h"

namespace halfscope {

enum class PathShape {
    Stairs, // step n holds its value from n - 1/2 to n + 1/2
    Lines,  // points joined by straight lines
};

// The visible part of the series (value of step n is element n - 1) for steps low..high across `width` pixels from
// `left`. x in pixels, y still in the series' units. One polyline per stretch without gaps; at most five points a
// pixel column. No line leads to the value of step `breakBefore`; 0: there is no such step.
std::vector<QPolygonF> stepPath(const MinMaxPyramid& series, double low, double high, double left, double width,
                                PathShape shape, std::size_t breakBefore = 0);

} // namespace halfscope
