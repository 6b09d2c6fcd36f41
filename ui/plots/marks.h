// SPDX-License-Identifier: GPL-3.0-or-later
// The shapes that mark steps: told apart by form and place first, by colour second.
#pragma once

#include <qcustomplot.h>
#include <vector>

#include "ui/plots/run_digest.h"

namespace halfscope {

enum class MarkShape {
    Overflow, // triangle pointing down, at the top
    BadLoss,  // cross, at the top
    Command,  // diamond, at the bottom
    Growth,   // triangle pointing up, at the bottom
};

// Draws one shape centred at `center`, `size` pixels wide.
void paintMark(QPainter& painter, MarkShape shape, const QPointF& center, double size, const QColor& color);

// Draws clusters at height y; those of several steps get their number ("×12") beside them where there is room.
void paintClusters(QPainter& painter, MarkShape shape, const std::vector<MarkCluster>& clusters, double y, double right,
                   const QColor& color, const QFont& font);

inline constexpr double kMarkSize = 8.0; // pixels
inline constexpr double kMarkGap = 10.0;

} // namespace halfscope
