// SPDX-License-Identifier: GPL-3.0-or-later
// Tells the second press of a double click. The window system's own event comes only when both presses are within a few
// pixels and nothing happened between them; a hand moves more, and a first click that panned a little is a click still.
#pragma once

#include <QApplication>
#include <QElapsedTimer>
#include <QMouseEvent>

namespace halfscope {

class ClickPair {
public:
    // A press, or the window system's double click; true: it is the second one.
    bool press(const QMouseEvent& event)
    {
        const bool second =
            event.type() == QEvent::MouseButtonDblClick ||
            (m_clicked && !m_since.hasExpired(QApplication::doubleClickInterval()) && isNear(event.position()));
        m_clicked = false;
        m_first = !second;
        m_at = event.position();
        return second;
    }
    void release(const QMouseEvent& event)
    {
        m_clicked = m_first && isNear(event.position());
        m_first = false;
        m_since.start();
    }

private:
    bool isNear(const QPointF& at) const { return (at - m_at).manhattanLength() <= 8.0; }

    QPointF m_at;
    QElapsedTimer m_since; // the first click
    bool m_first = false;
    bool m_clicked = false;
};

} // namespace halfscope
