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

constexpr double kDragThreshold = 3.0; // pixels before a press becomes a drag

double nearestPowerOfTwo(double scale) { return std::exp2(std::round(std::log2(scale))); }

} // namespace

bool WhatIfPlot::canMove() const { return !m_parts.empty() && ShownScale::canMove(m_run, m_data); }

void WhatIfPlot::moveScale(double wanted, bool dropped)
{
    const double before = m_step ? m_run->live.scaler.scale : m_scale;
    m_step.reset();
    const double scale = m_hand.ask(*m_run, wanted);
    refresh();
    if (scale != before)
        emit scaleDragged(scale);
    if (dropped)
        emit scaleDropped(scale);
}

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

void WhatIfPlot::leaveEvent(QEvent* event)
{
    m_pointer.reset();
    Plot::leaveEvent(event);
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
    if (event->button() == Qt::LeftButton && canMove()) {
        m_grip = Grip::Scale;
        m_scaleToReturn = m_step ? m_run->live.scaler.scale : m_scale;
    } else if (event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton) {
        m_grip = Grip::Pan;
    }
}

void WhatIfPlot::mouseDoubleClickEvent(QMouseEvent* event) { mousePressEvent(event); }

void WhatIfPlot::mouseMoveEvent(QMouseEvent* event)
{
    m_pointer = event->position();
    if (m_grip == Grip::None) {
        if (inner().contains(event->position()) && canMove())
            setCursor(Qt::SplitHCursor);
        else
            unsetCursor();
        updateHover();
        return;
    }
    if (!m_moved && std::abs(event->position().x() - m_pressed.x()) < kDragThreshold)
        return;
    m_moved = true;
    if (m_grip == Grip::Pan) {
        const double pixels = event->position().x() - m_lastPanned.x();
        m_lastPanned = event->position();
        panX(-pixels / std::max(1.0, inner().width()));
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
        } else if (canMove()) {
            const double at = scaleAt(event->position().x());
            moveScale(event->modifiers() & Qt::ShiftModifier ? readableScale(std::log2(at)) : nearestPowerOfTwo(at),
                      true);
        }
    }
    m_moved = false;
    refresh();
}

void WhatIfPlot::keyPressEvent(QKeyEvent* event)
{
    const bool shift = event->modifiers() & Qt::ShiftModifier;
    const bool control = event->modifiers() & Qt::ControlModifier;
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right: {
        const int direction = event->key() == Qt::Key_Left ? -1 : 1;
        if (control)
            panX(0.1 * direction);
        else if (canMove())
            moveScale(shift ? nextReadableScale(m_scale, direction) : nextPowerOfTwo(m_scale, direction), true);
        break;
    }
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        control ? zoomY(1.25) : zoomX(1.25);
        break;
    case Qt::Key_Minus:
        control ? zoomY(0.8) : zoomX(0.8);
        break;
    case Qt::Key_Home:
    case Qt::Key_0:
        resetView();
        break;
    case Qt::Key_Escape:
        if (m_grip == Grip::Scale && m_moved) {
            m_grip = Grip::None; // as it was before the drag
            m_moved = false;
            moveScale(m_scaleToReturn, true);
        } else {
            Plot::keyPressEvent(event);
        }
        break;
    default:
        Plot::keyPressEvent(event);
    }
}

} // namespace halfscope
