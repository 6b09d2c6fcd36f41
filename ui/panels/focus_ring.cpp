// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/focus_ring.h"

#include <QApplication>
#include <QStyle>

namespace halfscope {

FocusRing::FocusRing(const QList<QWidget*>& plots, QObject* parent)
    : QObject(parent), m_plots(plots.begin(), plots.end())
{
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) { mark(now); });
}

void FocusRing::mark(const QWidget* focus)
{
    for (const QPointer<QWidget>& plot : m_plots) {
        if (plot == nullptr) {
            continue;
        }
        QWidget* card = plot->parentWidget();
        const bool marked = plot == focus;
        if (card->property("focused").toBool() != marked) {
            card->setProperty("focused", marked);
            card->style()->unpolish(card);
            card->style()->polish(card);
            card->update();
        }
    }
}

} // namespace halfscope
