// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps the first column of a table in view while the table is scrolled sideways: a second view of the same model and
// selection, laid over the first one only then.
#pragma once

#include <QTableView>

namespace halfscope {

class FrozenColumn : public QTableView {
    Q_OBJECT
public:
    // `table` has its model, scrolls by pixels and outlives this, as its parent.
    explicit FrozenColumn(QTableView* table);

    void place();

protected:
    void wheelEvent(QWheelEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void sortByIt();

    QTableView* m_table;
};

} // namespace halfscope
