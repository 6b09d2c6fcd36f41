// SPDX-License-Identifier: GPL-3.0-or-later
// The advisor in the window: its findings, what "Show me" shows, and the steps of debugging.
#include <QDockWidget>
#include <QStyle>
#include <QToolButton>

#include "engine/amp/remedies.h"
#include "ui/main_window.h"
#include "ui/models/finding_text.h"
#include "ui/number_text.h"
#include "ui/panels/advisor_panel.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/window_actions.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

const auto kCompareEvery = QStringLiteral("10"); // steps: a tenth more time

} // namespace

void MainWindow::connectAdvisor()
{
    const WindowActions& a = *m_actions;
    connect(a.adviceApply, &QAction::triggered, m_advisor, &AdvisorPanel::applyFirstRemedy);
    connect(a.adviceShow, &QAction::triggered, m_advisor, &AdvisorPanel::showCurrent);
    connect(a.adviceDismiss, &QAction::triggered, m_advisor, &AdvisorPanel::dismissCurrent);
    connect(m_advisor, &AdvisorPanel::showRequested, this, &MainWindow::showFinding);
    connect(m_advisor, &AdvisorPanel::countChanged, this, &MainWindow::updateAdvice);
    connect(a.stepStatistics, &QAction::triggered, this, [this] {
        raiseDock(m_layers);
        m_layers->showStatistics();
    });
    SessionController* run = m_controller.get();
    connect(a.stepFp32, &QAction::triggered, run, [run] { run->apply(allFp32Remedy()); });
    connect(a.stepHalve, &QAction::triggered, run, [run] {
        const LiveState& live = run->run().live;
        run->apply(halveScaleStep(live.scaler.scale, live.config.scaler));
    });
    connect(a.stepSensitive, &QAction::triggered, run,
            [run] { run->apply(sensitiveStep(run->run().live.plan, run->run().info.modules)); });
    connect(a.stepCompare, &QAction::triggered, run, [this, run](bool on) {
        run->setSetting(QStringLiteral("shadow-interval"), on ? kCompareEvery : QStringLiteral("0"));
        raiseDock(m_layers);
    });
    connect(a.shadowRun, &QAction::triggered, run, [run](bool on) {
        run->setSetting(QStringLiteral("shadow-run"), on ? QStringLiteral("on") : QStringLiteral("off"));
        run->restart(false);
    });
    connect(m_statusAdvice, &QToolButton::clicked, this, [this] { raiseDock(m_advisor); });
    updateAdvice();
}

void MainWindow::raiseDock(const QWidget* inside)
{
    for (QDockWidget* dock : std::as_const(m_docks)) {
        if (dock->isAncestorOf(inside)) {
            dock->show();
            dock->raise();
        }
    }
}

void MainWindow::showFinding(const Finding& finding)
{
    TapSelection selection = m_controller->run().selection;
    selection.modules.assign(finding.modules.begin(), finding.modules.end());
    selection.name.clear();
    if (finding.tap >= 0) {
        selection.tap = static_cast<Tap>(finding.tap);
    }
    m_controller->select(selection);
    m_plots->showStep(finding.lastStep);
}

void MainWindow::updateAdvice()
{
    const int count = m_advisor->count();
    const WindowActions& a = *m_actions;
    for (QAction* action : {a.adviceApply, a.adviceShow, a.adviceDismiss}) {
        action->setEnabled(count > 0);
    }
    m_statusAdvice->setText(count == 0   ? tr("Advisor: nothing")
                            : count == 1 ? tr("Advisor: 1 finding")
                                         : tr("Advisor: %1 findings").arg(stepText(count)));
    m_statusAdvice->setAccessibleName(m_statusAdvice->text());
    m_statusAdvice->setProperty("dim", count == 0 || m_advisor->gravest() == Severity::Note);
    m_statusAdvice->style()->unpolish(m_statusAdvice); // the property decides the colour
    m_statusAdvice->style()->polish(m_statusAdvice);
    m_statusAdvice->setToolTip(tr("Opens the advisor"));
}

void MainWindow::updateDebugSteps(bool over)
{
    const RunModel& run = m_controller->run();
    const PrecisionPlan& plan = run.live.plan;
    const WindowActions& a = *m_actions;
    a.stepStatistics->setEnabled(!run.info.modules.empty());
    a.stepFp32->setEnabled(!over &&
                           std::any_of(plan.begin(), plan.end(), [](FormatId f) { return f != FormatId::Fp32; }));
    a.stepHalve->setEnabled(!over && run.live.config.scaler.enabled);
    a.stepCompare->setEnabled(!over);
    a.stepCompare->setChecked(run.live.config.shadowInterval > 0);
    a.shadowRun->setChecked(run.live.config.shadowRun);
    a.stepSensitive->setEnabled(!over && !sensitiveStep(plan, run.info.modules).modules.empty());
}

} // namespace halfscope
