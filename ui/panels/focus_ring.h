// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QList>
#include <QObject>
#include <QPointer>
#include <QWidget>

namespace halfscope {

// Marks the card whose plot has the keyboard, all around: the style sheet paints its frame in the accent colour.
class FocusRing : public QObject {
    Q_OBJECT
public:
    FocusRing(const QList<QWidget*>& plots, QObject* parent);

private:
    void mark(const QWidget* focus);

    QList<QPointer<QWidget>> m_plots; // the keyboard moves while they go, too
};

} // namespace halfscope
