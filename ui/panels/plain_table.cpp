// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/plain_table.h"

#include <QEvent>
#include <QHeaderView>
#include <QScrollBar>

namespace halfscope {

PlainTable::PlainTable(const QString& accessibleName, QWidget* parent) : QTableWidget(parent)
{
    setAccessibleName(accessibleName);
    setEditTriggers(NoEditTriggers);
    setSelectionBehavior(SelectRows);
    setShowGrid(false);
    setFrameShape(QFrame::NoFrame);
    setWordWrap(false);
    setTabKeyNavigation(false);
    // Columns of numbers must not touch.
    setStyleSheet(QStringLiteral("QTableView::item { padding: 0 6px; } QHeaderView::section { padding: 3px 6px; }"));
    setHorizontalScrollMode(ScrollPerPixel);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
    horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setStretchLastSection(false);
}

void PlainTable::setColumns(const QList<Column>& columns)
{
    m_columns = columns;
    setColumnCount(static_cast<int>(columns.size()));
    for (int c = 0; c < columnCount(); ++c) {
        auto* header = new QTableWidgetItem(columns.at(c).title);
        header->setToolTip(columns.at(c).help);
        header->setTextAlignment((columns.at(c).number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
        setHorizontalHeaderItem(c, header);
    }
}

void PlainTable::setRows(const QList<QStringList>& rows)
{
    setRowCount(static_cast<int>(rows.size()));
    for (int r = 0; r < rowCount(); ++r) {
        for (int c = 0; c < columnCount(); ++c) {
            auto* made = new QTableWidgetItem(rows.at(r).at(c));
            made->setTextAlignment((m_columns.at(c).number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
            made->setToolTip(m_columns.at(c).help);
            setItem(r, c, made);
        }
    }
    fitHeight();
}

int PlainTable::wantedWidth() const
{
    int width = 2;
    for (int c = 0; c < columnCount(); ++c)
        width += std::max(sizeHintForColumn(c), horizontalHeader()->sectionSizeHint(c));
    return width;
}

void PlainTable::fitHeight()
{
    int height = horizontalHeader()->sizeHint().height() + horizontalScrollBar()->sizeHint().height() + 2;
    for (int r = 0; r < rowCount(); ++r)
        height += rowHeight(r);
    setFixedHeight(height);
}

void PlainTable::changeEvent(QEvent* event)
{
    QTableWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange && verticalHeader() != nullptr) {
        verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
        fitHeight();
    }
}

QString PlainTable::cell(const QString& row, const QString& column) const
{
    for (int c = 0; c < columnCount(); ++c) {
        if (horizontalHeaderItem(c)->text() != column)
            continue;
        for (int r = 0; r < rowCount(); ++r) {
            if (item(r, 0)->text() == row)
                return item(r, c)->text();
        }
    }
    return {};
}

} // namespace halfscope
