// SPDX-License-Identifier: GPL-3.0-or-later
// The line of explanations above a plot. It shrinks with the room: short words first, then the last entries go.
#pragma once

#include <QFont>
#include <QString>
#include <functional>
#include <qcustomplot.h>
#include <vector>

namespace halfscope {

struct LegendEntry {
    QString words;
    QString shorter;                                         // empty: the words
    std::function<void(QCPPainter&, const QPointF&)> symbol; // painted around a point, 12 pixels wide
};

double legendWidth(const QFont& font, const std::vector<LegendEntry>& entries, bool shorter);
// Entries from left to right along a line whose upper edge is y. Returns where they end.
double paintLegend(QCPPainter& painter, const QFont& font, const QColor& text, double left, double right, double y,
                   const std::vector<LegendEntry>& entries);

// A stroke of this colour, as most entries have.
std::function<void(QCPPainter&, const QPointF&)> legendLine(const QColor& color);

} // namespace halfscope
