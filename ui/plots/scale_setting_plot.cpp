// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/scale_setting_plot.h"

#include <QKeyEvent>
#include <QScopedValueRollback>
#include <algorithm>
#include <cmath>

namespace halfscope {

namespace {

constexpr double kDragThreshold = 3.0; // pixels before a press becomes a drag

} // namespace

double ScaleSettingPlot::scaleInForce() const
{
    return m_run != nullptr && showsPast() ? m_run->live.scaler.scale : m_scale;
}

void ScaleSettingPlot::moveScale(double wanted, bool dropped)
{
    const double before = scaleInForce();
    releasePast();
    const double scale = m_hand.ask(*m_run, wanted);
    refresh();
    if (scale != before)
        emit scaleDragged(scale);
    if (dropped)
        emit scaleDropped(scale);
}

void ScaleSettingPlot::panTo(const QPointF& at)
{
    const double pixels = at.x() - m_lastPanned.x();
    m_lastPanned = at;
    panX(-pixels / std::max(1.0, inner().width()));
}

bool ScaleSettingPlot::startsMove(const QPointF& at) const
{
    return m_moved || std::abs(at.x() - m_pressed.x()) >= kDragThreshold;
}

void ScaleSettingPlot::leaveEvent(QEvent* event)
{
    m_pointer.reset();
    Plot::leaveEvent(event);
    replotPointer();
}

void ScaleSettingPlot::keyPressEvent(QKeyEvent* event)
{
    const bool shift = event->modifiers() & Qt::ShiftModifier;
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right: {
        const int direction = event->key() == Qt::Key_Left ? -1 : 1;
        if (event->modifiers() & Qt::ControlModifier) {
            Plot::keyPressEvent(event);
        } else if (canMoveScale()) {
            // To the next power of two, with Shift to the next number that reads well. A key held down is one move.
            const QScopedValueRollback held(m_continues, event->isAutoRepeat());
            const int sign = direction * rightArrow();
            moveScale(shift ? nextReadableScale(m_scale, sign) : nextPowerOfTwo(m_scale, sign), true);
        }
        break;
    }
    case Qt::Key_Home:
        resetView();
        break;
    case Qt::Key_Escape:
        if (holdsScale() && m_moved) {
            letGo(); // as it was before the drag
            m_moved = false;
            moveScale(m_scaleToReturn, true);
        } else if (!escape()) {
            Plot::keyPressEvent(event);
        }
        break;
    default:
        Plot::keyPressEvent(event);
    }
}

} // namespace halfscope
