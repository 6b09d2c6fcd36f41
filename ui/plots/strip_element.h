// SPDX-License-Identifier: GPL-3.0-or-later
// A horizontal strip in a plot's layout that paints through a function: captions and numbers that belong to the picture
// and are exported with it.
#pragma once

#include <functional>
#include <qcustomplot.h>
#include <utility>

namespace halfscope {

class StripElement : public QCPLayoutElement {
public:
    using Painter = std::function<void(QCPPainter&, const QRectF&)>;
    StripElement(QCustomPlot* plot, Painter painter) : QCPLayoutElement(plot), m_painter(std::move(painter))
    {
        setAutoMargins(QCP::msNone);
    }
    void setHeight(int height)
    {
        setMinimumSize(0, height);
        setMaximumSize(QWIDGETSIZE_MAX, height);
    }

protected:
    void draw(QCPPainter* painter) override { m_painter(*painter, QRectF(rect())); }

private:
    Painter m_painter;
};

} // namespace halfscope
