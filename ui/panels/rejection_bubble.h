// SPDX-License-Identifier: GPL-3.0-or-later
// Why a knob was refused, in a box that lies over what is below the knob. It takes no room of its own: a panel that
// fits its dock goes on fitting it. As it covers what is there, it goes with the next key, click or turn of the focus
// anywhere, and by itself when there was time to read it.
#pragma once

#include <QLabel>
#include <QPointer>
#include <QTimer>

namespace halfscope {

class RejectionBubble : public QLabel {
    Q_OBJECT
public:
    explicit RejectionBubble(QWidget* field); // a child of the field's panel or window
    void say(const QString& reason);          // empty: hides

signals:
    void dismissed(); // by whatever the user did next, or the time

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void place();

    QPointer<QWidget> m_field;
    QTimer m_time;
};

} // namespace halfscope
