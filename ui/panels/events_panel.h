// SPDX-License-Identifier: GPL-3.0-or-later
// The event log: every skip with its tensor, growth, and what the reader did.
#pragma once

#include <QStyledItemDelegate>
#include <QTableView>
#include <array>

#include "ui/models/event_text.h"

class QLabel;
class QToolButton;

namespace halfscope {

class EventFilterModel;
class EventLogModel;
class SessionController;

// The step, a mark of the kind, and a bracket along consecutive skips.
class EventDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

class EventsPanel : public QWidget {
    Q_OBJECT
public:
    explicit EventsPanel(SessionController& controller, QWidget* parent = nullptr);

    void copy() const; // selected rows, or all that are shown
    void setShown(EventGroup group, bool shown);
    QTableView* table() const { return m_table; }
    void inspectCurrent(); // the number of the current row, if it has one

signals:
    // scale: in force then; NaN where the event has none.
    void inspectRequested(double value, double scale);
    // The reader chose an event: module and tap are -1 where it has none.
    void eventChosen(qint64 step, int module, int tap);

private:
    void choose(const QModelIndex& index);
    void showMenu(const QPoint& at);
    void updateHeld();
    void updateNewer();
    void showNewest();
    bool eventFilter(QObject* watched, QEvent* event) override;

    EventLogModel* m_model;
    EventFilterModel* m_filter;
    QTableView* m_table;
    QLabel* m_empty;
    QToolButton* m_newer; // "3 new"
    std::array<QToolButton*, 4> m_chips{};
};

} // namespace halfscope
