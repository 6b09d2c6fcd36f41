// SPDX-License-Identifier: GPL-3.0-or-later
// The table of a comparison: a row a format.
#pragma once

#include <functional>

#include "engine/compare/comparison_summary.h"
#include "ui/panels/plain_table.h"

namespace halfscope {

class CompareTable : public PlainTable {
    Q_OBJECT
public:
    explicit CompareTable(QWidget* parent = nullptr);

    void show(const Comparison& comparison);

private:
    struct Quantity {
        Column column;
        std::function<QString(const FormatSummary&)> text;
    };
    static QList<Quantity> quantitiesOf(const Comparison& comparison, const std::vector<FormatSummary>& rows);
};

} // namespace halfscope
