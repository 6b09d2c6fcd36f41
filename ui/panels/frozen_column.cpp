// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/frozen_column.h"

#include <QApplication>
#include <QEvent>
#include <QHeaderView>
#include <QScrollBar>
#include <QWheelEvent>

namespace halfscope {

FrozenColumn::FrozenColumn(QTableView* table) : QTableView(table), m_table(table)
{
    setModel(table->model());
    setSelectionModel(table->selectionModel());
    setItemDelegate(table->itemDelegate());
    setSelectionBehavior(table->selectionBehavior());
    setSelectionMode(table->selectionMode());
    setEditTriggers(NoEditTriggers);
    setFocusPolicy(Qt::NoFocus); // the keyboard belongs to the table
    setFrameShape(NoFrame);
    setShowGrid(false);
    setWordWrap(false);
    setProperty("frozen", true); // for the style sheet
    setProperty("arrowless", table->property("arrowless"));
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollMode(ScrollPerPixel);
    verticalHeader()->setVisible(false);
    verticalHeader()->setMinimumSectionSize(table->verticalHeader()->minimumSectionSize());
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    horizontalHeader()->setSectionsClickable(true);
    horizontalHeader()->setSortIndicatorShown(true);
    for (int column = 1; column < model()->columnCount(); ++column) {
        setColumnHidden(column, true);
    }

    connect(table->verticalScrollBar(), &QScrollBar::valueChanged, verticalScrollBar(), &QScrollBar::setValue);
    connect(verticalScrollBar(), &QScrollBar::valueChanged, table->verticalScrollBar(), &QScrollBar::setValue);
    connect(table->horizontalScrollBar(), &QScrollBar::valueChanged, this, &FrozenColumn::place);
    connect(table->horizontalScrollBar(), &QScrollBar::rangeChanged, this, &FrozenColumn::place);
    const QHeaderView* header = table->horizontalHeader();
    connect(header, &QHeaderView::sectionResized, this, &FrozenColumn::place);
    connect(header, &QHeaderView::sectionMoved, this, &FrozenColumn::place);
    connect(header, &QHeaderView::geometriesChanged, this, &FrozenColumn::place);
    connect(header, &QHeaderView::sortIndicatorChanged, horizontalHeader(), &QHeaderView::setSortIndicator);
    connect(horizontalHeader(), &QHeaderView::sectionClicked, this, &FrozenColumn::sortByIt);
    table->viewport()->installEventFilter(this);
    place();
}

void FrozenColumn::place()
{
    const QHeaderView* header = m_table->horizontalHeader();
    const bool needed = m_table->horizontalScrollBar()->value() > 0 && header->visualIndex(0) == 0;
    if (needed) {
        const int title = header->height();
        horizontalHeader()->setFixedHeight(title);
        verticalHeader()->setDefaultSectionSize(m_table->verticalHeader()->defaultSectionSize());
        setColumnWidth(0, m_table->columnWidth(0));
        horizontalHeader()->setSortIndicator(header->sortIndicatorSection(), header->sortIndicatorOrder());
        const QRect rows = m_table->viewport()->geometry();
        setGeometry(rows.x(), rows.y() - title, m_table->columnWidth(0) + 1, rows.height() + title);
        verticalScrollBar()->setValue(m_table->verticalScrollBar()->value());
        raise();
    }
    setVisible(needed);
}

void FrozenColumn::sortByIt()
{
    QHeaderView* header = m_table->horizontalHeader();
    const bool sorted = header->sortIndicatorSection() == 0;
    if (sorted && header->sortIndicatorOrder() == Qt::DescendingOrder) { // the third click, as in the table's own title
        header->setSortIndicator(-1, Qt::AscendingOrder);
        return;
    }
    header->setSortIndicator(0, sorted ? Qt::DescendingOrder : Qt::AscendingOrder);
}

// Sideways, too, it is the table that scrolls.
void FrozenColumn::wheelEvent(QWheelEvent* event) { QApplication::sendEvent(m_table->viewport(), event); }

bool FrozenColumn::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Resize || event->type() == QEvent::Move) {
        place();
    }
    return QTableView::eventFilter(watched, event);
}

} // namespace halfscope
