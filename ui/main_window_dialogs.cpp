// SPDX-License-Identifier: GPL-3.0-or-later
// The dialogs that the window opens, and what becomes of their answers.
#include <QDesktopServices>
#include <QFileDialog>
#include <QFileInfo>
#include <QUrl>

#include "engine/train/task.h"
#include "ui/compare/compare_dialog.h"
#include "ui/compare/compare_plot.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/file_suffix.h"
#include "ui/dialogs/machine_dialog.h"
#include "ui/dialogs/new_run_dialog.h"
#include "ui/dialogs/run_export.h"
#include "ui/dialogs/run_steps_dialog.h"
#include "ui/dialogs/schedule_dialog.h"
#include "ui/dialogs/shortcuts_dialog.h"
#include "ui/dialogs/text_opener.h"
#include "ui/dialogs/updates_dialog.h"
#include "ui/main_window.h"
#include "ui/panels/banner_stack.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/plot_export.h"
#include "ui/plots/update_plot.h"
#include "ui/session_controller.h"
#include "ui/settings/remembered_device.h"

namespace halfscope {

void MainWindow::openText(const QString& path)
{
    m_settings.setLastFolder(QFileInfo(path).absolutePath());
    m_opener->open(path);
}

void MainWindow::openDropped(const QString& path)
{
    m_settings.setLastFolder(QFileInfo(path).absolutePath());
    m_opener->openAny(path, datasetRequest(m_controller->run().live.config));
}

void MainWindow::refuseData(const QString& why)
{
    m_banners->show(kTextRefused, BannerStack::Kind::Warning, why, tr("Open another…"), [this] { chooseText(); });
}

void MainWindow::chooseText()
{
    auto* chooser = new QFileDialog(this, tr("Open a text to train on"), m_settings.lastFolder(),
                                    tr("Text (*.txt *.md *.csv *.py *.cpp *.tex);;All files (*)"));
    chooser->setAttribute(Qt::WA_DeleteOnClose);
    chooser->setFileMode(QFileDialog::ExistingFile);
    connect(chooser, &QFileDialog::fileSelected, this, &MainWindow::openText);
    chooser->open();
}

NewRunDialog* MainWindow::showNewRun()
{
    auto* dialog = new NewRunDialog(m_controller->run().live.config, m_controller->run().info.model, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &NewRunDialog::startRequested, this, [this](const RunConfig& config) {
        rememberDevice(m_settings, config);
        startRun(config);
    });
    dialog->open();
    return dialog;
}

void MainWindow::showRunSteps()
{
    auto* dialog = new RunStepsDialog(m_lastRunSteps, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &RunStepsDialog::chosen, this, [this](int steps) {
        m_lastRunSteps = steps;
        m_controller->runSteps(steps);
    });
    dialog->open();
}

void MainWindow::showExport()
{
    if (m_export == nullptr) {
        m_export = new ExportDialog(*m_controller, m_plots->plots(), newExportFolder(m_settings.lastFolder()), this);
        m_export->setAttribute(Qt::WA_DeleteOnClose);
        connect(m_export, &ExportDialog::exported, this, [this](const QString& folder) {
            // What is exported next goes beside it, not into it.
            m_settings.setLastFolder(QFileInfo(folder).absolutePath());
            showWritten(tr("The run was exported to %1.").arg(folder), folder);
        });
        connect(m_export, &ExportDialog::failed, this,
                [this](const QString& problem) { m_banners->show(kExport, BannerStack::Kind::Warning, problem); });
    }
    m_export->show();
    m_export->raise();
    m_export->activateWindow();
}

void MainWindow::savePlot(Plot* plot, QWidget* owner)
{
    auto* dialog = new PictureDialog(plot->title(), plot->size(), m_picture, owner);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &PictureDialog::chosen, this, [this, dialog, plot, owner] {
        m_picture = dialog->choice();
        savePicture(plot, owner);
    });
    dialog->open();
}

void MainWindow::savePicture(Plot* plot, QWidget* owner)
{
    auto* chooser = new QFileDialog(owner, tr("Save plot"), m_settings.lastFolder(), PlotExport::fileDialogFilter());
    chooser->setAttribute(Qt::WA_DeleteOnClose);
    chooser->setAcceptMode(QFileDialog::AcceptSave); // asks before it replaces a file
    chooser->selectFile(PlotExport::suggestedName(*plot, ExportFormat::Png));
    followChosenSuffix(*chooser);
    connect(chooser, &QFileDialog::fileSelected, this, [this, plot](const QString& path) {
        const QString folder = QFileInfo(path).absolutePath();
        m_settings.setLastFolder(folder);
        if (const auto problem = PlotExport::save(*plot, path, m_picture.options())) {
            m_banners->show(kExport, BannerStack::Kind::Warning, *problem);
        } else {
            showWritten(tr("The plot was saved to %1.").arg(path), folder);
        }
    });
    chooser->open();
}

void MainWindow::showCompare()
{
    if (m_compare == nullptr) {
        const RunModel& run = m_controller->run();
        m_compare =
            new CompareDialog(run.live.config, QString::fromStdString(run.info.data.title),
                              m_settings.folder() + QStringLiteral("/comparison.json"), m_settings.lastFolder(), this);
        m_compare->setAttribute(Qt::WA_DeleteOnClose);
        CompareDialog* dialog = m_compare;
        connect(dialog, &CompareDialog::runningChanged, this, &MainWindow::wantMachine);
        connect(dialog, &CompareDialog::exported, this,
                [this](const QString& folder) { m_settings.setLastFolder(folder); });
        connect(dialog, &CompareDialog::plotSaveRequested, this, [this, dialog] { savePlot(&dialog->plot(), dialog); });
    }
    m_compare->show();
    m_compare->raise();
    m_compare->activateWindow();
}

void MainWindow::updateCompare()
{
    if (m_compare != nullptr) {
        const RunModel& run = m_controller->run();
        m_compare->setBase(run.live.config, QString::fromStdString(run.info.data.title));
    }
}

void MainWindow::showMachine()
{
    if (m_machine == nullptr) {
        m_machine = new MachineDialog(this);
        m_machine->setAttribute(Qt::WA_DeleteOnClose);
        connect(m_machine, &MachineDialog::runningChanged, this, &MainWindow::wantMachine);
    }
    m_machine->show();
    m_machine->raise();
    m_machine->activateWindow();
}

void MainWindow::showSchedule()
{
    if (m_schedule == nullptr) {
        m_schedule = new ScheduleDialog(*m_controller, this);
        m_schedule->setAttribute(Qt::WA_DeleteOnClose);
    }
    m_schedule->show();
    m_schedule->raise();
    m_schedule->activateWindow();
}

void MainWindow::showUpdates()
{
    if (m_updates == nullptr) {
        m_updates = new UpdatesDialog(*m_controller, this);
        m_updates->setAttribute(Qt::WA_DeleteOnClose);
        UpdatesDialog* dialog = m_updates;
        connect(dialog, &UpdatesDialog::plotSaveRequested, this, [this, dialog] { savePlot(&dialog->plot(), dialog); });
    }
    m_updates->show();
    m_updates->raise();
    m_updates->activateWindow();
}

void MainWindow::wantMachine(bool wanted)
{
    m_machineUsers += wanted ? 1 : -1;
    const EngineState state = m_controller->state();
    if (wanted && m_machineUsers == 1 && (state == EngineState::Running || state == EngineState::Starting)) {
        m_pausedForMachine = true;
        m_controller->pause();
    } else if (m_machineUsers == 0 && m_pausedForMachine) {
        m_pausedForMachine = false;
        m_controller->resume();
    }
}

void MainWindow::showWritten(const QString& text, const QString& folder)
{
    m_banners->show(kExport, BannerStack::Kind::Info, text, tr("Open folder"),
                    [folder] { QDesktopServices::openUrl(QUrl::fromLocalFile(folder)); });
}

void MainWindow::showShortcuts()
{
    auto* dialog = new ShortcutsDialog(m_actions->groups(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
}

} // namespace halfscope
