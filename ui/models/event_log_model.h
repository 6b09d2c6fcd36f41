// SPDX-License-Identifier: GPL-3.0-or-later
// The run's events, newest first.
#pragma once

#include <QAbstractTableModel>
#include <QSet>
#include <QSortFilterProxyModel>

#include "ui/models/event_text.h"

namespace halfscope {

class SessionController;

class EventLogModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { StepColumn, TextColumn, ColumnCount };
    enum Role {
        StepRole = Qt::UserRole, // qint64
        GroupRole,               // int, EventGroup
        KindRole,                // int, EventKind
        ModuleRole,              // int, -1: none
        TapRole,                 // int, -1: none
        InspectRole,             // double: the event's number, unscaled; NaN where it has none
        ScaleRole,               // double: the scale then; NaN where it has none
        StreakRole,              // int, Streak: consecutive skipped steps belong together
    };
    enum Streak { NoStreak, StreakTop, StreakMiddle, StreakBottom };

    explicit EventLogModel(SessionController& controller, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    // While held, new events wait: the rows there are stay where they are.
    void setHeld(bool held);
    int waiting() const; // events that wait
    EventGroup waitingGroup(int i) const;

signals:
    void waitingChanged();

private:
    const Event& eventAt(int row) const;
    Streak streakAt(int row) const;
    void append();
    void restart();

    SessionController& m_controller;
    int m_count = 0; // events shown; the run may be ahead of it
    bool m_held = false;
};

// Leaves out the groups the reader switched off.
class EventFilterModel : public QSortFilterProxyModel {
    Q_OBJECT
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;

    bool isShown(EventGroup group) const { return !m_hidden.contains(static_cast<int>(group)); }
    void setShown(EventGroup group, bool shown);

protected:
    bool filterAcceptsRow(int sourceRow, const QModelIndex& sourceParent) const override;

private:
    QSet<int> m_hidden;
};

} // namespace halfscope
