// SPDX-License-Identifier: GPL-3.0-or-later
// The window's actions about plots, and those that move the keyboard.
#include <QMenu>
#include <QStatusBar>
#include <QTableView>
#include <algorithm>

#include "ui/main_window.h"
#include "ui/panels/advisor_panel.h"
#include "ui/panels/events_panel.h"
#include "ui/panels/examples_panel.h"
#include "ui/panels/experiment_panel.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/number_panel.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/scaler_panel.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/accuracy_plot.h"
#include "ui/plots/loss_plot.h"
#include "ui/plots/plot_export.h"
#include "ui/plots/scale_plot.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/waterfall_plot.h"
#include "ui/plots/what_if_plot.h"
#include "ui/session_controller.h"

namespace halfscope {

void MainWindow::connectPlotActions()
{
    const WindowActions& a = *m_actions;
    connect(a.exportPlot, &QAction::triggered, this, [this] { savePlot(m_plots->activePlot(), this); });
    connect(a.copyPlot, &QAction::triggered, this, [this] {
        PlotExport::copy(*m_plots->activePlot());
        statusBar()->showMessage(tr("Copied: %1").arg(m_plots->activePlot()->title()), 4000);
    });
    for (QAction* action : a.tapActions) {
        connect(action, &QAction::triggered, this, [this, action] {
            TapSelection selection = m_controller->run().selection;
            selection.tap = static_cast<Tap>(action->data().toInt());
            m_controller->select(selection);
        });
    }
    connect(a.scaledAxis, &QAction::toggled, m_plots->spectrum(), &SpectrumPlot::setScaledAxis);
    connect(a.logLoss, &QAction::toggled, m_plots->lossPlot(), &LossPlot::setLogarithmic);
    constexpr double kZoom = 1.5;
    connect(a.zoomIn, &QAction::triggered, m_plots, [this] { m_plots->activePlot()->zoomX(kZoom); });
    connect(a.zoomOut, &QAction::triggered, m_plots, [this] { m_plots->activePlot()->zoomX(1.0 / kZoom); });
    connect(a.panLeft, &QAction::triggered, m_plots, [this] { m_plots->activePlot()->panX(-0.2); });
    connect(a.panRight, &QAction::triggered, m_plots, [this] { m_plots->activePlot()->panX(0.2); });
    connect(a.resetPlot, &QAction::triggered, m_plots, [this] { m_plots->activePlot()->resetView(); });
    connect(a.wholeRun, &QAction::triggered, m_plots, [this] { m_plots->link().wholeRun(); });
    connect(a.follow, &QAction::triggered, m_plots, [this] {
        const StepAxisLink& link = m_plots->link();
        if (link.mode() == StepAxisLink::Mode::Follow && !m_plots->spectrum()->frozenStep()) {
            m_plots->link().setRange(link.range().lower, link.range().upper);
        } else {
            m_plots->followNewest();
        }
        updateFollow();
    });
    connect(&m_plots->link(), &StepAxisLink::modeChanged, this, &MainWindow::updateFollow);
    updateFollow();
    connect(a.releaseStep, &QAction::triggered, m_plots, &PlotArea::releaseStep);
    connect(m_plots, &PlotArea::heldStepChanged, this, &MainWindow::updateActions);
    connect(m_plots, &PlotArea::heldStepChanged, this, &MainWindow::updateFollow);
    const auto moveCrosshair = [this](qint64 by) {
        const auto at = m_plots->link().crosshair();
        const auto newest = static_cast<qint64>(m_controller->run().steps.size());
        m_plots->showStep(std::clamp<qint64>(at ? *at + by : newest, 1, std::max<qint64>(newest, 1)));
    };
    connect(a.previousStep, &QAction::triggered, m_plots, [moveCrosshair] { moveCrosshair(-1); });
    connect(a.nextStep, &QAction::triggered, m_plots, [moveCrosshair] { moveCrosshair(1); });
    connect(m_plots, &PlotArea::contextMenuWanted, this, [this](Plot* plot, const QPoint& at) {
        plot->setFocus();
        auto* menu = new QMenu(this);
        menu->setAttribute(Qt::WA_DeleteOnClose);
        menu->addAction(m_actions->copyPlot);
        menu->addAction(m_actions->exportPlot);
        menu->addSeparator();
        menu->addActions(m_actions->plotMenu->actions());
        if (const auto number = m_plots->numberAt(plot, plot->mapFromGlobal(at))) {
            menu->addSeparator();
            connect(menu->addAction(tr("Inspect number: %1").arg(number->words)), &QAction::triggered, this,
                    [this, number] { inspect(number->value, number->scale); });
        }
        if (plot == m_plots->spectrum()) {
            menu->addSeparator();
            menu->addAction(m_actions->scaledAxis);
            menu->addActions(m_actions->tapActions);
        } else if (plot == m_plots->lossPlot()) {
            menu->addSeparator();
            menu->addAction(m_actions->logLoss);
        }
        menu->popup(at);
    });
}

void MainWindow::updateFollow() { m_actions->follow->setChecked(m_plots->link().mode() == StepAxisLink::Mode::Follow); }

void MainWindow::connectFocusActions()
{
    const QList<QWidget*> places = {m_plots->spectrum(),
                                    m_plots->waterfall(),
                                    m_plots->scalePlot(),
                                    m_plots->lossPlot(),
                                    m_scaler,
                                    m_experiment,
                                    m_layers->table(),
                                    m_events->table(),
                                    m_advisor,
                                    m_plots->whatIf(),
                                    m_number->field(),
                                    m_plots->accuracyPlot(),
                                    m_examples};
    for (qsizetype i = 0; i < places.size(); ++i) {
        connect(m_actions->focusActions.at(i), &QAction::triggered, this, [this, place = places.at(i)] {
            raiseDock(place);
            if (place == m_examples) {
                m_examples->firstField()->setFocus(Qt::ShortcutFocusReason);
            } else if (place->focusPolicy() == Qt::NoFocus) {
                // A panel: its first field.
                for (QWidget* next = place->nextInFocusChain(); next != place; next = next->nextInFocusChain()) {
                    if (place->isAncestorOf(next) && (next->focusPolicy() & Qt::TabFocus) != 0 && next->isEnabled()) {
                        next->setFocus(Qt::ShortcutFocusReason);
                        break;
                    }
                }
            } else {
                place->setFocus(Qt::ShortcutFocusReason);
            }
        });
    }
}

} // namespace halfscope
