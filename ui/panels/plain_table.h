// SPDX-License-Identifier: GPL-3.0-or-later
// A small table to be read: nothing in it is edited, all its rows are in view.
#pragma once

#include <QTableWidget>

namespace halfscope {

class PlainTable : public QTableWidget {
    Q_OBJECT
public:
    explicit PlainTable(const QString& accessibleName, QWidget* parent = nullptr);

    struct Column {
        QString title;
        QString help;
        bool number = false; // to the right
    };
    void setColumns(const QList<Column>& columns);
    // A cell for each column.
    int wantedWidth() const; // at which no column is cut
    void setRows(const QList<QStringList>& rows);
    QString cell(const QString& row, const QString& column) const; // by the first cell and the title; empty: none

protected:
    void changeEvent(QEvent* event) override;

private:
    void fitHeight();

    QList<Column> m_columns;
};

} // namespace halfscope
