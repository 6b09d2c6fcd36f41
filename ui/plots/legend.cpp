// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/legend.h"

namespace halfscope {

namespace {

constexpr double kSymbol = 16.0; // with the gap behind it
constexpr double kGap = 14.0;    // between entries

const QString& wordsOf(const LegendEntry& entry, bool shorter)
{
    return shorter && !entry.shorter.isEmpty() ? entry.shorter : entry.words;
}

} // namespace

double legendWidth(const QFont& font, const std::vector<LegendEntry>& entries, bool shorter)
{
    const QFontMetricsF metrics(font);
    double width = 0;
    for (const LegendEntry& entry : entries)
        width += kSymbol + metrics.horizontalAdvance(wordsOf(entry, shorter)) + kGap;
    return width;
}

double paintLegend(QCPPainter& painter, const QFont& font, const QColor& text, double left, double right, double y,
                   const std::vector<LegendEntry>& entries)
{
    const QFontMetricsF metrics(font);
    const bool shorter = left + legendWidth(font, entries, false) - kGap > right;
    painter.setFont(font);
    double x = left;
    for (const LegendEntry& entry : entries) {
        const QString& words = wordsOf(entry, shorter);
        const double width = kSymbol + metrics.horizontalAdvance(words);
        if (x + width > right)
            break;
        entry.symbol(painter, {x + 6, y + 0.5 * metrics.height()});
        painter.setPen(text);
        painter.drawText(QPointF(x + kSymbol, y + metrics.ascent()), words);
        x += width + kGap;
    }
    return x;
}

std::function<void(QCPPainter&, const QPointF&)> legendLine(const QColor& color)
{
    return [color](QCPPainter& painter, const QPointF& at) {
        painter.fillRect(QRectF(at.x() - 6, at.y() - 1, 12, 2), color);
    };
}

} // namespace halfscope
