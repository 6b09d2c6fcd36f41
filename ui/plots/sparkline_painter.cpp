// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/sparkline_painter.h"

#include <algorithm>
#include <cmath>

#include "ui/plots/format_window.h"

namespace halfscope {

namespace {

// countOf(exponent) -> count
template <typename CountOf>
void paintBars(QPainter* painter, const QRectF& rect, CountOf countOf, double scale, FormatId format,
               const Theme& theme, const SparklinePainter::Range& range)
{
    const int bins = range.high - range.low + 1;
    if (bins <= 0 || rect.width() < 2 || rect.height() < 2)
        return;
    // What lies outside the range is added to the outermost bins: nothing vanishes.
    std::vector<double> heights(static_cast<std::size_t>(bins), 0.0);
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e)
        heights[static_cast<std::size_t>(std::clamp(e, range.low, range.high) - range.low)] +=
            static_cast<double>(countOf(e));
    double top = 0;
    for (double& h : heights) {
        h = h > 0 ? std::log10(h) + 0.5 : 0.0; // one value is still a visible stub
        top = std::max(top, h);
    }
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing, false);
    painter->setPen(QPen(theme.grid, 1));
    painter->drawLine(rect.bottomLeft(), rect.bottomRight());
    if (top > 0) {
        const bool wide = format == FormatId::Fp32 || format == FormatId::Tf32;
        const FormatWindow window = formatWindow(floatFormat(format), scale);
        const double step = rect.width() / bins;
        for (int i = 0; i < bins; ++i) {
            const double h = heights[static_cast<std::size_t>(i)];
            if (h == 0)
                continue;
            const double left = std::round(rect.left() + i * step);
            const double right = std::max(left + 1, std::round(rect.left() + (i + 1) * step) - (step >= 3 ? 1 : 0));
            const double height = std::max(1.0, std::round(h / top * (rect.height() - 1)));
            const QColor color = wide ? theme.zero : theme.classColor(window.classAt(range.low + i + 0.5));
            painter->fillRect(QRectF(left, rect.bottom() - height, right - left, height), color);
        }
    }
    painter->restore();
}

} // namespace

void SparklinePainter::paint(QPainter* painter, const QRectF& rect, const TensorStatistics& statistics, double scale,
                             FormatId format, const Theme& theme, const Range& range)
{
    paintBars(
        painter, rect, [&](int e) { return statistics.histogram.at(e); }, scale, format, theme, range);
}

void SparklinePainter::paint(QPainter* painter, const QRectF& rect, const TensorStatistics& statistics, double scale,
                             FormatId format, const Theme& theme)
{
    paint(painter, rect, statistics, scale, format, theme, Range{});
}

void SparklinePainter::paint(QPainter* painter, const QRectF& rect, const SparseHistogram& histogram, double scale,
                             FormatId format, const Theme& theme, const Range& range)
{
    paintBars(
        painter, rect, [&](int e) { return histogram.at(e); }, scale, format, theme, range);
}

void SparklinePainter::paint(QPainter* painter, const QRectF& rect, const SparseHistogram& histogram, double scale,
                             FormatId format, const Theme& theme)
{
    paint(painter, rect, histogram, scale, format, theme, Range{});
}

} // namespace halfscope
