// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/events_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <cmath>

#include "ui/models/event_log_model.h"
#include "ui/number_text.h"
#include "ui/panels/icons.h"
#include "ui/plots/marks.h"
#include "ui/session_controller.h"
#include "ui/theme.h"

namespace halfscope {

namespace {

constexpr std::array kGroups{EventGroup::Skips, EventGroup::Scale, EventGroup::You, EventGroup::Notes};
constexpr int kMarkColumn = 22; // pixels left of the text for the mark and the bracket

} // namespace

void EventDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    if (index.column() == EventLogModel::StepColumn) {
        QStyleOptionViewItem dim(option);
        for (const auto role : {QPalette::Text, QPalette::HighlightedText}) {
            dim.palette.setColor(role, currentTheme().textDim);
        }
        QStyledItemDelegate::paint(painter, dim, index);
        return;
    }
    QStyleOptionViewItem shifted(option);
    initStyleOption(&shifted, index);
    const QString text = shifted.text;
    shifted.text.clear();
    const QStyle* style = option.widget != nullptr ? option.widget->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &shifted, painter, option.widget);

    const Theme& theme = currentTheme();
    const auto kind = static_cast<EventKind>(index.data(EventLogModel::KindRole).toInt());
    const auto group = static_cast<EventGroup>(index.data(EventLogModel::GroupRole).toInt());
    const QPointF centre(option.rect.left() + kMarkColumn / 2.0, option.rect.center().y() + 0.5);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    switch (index.data(EventLogModel::StreakRole).toInt()) {
    case EventLogModel::StreakTop:
        painter->setPen(QPen(theme.skip, 1));
        painter->drawLine(centre, QPointF(centre.x(), option.rect.bottom() + 1));
        break;
    case EventLogModel::StreakMiddle:
        painter->setPen(QPen(theme.skip, 1));
        painter->drawLine(QPointF(centre.x(), option.rect.top()), QPointF(centre.x(), option.rect.bottom() + 1));
        break;
    case EventLogModel::StreakBottom:
        painter->setPen(QPen(theme.skip, 1));
        painter->drawLine(QPointF(centre.x(), option.rect.top()), centre);
        break;
    default:
        break;
    }
    switch (group) {
    case EventGroup::Skips:
        paintMark(*painter, kind == EventKind::NonfiniteLoss ? MarkShape::BadLoss : MarkShape::Overflow, centre,
                  kMarkSize, theme.skip);
        break;
    case EventGroup::Scale:
        paintMark(*painter, MarkShape::Growth, centre, kMarkSize, theme.growth);
        break;
    case EventGroup::You:
        paintMark(*painter, MarkShape::Command, centre, kMarkSize,
                  kind == EventKind::Rejected ? theme.error : theme.command);
        break;
    case EventGroup::Notes:
        painter->setPen(Qt::NoPen);
        painter->setBrush(kind == EventKind::Failed ? theme.error : theme.textDim);
        painter->drawEllipse(centre, 2.5, 2.5);
        break;
    }
    painter->setPen(theme.text);
    painter->setFont(option.font);
    const QRect room = option.rect.adjusted(kMarkColumn, 0, -4, 0);
    painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                      option.fontMetrics.elidedText(text, Qt::ElideRight, room.width()));
    painter->restore();
}

EventsPanel::EventsPanel(SessionController& controller, QWidget* parent)
    : QWidget(parent),
      m_model(new EventLogModel(controller, this)),
      m_filter(new EventFilterModel(this)),
      m_table(new QTableView),
      m_empty(new QLabel(tr("Skips, growth and your changes will be listed here."))),
      m_newer(new QToolButton(m_table))
{
    setAttribute(Qt::WA_StyledBackground);
    m_filter->setSourceModel(m_model);
    m_table->setModel(m_filter);
    m_table->setItemDelegate(new EventDelegate(m_table));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setTabKeyNavigation(false);
    m_table->setAccessibleName(tr("Events"));
    m_table->setAccessibleDescription(tr("What happened in this run, newest first"));
    m_table->verticalHeader()->setVisible(false);
    m_table->verticalHeader()->setMinimumSectionSize(10);
    m_table->verticalHeader()->setDefaultSectionSize(m_table->fontMetrics().height() + 7);
    m_table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    m_table->horizontalHeader()->setVisible(false);
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_table->setColumnWidth(EventLogModel::StepColumn,
                            m_table->fontMetrics().horizontalAdvance(QStringLiteral("8 888 888")) + 8);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->installEventFilter(this);
    m_newer->setProperty("floating", true);
    m_newer->setToolTip(tr("Show the newest events"));
    m_newer->setFocusPolicy(Qt::TabFocus);
    m_newer->setVisible(false);

    auto* tools = new QHBoxLayout;
    tools->setContentsMargins(12, 0, 12, 4);
    tools->setSpacing(4);
    for (std::size_t i = 0; i < kGroups.size(); ++i) {
        auto* chip = new QToolButton;
        chip->setText(eventGroupLabel(kGroups[i]));
        chip->setCheckable(true);
        chip->setProperty("chip", true);
        chip->setChecked(true);
        chip->setAccessibleName(tr("Show events: %1").arg(chip->text()));
        chip->setToolTip(tr("Show or hide these events"));
        connect(chip, &QToolButton::toggled, this, [this, i](bool shown) {
            m_filter->setShown(kGroups[i], shown);
            updateNewer();
        });
        m_chips[i] = chip;
        tools->addWidget(chip);
    }
    tools->addStretch(1);
    auto* copyButton = new QToolButton;
    copyButton->setIcon(glyphIcon(Glyph::Copy));
    copyButton->setAccessibleName(tr("Copy events"));
    copyButton->setToolTip(tr("Copy the selected events, or all that are shown"));
    connect(copyButton, &QToolButton::clicked, this, &EventsPanel::copy);
    tools->addWidget(copyButton);

    m_empty->setProperty("dim", true);
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignCenter);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addLayout(tools);
    column->addWidget(m_empty);
    column->addWidget(m_table, 1);

    m_table->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(m_table, &QWidget::customContextMenuRequested, this, &EventsPanel::showMenu);
    connect(m_table, &QTableView::clicked, this, &EventsPanel::choose);
    connect(m_table, &QTableView::activated, this, &EventsPanel::choose);
    const auto updateEmpty = [this] { m_empty->setVisible(m_model->rowCount() == 0); };
    connect(m_model, &QAbstractItemModel::rowsInserted, this, updateEmpty);
    connect(m_model, &QAbstractItemModel::modelReset, this, updateEmpty);
    // New events come in on top. Whoever points at a row, has chosen one or reads further down keeps the rows where
    // they are, until they ask for the newer ones or leave.
    m_table->viewport()->installEventFilter(this);
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &EventsPanel::updateHeld);
    connect(m_table->verticalScrollBar(), &QScrollBar::valueChanged, this, &EventsPanel::updateHeld);
    connect(m_filter, &QAbstractItemModel::modelReset, this, &EventsPanel::updateHeld);
    connect(m_model, &EventLogModel::waitingChanged, this, &EventsPanel::updateNewer);
    connect(m_newer, &QToolButton::clicked, this, &EventsPanel::showNewest);
    updateEmpty();
}

void EventsPanel::choose(const QModelIndex& index)
{
    if (index.isValid()) {
        emit eventChosen(index.data(EventLogModel::StepRole).toLongLong(),
                         index.data(EventLogModel::ModuleRole).toInt(), index.data(EventLogModel::TapRole).toInt());
    }
}

void EventsPanel::inspectCurrent()
{
    const QModelIndex index = m_table->currentIndex();
    const double value = index.isValid() ? index.data(EventLogModel::InspectRole).toDouble() : std::nan("");
    if (!std::isnan(value)) {
        emit inspectRequested(value, index.data(EventLogModel::ScaleRole).toDouble());
    }
}

void EventsPanel::showMenu(const QPoint& at)
{
    if (const QModelIndex under = m_table->indexAt(at); under.isValid()) {
        m_table->setCurrentIndex(under);
    }
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const QModelIndex index = m_table->currentIndex();
    const double value = index.isValid() ? index.data(EventLogModel::InspectRole).toDouble() : std::nan("");
    QAction* inspect =
        menu->addAction(std::isnan(value) ? tr("Inspect number") : tr("Inspect number: %1").arg(roundedText(value, 4)));
    inspect->setEnabled(!std::isnan(value));
    connect(inspect, &QAction::triggered, this, &EventsPanel::inspectCurrent);
    connect(menu->addAction(glyphIcon(Glyph::Copy), tr("Copy events")), &QAction::triggered, this, &EventsPanel::copy);
    menu->popup(m_table->viewport()->mapToGlobal(at));
}

void EventsPanel::updateHeld()
{
    m_model->setHeld(m_table->viewport()->underMouse() || m_table->selectionModel()->hasSelection() ||
                     m_table->verticalScrollBar()->value() > 0);
    updateNewer();
}

void EventsPanel::updateNewer()
{
    int count = 0;
    for (int i = 0; i < m_model->waiting(); ++i) {
        count += m_filter->isShown(m_model->waitingGroup(i)) ? 1 : 0;
    }
    m_newer->setVisible(count > 0);
    if (count > 0) {
        m_newer->setText(tr("%1 new").arg(stepText(count)));
        m_newer->setAccessibleName(tr("Show %1 new events").arg(stepText(count)));
        m_newer->adjustSize();
        const int right = m_table->viewport()->geometry().right();
        m_newer->move(right - m_newer->width() - 6, m_table->viewport()->y() + 4);
        m_newer->raise();
    }
}

void EventsPanel::showNewest()
{
    m_table->clearSelection();
    m_model->setHeld(false);
    m_table->scrollToTop();
    updateHeld();
}

void EventsPanel::setShown(EventGroup group, bool shown)
{
    for (std::size_t i = 0; i < kGroups.size(); ++i) {
        if (kGroups[i] == group) {
            m_chips[i]->setChecked(shown);
        }
    }
}

void EventsPanel::copy() const
{
    QList<int> rows;
    for (const QModelIndex& index : m_table->selectionModel()->selectedRows()) {
        rows << index.row();
    }
    std::sort(rows.begin(), rows.end());
    if (rows.isEmpty()) {
        for (int row = 0; row < m_filter->rowCount(); ++row) {
            rows << row;
        }
    }
    QString text;
    for (const int row : rows) {
        text += m_filter->index(row, EventLogModel::StepColumn).data(EventLogModel::StepRole).toString() +
                QLatin1Char('\t') + m_filter->index(row, EventLogModel::TextColumn).data().toString() +
                QLatin1Char('\n');
    }
    QApplication::clipboard()->setText(text);
}

bool EventsPanel::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_table && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->matches(QKeySequence::Copy)) {
            copy();
            return true;
        }
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            choose(m_table->currentIndex());
            return true;
        }
        if (key->key() == Qt::Key_Escape && m_table->selectionModel()->hasSelection()) {
            m_table->clearSelection();
            return true;
        }
    }
    if (watched == m_table->viewport()) {
        switch (event->type()) {
        case QEvent::Enter:
        case QEvent::Leave:
            // The widget knows where the pointer is once it has had the event.
            QMetaObject::invokeMethod(this, &EventsPanel::updateHeld, Qt::QueuedConnection);
            break;
        case QEvent::Resize:
            updateNewer();
            break;
        default:
            break;
        }
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace halfscope
