// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/updates_dialog.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "engine/model/precision_plan.h"
#include "ui/dialogs/dialog_buttons.h"
#include "ui/number_text.h"
#include "ui/panels/plain_table.h"
#include "ui/plots/spectrum_data.h"
#include "ui/plots/update_plot.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

constexpr qint64 kReadable = 400; // milliseconds between changes of the table
const auto kMeasure = QStringLiteral("measure-updates");

} // namespace

UpdatesDialog::UpdatesDialog(SessionController& controller, QWidget* parent)
    : QDialog(parent),
      m_controller(controller),
      m_measure(new QCheckBox(tr("&Measure the updates of the weights"))),
      m_headline(new QLabel),
      m_plot(new UpdatePlot),
      m_table(new PlainTable(tr("Lost updates of each module")))
{
    setWindowTitle(tr("Updates of the weights"));
    m_measure->setToolTip(tr("Counts every update of a measured step; costs some milliseconds a step"));
    m_headline->setWordWrap(true);
    m_plot->setMinimumHeight(220);
    m_plot->setRun(&controller.run());
    m_table->setColumns(
        {{tr("Module"), tr("Modules with parameters, in the order of the forward pass"), false},
         {tr("Moves in"), tr("The format a weight has to move in to be felt"), false},
         {tr("Lost"), tr("Share of the updates that leave the weight where it is, rounded in that format"), true},
         {tr("Updates"), tr("Weights that the optimizer wants to change"), true},
         {tr("Unchanged"), tr("Weights that it wants to leave as they are"), true},
         {tr("Not finite"), tr("Weights that are not finite before or after"), true}});
    auto* explanation = new QLabel(tr(
        "An update is lost where the weight, rounded in the module's format, is the same before and after. With FP32 "
        "master weights it is only deferred: the master adds it up. The plot is of the layers that are selected."));
    explanation->setWordWrap(true);
    explanation->setProperty("dim", true);
    auto* save = new QPushButton(tr("&Save the plot…"));
    auto* close = new QPushButton(tr("Close"));
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(save);
    buttons->addStretch(1);
    buttons->addWidget(close);
    auto* area = new QScrollArea;
    area->setWidget(m_table);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus);
    auto* column = new QVBoxLayout(this);
    column->setSpacing(8);
    column->addWidget(m_measure);
    column->addWidget(m_headline);
    column->addWidget(m_plot, 3);
    column->addWidget(area, 2);
    column->addWidget(explanation);
    column->addLayout(buttons);
    resize(760, 720);
    settleButtons(*this, nullptr);

    connect(m_measure, &QCheckBox::clicked, this,
            [this](bool on) { m_controller.setSetting(kMeasure, on ? QStringLiteral("on") : QStringLiteral("off")); });
    connect(save, &QPushButton::clicked, this, &UpdatesDialog::plotSaveRequested);
    connect(close, &QPushButton::clicked, this, &QDialog::close);
    connect(&controller, &SessionController::snapshotAdded, this, &UpdatesDialog::refresh);
    connect(&controller, &SessionController::selectionChanged, this, &UpdatesDialog::refresh);
    connect(&controller, &SessionController::liveChanged, this, &UpdatesDialog::refresh);
    connect(&controller, &SessionController::runStarted, this, [this] {
        m_plot->setRun(&m_controller.run());
        refresh();
    });
    refresh();
}

void UpdatesDialog::refresh()
{
    if (!m_controller.isPending(kMeasure)) {
        m_measure->setChecked(m_controller.run().live.config.measureUpdates);
    }
    m_plot->refresh();
    m_headline->setText(m_plot->headline());
    m_headline->setVisible(!m_headline->text().isEmpty());
    fillTable();
}

void UpdatesDialog::fillTable()
{
    const RunModel& run = m_controller.run();
    // A few times a second is readable.
    const qint64 step = run.latest != nullptr ? run.latest->step : 0;
    if (step == m_filledStep || (step > m_filledStep && m_filled.isValid() && m_filled.elapsed() < kReadable)) {
        return;
    }
    m_filledStep = step;
    m_filled.start();
    QList<QStringList> rows;
    if (run.latest != nullptr) {
        for (const ModuleUpdates& update : run.latest->updates) {
            const UpdateStatistics& s = update.statistics;
            const auto module = static_cast<std::size_t>(update.module);
            rows << QStringList{
                QString::fromStdString(run.info.modules.at(module).name),
                formatText(update.format),
                s.updates() == 0 ? QStringLiteral("–")
                                 : shareText(static_cast<double>(s.lost), static_cast<double>(s.updates())),
                countText(s.updates()),
                countText(s.unchanged),
                countText(s.nonfinite),
            };
        }
    }
    m_table->setRows(rows);
}

} // namespace halfscope
