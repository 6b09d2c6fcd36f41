// SPDX-License-Identifier: GPL-3.0-or-later
// How lines that lie over one another are told apart: by hues that the colour-blind can tell (after Okabe and Ito), and
// by dashes.
#pragma once

#include <qcustomplot.h>

#include "ui/theme.h"

namespace halfscope {

struct SeriesStyle {
    QColor color;
    QVector<qreal> dashes; // in widths of the line; empty: solid
    QPen pen(double width) const;
};
SeriesStyle seriesStyle(int number, const Theme& theme); // from 0; repeats after kSeriesStyles
inline constexpr int kSeriesStyles = 10;

// A stroke in this style, for a legend.
std::function<void(QCPPainter&, const QPointF&)> legendLine(const SeriesStyle& style);

} // namespace halfscope
