// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/series_style.h"

#include <array>

namespace halfscope {

namespace {

struct Entry {
    QRgb dark; // on the dark theme; at least 3:1 against it
    QRgb light;
    std::initializer_list<qreal> dashes;
};

const std::array<Entry, kSeriesStyles>& entries()
{
    static const std::array<Entry, kSeriesStyles> table = {{
        {0xffd7dce4, 0xff3a4049, {}},
        {0xff56b4e9, 0xff1f78ad, {7, 3}},
        {0xffe69f00, 0xffa86800, {2, 2}},
        {0xff2fc89c, 0xff007a58, {8, 3, 2, 3}},
        {0xfff0744a, 0xffc24a00, {5, 2}},
        {0xffd78fb8, 0xffa04c7e, {}},
        {0xfff0e442, 0xff7d7000, {10, 3}},
        {0xff7f9dff, 0xff0f5a9c, {2, 3, 2, 6}},
        {0xffb9a2f2, 0xff6a4fb5, {4, 4}},
        {0xffa3c46a, 0xff4f7021, {10, 3, 2, 3, 2, 3}},
    }};
    return table;
}

} // namespace

QPen SeriesStyle::pen(double width) const
{
    QPen pen(color, width);
    pen.setCapStyle(Qt::FlatCap);
    pen.setJoinStyle(Qt::RoundJoin);
    if (!dashes.isEmpty())
        pen.setDashPattern(dashes);
    return pen;
}

SeriesStyle seriesStyle(int number, const Theme& theme)
{
    const Entry& entry = entries()[static_cast<std::size_t>(number % kSeriesStyles)];
    return {QColor(theme.dark ? entry.dark : entry.light), QVector<qreal>(entry.dashes)};
}

std::function<void(QCPPainter&, const QPointF&)> legendLine(const SeriesStyle& style)
{
    return [style](QCPPainter& painter, const QPointF& at) {
        painter.setPen(style.pen(2));
        painter.drawLine(QPointF(at.x() - 8, at.y()), QPointF(at.x() + 6, at.y()));
    };
}

} // namespace halfscope
