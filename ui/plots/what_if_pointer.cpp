// SPDX-License-Identifier: GPL-3.0-or-later
// The what-if curve under mouse and keyboard.
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/plots/what_if_plot.h"

namespace halfscope {

namespace {

double nearestPowerOfTwo(double scale) { return std::exp2(std::round(std::log2(scale))); }

} // namespace

bool WhatIfPlot::canMoveScale() const { return !m_parts.empty() && ShownScale::canMove(m_run, m_data); }

void WhatIfPlot::updateHover()
{
    if (!m_pointer || m_parts.empty() || !inner().contains(*m_pointer)) {
        hideReadout();
    } else {
        // What a click would set; while a hand is on the scale, what it has set.
        const double at = m_grip == Grip::Scale && m_moved ? m_scale : nearestPowerOfTwo(scaleAt(m_pointer->x()));
        showReadout(*m_pointer, describe(at));
    }
    replotPointer();
}

void WhatIfPlot::wheelEvent(QWheelEvent* event)
{
    event->accept();
    const double factor = std::pow(1.2, event->angleDelta().y() / 120.0);
    if (event->modifiers() & Qt::ControlModifier)
        zoomY(factor);
    else if (event->angleDelta().y() == 0)
        panX(-0.1 * event->angleDelta().x() / 120.0);
    else
        zoomX(factor);
}

void WhatIfPlot::mousePressEvent(QMouseEvent* event)
{
    m_pressed = m_lastPanned = event->position();
    m_moved = false;
    if (!inner().contains(event->position()))
        return;
    if (event->button() == Qt::LeftButton && canMoveScale()) {
        m_grip = Grip::Scale;
        m_scaleToReturn = scaleInForce();
    } else if (event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton) {
        m_grip = Grip::Pan;
    }
}

void WhatIfPlot::mouseDoubleClickEvent(QMouseEvent* event) { mousePressEvent(event); }

void WhatIfPlot::mouseMoveEvent(QMouseEvent* event)
{
    m_pointer = event->position();
    if (m_grip == Grip::None) {
        if (inner().contains(event->position()) && canMoveScale())
            setCursor(Qt::SplitHCursor);
        else
            unsetCursor();
        updateHover();
        return;
    }
    if (!startsMove(event->position()))
        return;
    m_moved = true;
    if (m_grip == Grip::Pan) {
        panTo(event->position());
        return;
    }
    const double at = scaleAt(event->position().x());
    moveScale(event->modifiers() & Qt::ShiftModifier ? readableScale(std::log2(at)) : nearestPowerOfTwo(at), false);
}

void WhatIfPlot::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::RightButton) {
        emit customContextMenuRequested(event->position().toPoint());
        return;
    }
    const Grip grip = std::exchange(m_grip, Grip::None);
    if (grip == Grip::Scale && event->button() == Qt::LeftButton) {
        if (m_moved) {
            emit scaleDropped(m_scale);
        } else if (canMoveScale()) {
            const double at = scaleAt(event->position().x());
            moveScale(event->modifiers() & Qt::ShiftModifier ? readableScale(std::log2(at)) : nearestPowerOfTwo(at),
                      true);
        }
    }
    m_moved = false;
    refresh();
}

} // namespace halfscope
