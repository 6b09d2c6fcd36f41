// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/icons.h"

#include <QIconEngine>
#include <QPainter>
#include <QPainterPath>

#include "ui/theme.h"

namespace halfscope {

namespace {

// Glyphs live in a square of 16 by 16 units.
constexpr double kUnits = 16.0;

QPainterPath triangle(double left, double top, double right, double bottom)
{
    QPainterPath path;
    path.moveTo(left, top);
    path.lineTo(right, (top + bottom) / 2);
    path.lineTo(left, bottom);
    path.closeSubpath();
    return path;
}

void fillAll(QPainter& painter, const QColor& color, std::initializer_list<QPainterPath> paths)
{
    for (const QPainterPath& path : paths) {
        painter.fillPath(path, color);
    }
}

QPainterPath bar(double x, double y, double width, double height)
{
    QPainterPath path;
    path.addRoundedRect(QRectF(x, y, width, height), 0.8, 0.8);
    return path;
}

void drawArc(QPainter& painter, const QColor& color)
{
    painter.drawArc(QRectF(3, 3, 10, 10), 60 * 16, 290 * 16);
    QPainterPath head;
    head.moveTo(9.6, 0.9);
    head.lineTo(14.2, 3.9);
    head.lineTo(9.4, 6.6);
    head.closeSubpath();
    painter.fillPath(head, color);
}

void drawLines(QPainter& painter, std::initializer_list<QLineF> lines)
{
    for (const QLineF& line : lines) {
        painter.drawLine(line);
    }
}

void drawGlyph(QPainter& painter, Glyph glyph, const QColor& color)
{
    painter.setPen(QPen(color, 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.setBrush(Qt::NoBrush);
    switch (glyph) {
    case Glyph::Play:
        fillAll(painter, color, {triangle(4, 2.5, 13.5, 13.5)});
        break;
    case Glyph::Pause:
        fillAll(painter, color, {bar(3.5, 2.5, 3.2, 11), bar(9.3, 2.5, 3.2, 11)});
        break;
    case Glyph::Step:
        fillAll(painter, color, {triangle(3, 3, 10.5, 13), bar(11, 3, 2.2, 10)});
        break;
    case Glyph::RunSteps:
        fillAll(painter, color, {triangle(1.5, 3.5, 7, 12.5), triangle(7, 3.5, 12.5, 12.5), bar(12.6, 3.5, 1.9, 9)});
        break;
    case Glyph::Restart:
        drawArc(painter, color);
        break;
    case Glyph::NewSeed:
        drawArc(painter, color);
        painter.setBrush(color);
        painter.drawEllipse(QPointF(8, 8), 0.9, 0.9);
        break;
    case Glyph::NewRun:
        drawLines(painter, {{8, 3, 8, 13}, {3, 8, 13, 8}});
        break;
    case Glyph::Open:
        painter.drawPolyline(QPolygonF({{2, 12.5}, {2, 3.5}, {6.5, 3.5}, {8, 5.5}, {13, 5.5}, {13, 7}}));
        painter.drawPolygon(QPolygonF({{2, 12.8}, {4.3, 7.5}, {15, 7.5}, {12.7, 12.8}}));
        break;
    case Glyph::Export:
        drawLines(painter, {{8, 2, 8, 9.5}, {8, 2, 5, 5}, {8, 2, 11, 5}});
        painter.drawPolyline(QPolygonF({{3, 8.5}, {3, 13.5}, {13, 13.5}, {13, 8.5}}));
        break;
    case Glyph::Halve:
        drawLines(painter, {{3.5, 8, 12.5, 8}});
        painter.setBrush(color);
        painter.drawEllipse(QPointF(8, 4.2), 0.9, 0.9);
        painter.drawEllipse(QPointF(8, 11.8), 0.9, 0.9);
        break;
    case Glyph::Double:
        drawLines(painter, {{4.5, 4.5, 11.5, 11.5}, {11.5, 4.5, 4.5, 11.5}});
        break;
    case Glyph::Close:
        drawLines(painter, {{4.5, 4.5, 11.5, 11.5}, {11.5, 4.5, 4.5, 11.5}});
        break;
    case Glyph::Clear:
        painter.drawPolyline(QPolygonF({{2.5, 3}, {13.5, 3}, {9.5, 8}, {9.5, 12.5}, {6.5, 13.5}, {6.5, 8}, {2.5, 3}}));
        break;
    case Glyph::Sort:
        drawLines(painter, {{3, 4, 13, 4}, {3, 8, 10, 8}, {3, 12, 6.5, 12}});
        break;
    case Glyph::Follow: // to the right edge
        drawLines(painter, {{2.5, 8, 10.5, 8}, {10.5, 8, 7.5, 5}, {10.5, 8, 7.5, 11}, {13.5, 3, 13.5, 13}});
        break;
    case Glyph::Copy:
        painter.drawRoundedRect(QRectF(5.5, 5.5, 8, 8), 1.2, 1.2);
        painter.drawPolyline(QPolygonF({{3, 10.5}, {2.5, 10.5}, {2.5, 2.5}, {10.5, 2.5}, {10.5, 3}}));
        break;
    }
}

class GlyphEngine : public QIconEngine {
public:
    explicit GlyphEngine(Glyph glyph) : m_glyph(glyph) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override
    {
        const Theme& theme = currentTheme();
        const QColor color =
            mode == QIcon::Disabled ? theme.palette().color(QPalette::Disabled, QPalette::ButtonText) : theme.text;
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        const double side = std::min(rect.width(), rect.height());
        painter->translate(rect.x() + (rect.width() - side) / 2, rect.y() + (rect.height() - side) / 2);
        painter->scale(side / kUnits, side / kUnits);
        drawGlyph(*painter, m_glyph, color);
        painter->restore();
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override
    {
        QPixmap pixmap(size);
        if (pixmap.isNull()) { // of a button that a small window leaves no room
            return pixmap;
        }
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paint(&painter, QRect(QPoint(), size), mode, state);
        return pixmap;
    }

    QIconEngine* clone() const override { return new GlyphEngine(m_glyph); }

private:
    Glyph m_glyph;
};

} // namespace

QIcon glyphIcon(Glyph glyph) { return QIcon(new GlyphEngine(glyph)); }

} // namespace halfscope
