// SPDX-License-Identifier: GPL-3.0-or-later
// The Edit menu: undo and redo, layers by pattern, formats of several layers, the number inspector.
#include <QApplication>
#include <QCursor>
#include <QLineEdit>
#include <QTableView>
#include <cmath>

#include "ui/change_history.h"
#include "ui/main_window.h"
#include "ui/panels/events_panel.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/number_panel.h"
#include "ui/panels/pattern_bar.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/plot.h"

namespace halfscope {

void MainWindow::connectEditActions()
{
    const WindowActions& a = *m_actions;
    connect(a.undo, &QAction::triggered, m_history, &ChangeHistory::undo);
    connect(a.redo, &QAction::triggered, m_history, &ChangeHistory::redo);
    connect(m_history, &ChangeHistory::changed, this, &MainWindow::updateHistory);
    updateHistory();
    connect(a.selectLayers, &QAction::triggered, this, [this] {
        raiseDock(m_layers);
        m_layers->pattern()->field()->setFocus(Qt::ShortcutFocusReason);
        m_layers->pattern()->field()->selectAll();
    });
    for (QAction* action : a.formatActions) {
        connect(action, &QAction::triggered, m_layers,
                [this, action] { m_layers->setFormatOfSelected(action->data().toString()); });
    }
    const auto show = [this](double value, double scale) {
        inspect(value, std::isnan(scale) ? std::nullopt : std::optional<double>(scale));
    };
    connect(m_layers, &LayersPanel::inspectRequested, this, show);
    connect(m_events, &EventsPanel::inspectRequested, this, show);
    connect(a.inspect, &QAction::triggered, this, &MainWindow::inspectHere);
}

// The menu says what would be undone.
void MainWindow::updateHistory()
{
    const WindowActions& a = *m_actions;
    const bool undo = m_history->canUndo();
    const bool redo = m_history->canRedo();
    a.undo->setEnabled(undo);
    a.redo->setEnabled(redo);
    a.undo->setText(undo ? tr("&Undo: %1").arg(m_history->undoText()) : tr("&Undo"));
    a.redo->setText(redo ? tr("&Redo: %1").arg(m_history->redoText()) : tr("&Redo"));
}

void MainWindow::inspect(double value, std::optional<double> scale)
{
    m_number->inspect(value, scale);
    raiseDock(m_number);
    m_number->field()->setFocus(Qt::ShortcutFocusReason);
    m_number->field()->selectAll();
}

// What the keyboard or the pointer is on; otherwise the number that was inspected last.
void MainWindow::inspectHere()
{
    const QWidget* focus = QApplication::focusWidget();
    if (focus == m_layers->table()) {
        m_layers->inspectCurrent();
    } else if (focus == m_events->table()) {
        m_events->inspectCurrent();
    } else {
        for (const Plot* plot : m_plots->plots()) {
            const auto number = plot->underMouse() ? m_plots->numberAt(plot, plot->mapFromGlobal(QCursor::pos()))
                                                   : std::optional<PlottedNumber>();
            if (number) {
                m_number->inspect(number->value, number->scale);
            }
        }
    }
    raiseDock(m_number);
    m_number->field()->setFocus(Qt::ShortcutFocusReason);
    m_number->field()->selectAll();
}

} // namespace halfscope
