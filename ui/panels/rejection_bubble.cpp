// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/rejection_bubble.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QKeyEvent>

namespace halfscope {

namespace {

constexpr int kMargin = 8; // to the edges of the panel
constexpr int kWidest = 360;
constexpr int kPatience = 8000; // milliseconds: the field has its old value back, and the sentence has been read

// What scrolls with the field, or the window.
QWidget* panelOf(QWidget* field)
{
    QWidget* panel = field;
    while (!panel->isWindow() && panel->parentWidget() != nullptr) {
        const auto* area = qobject_cast<QAbstractScrollArea*>(panel->parentWidget()->parentWidget());
        if (area != nullptr && area->viewport() == panel->parentWidget()) {
            break;
        }
        panel = panel->parentWidget();
    }
    return panel;
}

} // namespace

RejectionBubble::RejectionBubble(QWidget* field) : QLabel(panelOf(field)), m_field(field)
{
    setObjectName(QStringLiteral("rejection-bubble"));
    setWordWrap(true);
    setTextFormat(Qt::PlainText);
    setVisible(false);
    setCursor(Qt::PointingHandCursor);
    setToolTip(tr("Click or press Esc to dismiss"));
    field->installEventFilter(this);
    parentWidget()->installEventFilter(this);
    m_patience.setSingleShot(true);
    m_patience.setInterval(kPatience);
    connect(&m_patience, &QTimer::timeout, this, &RejectionBubble::dismissed);
}

void RejectionBubble::say(const QString& reason)
{
    setText(reason);
    setVisible(!reason.isEmpty());
    // Esc takes it away wherever the keyboard is by then.
    qApp->removeEventFilter(this);
    if (!reason.isEmpty()) {
        qApp->installEventFilter(this);
        m_patience.start();
    } else {
        m_patience.stop();
    }
    place();
}

void RejectionBubble::place()
{
    if (isHidden() || m_field == nullptr) {
        return;
    }
    const QWidget* panel = parentWidget();
    const int width = std::min(panel->width() - 2 * kMargin, kWidest);
    const QSize size(width, heightForWidth(width));
    const QPoint below = m_field->mapTo(panel, QPoint(0, m_field->height() + 2));
    const QPoint above = m_field->mapTo(panel, QPoint(0, -2 - size.height()));
    const int x = std::clamp(below.x(), kMargin, std::max(kMargin, panel->width() - kMargin - width));
    const bool fits = below.y() + size.height() <= panel->height() || above.y() < 0;
    setGeometry(QRect(QPoint(x, fits ? below.y() : above.y()), size));
    raise();
}

bool RejectionBubble::eventFilter(QObject* watched, QEvent* event)
{
    switch (event->type()) {
    case QEvent::KeyPress:
        if (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
            emit dismissed();
        }
        break;
    case QEvent::Resize:
    case QEvent::Move:
    case QEvent::LayoutRequest:
        if (watched == m_field || watched == parentWidget()) {
            place();
        }
        break;
    default:
        break;
    }
    return QLabel::eventFilter(watched, event);
}

void RejectionBubble::mousePressEvent(QMouseEvent*) { emit dismissed(); }

} // namespace halfscope
