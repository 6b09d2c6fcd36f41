// SPDX-License-Identifier: GPL-3.0-or-later
// The menus of the layers table: columns, formats, selection, and the numbers of a row.
#include <QHeaderView>
#include <QMenu>
#include <algorithm>
#include <cmath>

#include "ui/models/layers_model.h"
#include "ui/models/setting_choices.h"
#include "ui/number_text.h"
#include "ui/panels/icons.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/pattern_bar.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

// The formats that any of the rows may have, in the order of the lists in the table.
QStringList formatsOf(const QModelIndexList& rows)
{
    QStringList keys;
    for (const QModelIndex& row : rows) {
        for (const QString& key : row.data(LayersModel::AllowedKeysRole).toStringList()) {
            if (!keys.contains(key)) {
                keys << key;
            }
        }
    }
    return keys;
}

} // namespace

void LayersPanel::headerMenu(const QPoint& at)
{
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    QHeaderView* header = m_table->horizontalHeader();
    for (int column = LayersModel::ModuleColumn + 1; column < LayersModel::ColumnCount; ++column) {
        QAction* action = menu->addAction(m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
        action->setCheckable(true);
        action->setChecked(!header->isSectionHidden(column));
        connect(action, &QAction::toggled, header,
                [header, column](bool shown) { header->setSectionHidden(column, !shown); });
    }
    menu->addSeparator();
    QAction* order = menu->addAction(tr("Order of the forward pass"));
    order->setEnabled(header->sortIndicatorSection() >= 0 || m_sorted->worstFirst());
    connect(order, &QAction::triggered, this, &LayersPanel::useModelOrder);
    connect(menu->addAction(tr("Fit the widths")), &QAction::triggered, this, &LayersPanel::fitColumns);
    menu->popup(header->mapToGlobal(at));
}

void LayersPanel::inspect(double value)
{
    const RunModel& run = m_controller.run();
    emit inspectRequested(value, run.latest != nullptr && run.selectionIsScaled()
                                     ? static_cast<double>(run.latest->scale)
                                     : std::nan(""));
}

void LayersPanel::inspectCurrent()
{
    const QModelIndex index = m_table->currentIndex();
    if (!index.isValid()) {
        return;
    }
    const double cell = index.data(LayersModel::InspectRole).toDouble();
    const TapStatistics* tap = m_model->tapAt(m_sorted->mapToSource(index).row());
    if (!std::isnan(cell)) {
        inspect(cell);
    } else if (tap != nullptr && tap->statistics.absMax > 0.0F) {
        inspect(static_cast<double>(tap->statistics.absMax));
    }
}

void LayersPanel::rowMenu(const QPoint& global, const QModelIndex& under)
{
    if (under.isValid()) {
        m_table->selectionModel()->setCurrentIndex(under, QItemSelectionModel::NoUpdate);
    }
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    // Of a row that is not selected, the menu is about that one.
    QModelIndexList rows = chosenRows();
    if (under.isValid() && !m_table->selectionModel()->isRowSelected(under.row(), {})) {
        rows = {under.siblingAtColumn(LayersModel::FormatColumn)};
    }
    QMenu* formats = menu->addMenu(tr("Set format"));
    if (rows.size() > 1) {
        formats->setTitle(tr("Set format of %n layers", nullptr, static_cast<int>(rows.size())));
    }
    for (const QString& key : formatsOf(rows)) {
        QAction* action = formats->addAction(choiceText(QStringLiteral("precision.MODULE"), key));
        action->setCheckable(true);
        action->setChecked(std::ranges::all_of(
            rows, [&](const QModelIndex& row) { return row.data(LayersModel::FormatKeyRole).toString() == key; }));
        // Rows may move while the menu is open.
        connect(action, &QAction::triggered, this,
                [this, key, kept = QList<QPersistentModelIndex>(rows.begin(), rows.end())] {
                    setFormats(QModelIndexList(kept.begin(), kept.end()), key);
                });
    }
    formats->setEnabled(formats->actions().size() > 1);
    QMenu* kinds = menu->addMenu(tr("Select"));
    kinds->addActions(m_pattern->groupsMenu()->actions());
    kinds->addSeparator();
    connect(kinds->addAction(tr("All layers")), &QAction::triggered, this, &LayersPanel::clearFilter);

    menu->addSeparator();
    const QModelIndex current = m_table->currentIndex();
    const auto offer = [&](const QString& words, double value) {
        if (std::isfinite(value)) {
            connect(menu->addAction(words.arg(roundedText(value, 4))), &QAction::triggered, this,
                    [this, value] { inspect(value); });
        }
    };
    if (current.isValid()) {
        offer(tr("Inspect number: %1"), current.data(LayersModel::InspectRole).toDouble());
        const TapStatistics* tap = m_model->tapAt(m_sorted->mapToSource(current).row());
        if (tap != nullptr && tap->statistics.absMax > 0.0F) {
            offer(tr("Inspect the largest magnitude: %1"), static_cast<double>(tap->statistics.absMax));
            offer(tr("Inspect the smallest magnitude: %1"), static_cast<double>(tap->statistics.absMin));
        }
    }
    menu->addSeparator();
    connect(menu->addAction(glyphIcon(Glyph::Copy), tr("Copy the table")), &QAction::triggered, this,
            &LayersPanel::copy);
    menu->popup(global);
}

} // namespace halfscope
