// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/marks.h"

#include <QPolygonF>

#include "ui/number_text.h"

namespace halfscope {

void paintMark(QPainter& painter, MarkShape shape, const QPointF& center, double size, const QColor& color)
{
    const double r = 0.5 * size;
    const double x = center.x();
    const double y = center.y();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    switch (shape) {
    case MarkShape::Overflow:
        painter.drawPolygon(QPolygonF({{x - r, y - r}, {x + r, y - r}, {x, y + r}}));
        break;
    case MarkShape::Growth:
        painter.drawPolygon(QPolygonF({{x - 0.8 * r, y + 0.6 * r}, {x + 0.8 * r, y + 0.6 * r}, {x, y - 0.9 * r}}));
        break;
    case MarkShape::Command:
        painter.drawPolygon(QPolygonF({{x - r, y}, {x, y - r}, {x + r, y}, {x, y + r}}));
        break;
    case MarkShape::BadLoss:
        painter.setPen(QPen(color, 2));
        painter.drawLine(QPointF(x - 0.8 * r, y - 0.8 * r), QPointF(x + 0.8 * r, y + 0.8 * r));
        painter.drawLine(QPointF(x - 0.8 * r, y + 0.8 * r), QPointF(x + 0.8 * r, y - 0.8 * r));
        break;
    }
    painter.restore();
}

void paintClusters(QPainter& painter, MarkShape shape, const std::vector<MarkCluster>& clusters, double y, double right,
                   const QColor& color, const QFont& font)
{
    const QFontMetricsF metrics(font);
    painter.setFont(font);
    for (std::size_t i = 0; i < clusters.size(); ++i) {
        const MarkCluster& cluster = clusters[i];
        paintMark(painter, shape, {cluster.x, y}, kMarkSize, color);
        if (cluster.count < 2)
            continue;
        const QString count = QStringLiteral("×") + countText(cluster.count);
        const double from = cluster.x + 0.5 * kMarkSize + 1;
        const double room = (i + 1 < clusters.size() ? clusters[i + 1].x - 0.5 * kMarkSize : right) - from;
        if (metrics.horizontalAdvance(count) + 1 > room)
            continue;
        painter.setPen(color);
        painter.drawText(QPointF(from, y + 0.5 * metrics.capHeight()), count);
    }
}

} // namespace halfscope
