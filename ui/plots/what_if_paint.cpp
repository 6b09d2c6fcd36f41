// SPDX-License-Identifier: GPL-3.0-or-later
// What the what-if curve looks like.
#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/plots/legend.h"
#include "ui/plots/what_if_plot.h"

namespace halfscope {

// A class over the scales: told apart by the dashes, and by colour.
struct WhatIfPlot::Curve {
    Bounded ClassEstimate::*of;
    QString name;
    QColor color;
    Qt::PenStyle style;
};

std::vector<WhatIfPlot::Curve> WhatIfPlot::curves() const
{
    return {{&ClassEstimate::subnormal, tr("subnormal"), theme().subnormal, Qt::DashLine},
            {&ClassEstimate::flushed, tr("flushed to 0"), theme().flushed, Qt::SolidLine},
            {&ClassEstimate::overflow, tr("overflow"), theme().overflow, Qt::DashDotLine}};
}

void WhatIfPlot::paintShading(QCPPainter& painter)
{
    if (m_parts.empty() || !m_range)
        return;
    const QRectF area = inner();
    const auto at = [&](double log2Scale) {
        return std::round(std::clamp(pixelOf(std::exp2(log2Scale)), area.left() - 1, area.right() + 1));
    };
    const StabilityBand& band = m_range->band;
    const double low = at(band.low);
    const double high = at(band.high);
    if (low < high)
        painter.fillRect(QRectF(QPointF(low, area.top()), QPointF(high, area.bottom() + 1)), theme().band);
    QColor over = theme().overflow;
    over.setAlpha(m_data.isComparison() ? 14 : theme().dark ? 30 : 24);
    painter.fillRect(QRectF(QPointF(high, area.top()), QPointF(area.right() + 1, area.bottom() + 1)), over);
    painter.setPen(QPen(theme().bandEdge, 1));
    for (const double x : {low, high})
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    painter.setPen(QPen(theme().bandTrueMinimum, 1, Qt::DotLine));
    const double minimum = at(band.trueMinimum);
    painter.drawLine(QPointF(minimum, area.top()), QPointF(minimum, area.bottom()));
}

void WhatIfPlot::paintCurve(QCPPainter& painter, const Curve& curve)
{
    const double all = total();
    QPolygonF line;
    QPolygonF upper;
    QPolygonF lower;
    std::vector<QPolygonF> lines;
    const auto end = [&] {
        if (!line.isEmpty())
            lines.push_back(line);
        line.clear();
    };
    for (const WhatIfPoint& point : m_points) {
        const Bounded& count = point.classes.*curve.of;
        const double x = pixelOf(point.scale);
        upper << QPointF(x, pixelOfShare(count.high / all));
        lower << QPointF(x, pixelOfShare(count.low / all));
        const QPointF here(x, pixelOfShare(count.value / all));
        if (count.value > 0) {
            if (line.isEmpty() && upper.size() > 1)
                line << QPointF(x, inner().bottom() + 1); // from nothing straight up
            line << here;
        } else if (!line.isEmpty()) {
            line << QPointF(line.last().x(), inner().bottom() + 1);
            end();
        }
    }
    end();
    std::reverse(lower.begin(), lower.end());
    QColor faint = curve.color;
    faint.setAlpha(theme().dark ? 34 : 30);
    painter.setPen(Qt::NoPen);
    painter.setBrush(faint);
    painter.drawPolygon(upper + lower);
    painter.setBrush(Qt::NoBrush);
    painter.setAntialiasing(true);
    painter.setPen(QPen(curve.color, 1.8, curve.style, Qt::FlatCap));
    for (const QPolygonF& one : lines)
        painter.drawPolyline(one);
    painter.setAntialiasing(isExporting());
}

void WhatIfPlot::paintCurves(QCPPainter& painter)
{
    if (m_parts.empty())
        return;
    const std::vector<Curve> all = curves();
    for (const Curve& curve : all)
        paintCurve(painter, curve);
    // Where the run is, measured.
    const ClassEstimate now = classesAt(m_scale);
    painter.setAntialiasing(true);
    painter.setPen(QPen(theme().plotArea, 1.5));
    for (const Curve& curve : all) {
        const Bounded& count = now.*curve.of;
        if (!(count.value > 0))
            continue;
        painter.setBrush(curve.color);
        painter.drawEllipse(QPointF(pixelOf(m_scale), pixelOfShare(count.value / total())), 4.5, 4.5);
    }
    painter.setAntialiasing(isExporting());
}

// Words beside a line, on the side where there is room.
void WhatIfPlot::paintFlag(QCPPainter& painter, double x, int row, const QString& text, const QColor& color)
{
    const QRectF area = inner();
    if (x < area.left() || x > area.right())
        return;
    const QFontMetricsF metrics(painter.font());
    const double width = metrics.horizontalAdvance(text);
    const double left = x + 6 + width <= area.right() ? x + 6 : x - 6 - width;
    const QRectF box(left - 2, area.top() + 3 + row * (metrics.height() + 1), width + 4, metrics.height());
    QColor ground = theme().plotArea;
    ground.setAlpha(200);
    painter.fillRect(box, ground);
    painter.setPen(color);
    painter.drawText(QPointF(left, box.top() + metrics.ascent()), text);
}

void WhatIfPlot::paintMarks(QCPPainter& painter)
{
    if (m_parts.empty())
        return;
    const QRectF area = inner();
    QFont bold = smallFont();
    bold.setBold(true);
    painter.setFont(bold);
    const auto readable = [this](const QColor& color) { return theme().dark ? color.lighter(118) : color.darker(125); };
    if (m_range) {
        const double x = std::round(pixelOf(m_range->suggested));
        painter.setPen(QPen(theme().growth, 1, Qt::DashLine));
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        paintFlag(painter, x, 1, tr("suggested %1").arg(shortScaleText(m_range->suggested)), readable(theme().growth));
        const double high = pixelOf(std::exp2(m_range->band.high));
        const QString end = m_data.isComparison() ? tr("%1: overflow").arg(m_data.formatName()) : tr("overflow → skip");
        if (area.right() - high > QFontMetricsF(bold).horizontalAdvance(end) + 10)
            paintFlag(painter, std::max(high, area.left()), 2, end, readable(theme().overflow));
    }
    const double x = std::round(pixelOf(m_scale));
    painter.fillRect(QRectF(x - 1, area.top(), 2, area.height() + 1), theme().accent);
    if (!isExporting() && canMoveScale()) {
        painter.setAntialiasing(true);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme().accent);
        const QRectF handle(x - 4, area.bottom() - 34, 8, 28);
        painter.drawRoundedRect(handle, 3, 3);
        painter.setAntialiasing(false);
        painter.setPen(QPen(theme().plotArea, 1));
        for (const double dx : {-1.0, 1.0})
            painter.drawLine(QPointF(x + dx, handle.center().y() - 5), QPointF(x + dx, handle.center().y() + 5));
    }
    const QString now = m_step ? tr("then %1") : tr("now %1");
    paintFlag(painter, x, 0, now.arg(shortScaleText(m_scale)), readable(theme().accent));
}

void WhatIfPlot::paintCaption(QCPPainter& painter)
{
    if (m_parts.empty())
        return;
    std::vector<LegendEntry> entries;
    const std::vector<Curve> all = curves();
    for (const Curve& curve : {all[1], all[0], all[2]}) {
        entries.push_back({curve.name, {}, [curve](QCPPainter& on, const QPointF& at) {
                               on.setPen(QPen(curve.color, 2, curve.style, Qt::FlatCap));
                               on.drawLine(at + QPointF(-7, 0), at + QPointF(7, 0));
                           }});
    }
    const Theme& t = theme();
    if (m_range) {
        entries.push_back({tr("stable: ε/g_low … M/g_max"), tr("stable"), [&t](QCPPainter& on, const QPointF& at) {
                               on.fillRect(QRectF(at.x() - 6, at.y() - 5, 12, 10), t.band);
                               on.setPen(QPen(t.bandEdge, 1));
                               on.drawLine(at + QPointF(-6, -5), at + QPointF(-6, 5));
                               on.drawLine(at + QPointF(6, -5), at + QPointF(6, 5));
                           }});
        entries.push_back({tr("ε/g_min"), {}, [&t](QCPPainter& on, const QPointF& at) {
                               on.setPen(QPen(t.bandTrueMinimum, 1, Qt::DotLine));
                               on.drawLine(at + QPointF(0, -6), at + QPointF(0, 6));
                           }});
    }
    const double end =
        paintLegend(painter, smallFont(), t.textDim, inner().left(), inner().right(), captionTop(), entries);
    if (isExporting() || !canMoveScale())
        return;
    const QFontMetricsF metrics(smallFont());
    const QString hint = tr("click or drag sets the scale");
    if (end + metrics.horizontalAdvance(hint) <= inner().right())
        painter.drawText(QPointF(inner().right() - metrics.horizontalAdvance(hint), captionTop() + metrics.ascent()),
                         hint);
}

void WhatIfPlot::paintHover(QCPPainter& painter)
{
    if (!m_pointer || m_parts.empty() || !inner().contains(*m_pointer) || m_grip != Grip::None)
        return;
    const double x = std::round(pixelOf(std::exp2(std::round(std::log2(scaleAt(m_pointer->x()))))));
    painter.setPen(QPen(theme().crosshair, 1));
    painter.drawLine(QPointF(x, inner().top()), QPointF(x, inner().bottom()));
}

} // namespace halfscope
