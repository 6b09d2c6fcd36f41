// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/event_log_model.h"

#include <cmath>
#include <limits>

#include "ui/number_text.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// What an event is about as a number: the largest gradient of an overflow, unscaled; otherwise the scale or value.
double numberOf(const Event& event)
{
    if (event.kind == EventKind::Overflow && event.largest > 0.0F && event.scale > 0.0F) {
        return static_cast<double>(event.largest) / static_cast<double>(event.scale);
    }
    if (event.kind == EventKind::Command) {
        bool ok = false;
        const double value = QString::fromStdString(event.newValue).toDouble(&ok);
        return ok ? value : kNothing;
    }
    return event.scaleNext > 0.0F ? static_cast<double>(event.scaleNext) : kNothing;
}

} // namespace

EventLogModel::EventLogModel(SessionController& controller, QObject* parent)
    : QAbstractTableModel(parent), m_controller(controller), m_count(static_cast<int>(controller.run().events.size()))
{
    connect(&controller, &SessionController::runStarted, this, &EventLogModel::restart);
    connect(&controller, &SessionController::eventsAdded, this, &EventLogModel::append);
}

int EventLogModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_count; }
int EventLogModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

const Event& EventLogModel::eventAt(int row) const
{
    return m_controller.run().events[static_cast<std::size_t>(m_count - 1 - row)];
}

EventLogModel::Streak EventLogModel::streakAt(int row) const
{
    const auto isSkip = [](const Event& event) { return event.kind == EventKind::Overflow; };
    const Event& event = eventAt(row);
    if (!isSkip(event)) {
        return NoStreak;
    }
    // Row 0 is the newest, so the step after this one stands above it.
    const bool above = row > 0 && isSkip(eventAt(row - 1)) && eventAt(row - 1).step == event.step + 1;
    const bool below = row + 1 < m_count && isSkip(eventAt(row + 1)) && eventAt(row + 1).step == event.step - 1;
    if (above && below) {
        return StreakMiddle;
    }
    if (above) {
        return StreakBottom;
    }
    return below ? StreakTop : NoStreak;
}

QVariant EventLogModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) {
        return {};
    }
    const Event& event = eventAt(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return index.column() == StepColumn ? stepText(event.step) : eventText(event, m_controller.run());
    case Qt::ToolTipRole:
        return eventDetail(event, m_controller.run());
    case Qt::AccessibleTextRole:
        return tr("Step %1: %2").arg(stepText(event.step), eventText(event, m_controller.run()));
    case Qt::TextAlignmentRole:
        return static_cast<int>(index.column() == StepColumn ? Qt::AlignRight | Qt::AlignVCenter
                                                             : Qt::AlignLeft | Qt::AlignVCenter);
    case StepRole:
        return static_cast<qint64>(event.step);
    case GroupRole:
        return static_cast<int>(eventGroup(event));
    case KindRole:
        return static_cast<int>(event.kind);
    case ModuleRole:
        return static_cast<int>(event.module);
    case TapRole:
        return static_cast<int>(event.tap);
    case InspectRole:
        return numberOf(event);
    case ScaleRole:
        return event.kind == EventKind::Overflow && event.scale > 0.0F ? static_cast<double>(event.scale) : kNothing;
    case StreakRole:
        return static_cast<int>(streakAt(index.row()));
    default:
        return {};
    }
}

QVariant EventLogModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
        return {};
    }
    return section == StepColumn ? tr("Step") : tr("What happened");
}

void EventLogModel::setHeld(bool held)
{
    m_held = held;
    append();
}

int EventLogModel::waiting() const { return static_cast<int>(m_controller.run().events.size()) - m_count; }

EventGroup EventLogModel::waitingGroup(int i) const
{
    return eventGroup(m_controller.run().events[static_cast<std::size_t>(m_count + i)]);
}

void EventLogModel::append()
{
    const int added = waiting();
    if (added <= 0) {
        return;
    }
    if (m_held) {
        emit waitingChanged();
        return;
    }
    beginInsertRows({}, 0, added - 1);
    m_count += added;
    endInsertRows();
    // The formerly newest event may have become part of a streak.
    if (m_count > added) {
        emit dataChanged(index(added, 0), index(added, ColumnCount - 1), {StreakRole});
    }
    emit waitingChanged();
}

void EventLogModel::restart()
{
    beginResetModel();
    m_count = 0;
    endResetModel();
    emit waitingChanged();
}

void EventFilterModel::setShown(EventGroup group, bool shown)
{
    if (shown) {
        m_hidden.remove(static_cast<int>(group));
    } else {
        m_hidden.insert(static_cast<int>(group));
    }
    invalidateFilter();
}

bool EventFilterModel::filterAcceptsRow(int sourceRow, const QModelIndex& sourceParent) const
{
    const QModelIndex index = sourceModel()->index(sourceRow, 0, sourceParent);
    return !m_hidden.contains(index.data(EventLogModel::GroupRole).toInt());
}

} // namespace halfscope
