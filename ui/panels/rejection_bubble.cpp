// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/rejection_bubble.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QKeyEvent>

namespace halfscope {

namespace {

constexpr int kMargin = 8; // to the edges of the panel
constexpr int kWidest = 360;
// Fifteen characters a second are read without haste; nobody needs less than this to notice it.
constexpr int kLeastMs = 5000;
constexpr int kMsPerCharacter = 67;

// Shift alone is no edit.
bool isModifier(int key)
{
    return key == Qt::Key_Shift || key == Qt::Key_Control || key == Qt::Key_Alt || key == Qt::Key_Meta ||
           key == Qt::Key_AltGr || key == Qt::Key_CapsLock;
}

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
    m_time.setSingleShot(true);
    connect(&m_time, &QTimer::timeout, this, &RejectionBubble::dismissed);
    connect(qApp, &QApplication::focusChanged, this, [this](const QWidget*, const QWidget* now) {
        if (!isHidden() && now != nullptr && now != m_field) { // another program's window changes nothing
            emit dismissed();
        }
    });
    field->installEventFilter(this);
    parentWidget()->installEventFilter(this);
}

void RejectionBubble::say(const QString& reason)
{
    setText(reason);
    setVisible(!reason.isEmpty());
    // Keys and clicks take it away wherever they go.
    qApp->removeEventFilter(this);
    m_time.stop();
    if (!reason.isEmpty()) {
        qApp->installEventFilter(this);
        m_time.start(std::max(kLeastMs, kMsPerCharacter * static_cast<int>(reason.size())));
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
        if (!isModifier(static_cast<QKeyEvent*>(event)->key())) {
            emit dismissed();
        }
        break;
    case QEvent::MouseButtonPress:
        if (watched->isWidgetType()) { // the window has it first: what is under the bubble would be clicked
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

} // namespace halfscope
