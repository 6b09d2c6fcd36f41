// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/schedule_dialog.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QStringList>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/model/precision_plan.h"
#include "engine/train/settings_registry.h"
#include "ui/dialogs/dialog_buttons.h"
#include "ui/models/setting_choices.h"
#include "ui/models/setting_labels.h"
#include "ui/models/shown_precision.h"
#include "ui/number_text.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

const auto kSchedule = QStringLiteral("precision-schedule");
enum Column { FromColumn, WhatColumn, ValueColumn, ColumnCount };

QString fromView(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

} // namespace

ScheduleDialog::ScheduleDialog(SessionController& controller, QWidget* parent)
    : QDialog(parent),
      m_controller(controller),
      m_table(new QTableWidget),
      m_message(new QLabel),
      m_remove(new QPushButton(tr("&Remove"))),
      m_apply(new QPushButton(tr("A&pply")))
{
    setWindowTitle(tr("Precision schedule"));
    m_table->setColumnCount(ColumnCount);
    m_table->setHorizontalHeaderLabels({tr("From step"), tr("What"), tr("Format")});
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 14);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setAccessibleName(tr("Changes of precision"));
    m_table->setMinimumHeight(8 * (fontMetrics().height() + 14));
    m_message->setWordWrap(true);
    m_message->setTextFormat(Qt::PlainText);
    auto* explanation = new QLabel(tr("From a step on, or after so many epochs as 2e, all modules get a preset or one "
                                      "module gets a format. 0 is the start. Steps that have passed are not changed."));
    explanation->setWordWrap(true);
    explanation->setProperty("dim", true);
    auto* add = new QPushButton(tr("&Add"));
    auto* close = new QPushButton(tr("Close"));
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(add);
    buttons->addWidget(m_remove);
    buttons->addStretch(1);
    buttons->addWidget(m_apply);
    buttons->addWidget(close);
    auto* column = new QVBoxLayout(this);
    column->setSpacing(8);
    column->addWidget(explanation);
    column->addWidget(m_table, 1);
    column->addWidget(m_message);
    column->addLayout(buttons);
    resize(560, 420);
    settleButtons(*this, m_apply);

    connect(add, &QPushButton::clicked, this, [this] {
        const QString next = QString::number(m_controller.run().steps.size() + 100);
        addRow(m_table->rowCount() == 0 && m_controller.run().steps.empty() ? QStringLiteral("0") : next, QString(),
               precisionAfterLast() == QLatin1String("mixed-fp16") ? QStringLiteral("mixed-bf16")
                                                                   : QStringLiteral("mixed-fp16"));
        m_table->setCurrentCell(m_table->rowCount() - 1, FromColumn);
        edited();
    });
    connect(m_remove, &QPushButton::clicked, this, [this] {
        QList<int> rows;
        for (const QModelIndex& index : m_table->selectionModel()->selectedIndexes()) {
            if (!rows.contains(index.row())) {
                rows << index.row();
            }
        }
        std::ranges::sort(rows, std::greater());
        for (const int row : rows) {
            m_table->removeRow(row);
        }
        edited();
    });
    connect(m_apply, &QPushButton::clicked, this, &ScheduleDialog::apply);
    connect(close, &QPushButton::clicked, this, &QDialog::close);
    connect(m_table, &QTableWidget::itemChanged, this, [this] {
        if (!m_filling) {
            edited();
        }
    });
    connect(m_table, &QTableWidget::itemSelectionChanged, this,
            [this] { m_remove->setEnabled(m_table->selectionModel()->hasSelection()); });
    connect(&controller, &SessionController::liveChanged, this, [this] {
        if (!m_edited && !m_controller.isPending(kSchedule)) {
            take();
        }
    });
    connect(&controller, &SessionController::runStarted, this, [this] {
        m_edited = false;
        take();
    });
    take();
}

void ScheduleDialog::take()
{
    const std::string wanted = scheduleText(m_controller.run().live.config.precisionSchedule);
    if (m_table->rowCount() == 0 || schedule().toStdString() != wanted) {
        m_table->setRowCount(0);
        for (const ScheduledPrecision& entry : m_controller.run().live.config.precisionSchedule) {
            const QString at = QString::number(entry.at) + (entry.epochs ? QStringLiteral("e") : QString());
            addRow(at, QString::fromStdString(entry.module), QString::fromStdString(entry.value()));
        }
    }
    m_apply->setEnabled(false);
    m_remove->setEnabled(m_table->selectionModel()->hasSelection());
    m_message->setText(m_table->rowCount() == 0 ? tr("No changes are planned. Add one.") : QString());
}

void ScheduleDialog::addRow(const QString& at, const QString& module, const QString& value)
{
    m_filling = true;
    const int row = m_table->rowCount();
    m_table->insertRow(row);
    m_table->setItem(row, FromColumn, new QTableWidgetItem(at));
    auto* what = new QComboBox;
    what->setAccessibleName(tr("What"));
    what->addItem(tr("All modules"), QString());
    for (const ModuleInfo& info : m_controller.run().info.modules) {
        if (info.kind != ModuleKind::Loss) {
            what->addItem(QString::fromStdString(info.name), QString::fromStdString(info.name));
        }
    }
    if (what->findData(module) < 0) { // of another model; the message says so
        what->addItem(module, module);
    }
    what->setCurrentIndex(what->findData(module));
    auto* format = new QComboBox;
    format->setAccessibleName(tr("Format"));
    m_table->setCellWidget(row, WhatColumn, what);
    m_table->setCellWidget(row, ValueColumn, format);
    fillValues(row, value);
    connect(what, &QComboBox::activated, this, [this, what] {
        for (int r = 0; r < m_table->rowCount(); ++r) {
            if (m_table->cellWidget(r, WhatColumn) == what) {
                fillValues(r, QString());
            }
        }
        edited();
    });
    connect(format, &QComboBox::activated, this, &ScheduleDialog::edited);
    m_filling = false;
}

// Presets for all modules, formats for one.
void ScheduleDialog::fillValues(int row, const QString& chosen)
{
    auto* format = qobject_cast<QComboBox*>(m_table->cellWidget(row, ValueColumn));
    const QString module = qobject_cast<QComboBox*>(m_table->cellWidget(row, WhatColumn))->currentData().toString();
    format->clear();
    if (module.isEmpty()) {
        for (const SettingChoice& choice : settingChoices(QStringLiteral("precision"))) {
            format->addItem(choice.text, choice.value);
        }
    } else {
        const auto& modules = m_controller.run().info.modules;
        const auto info = std::ranges::find(modules, module.toStdString(), &ModuleInfo::name);
        for (const FormatId id : allowedFormats(info == modules.end() ? ModuleKind::Linear : info->kind)) {
            format->addItem(fromView(moduleFormatName(id)), fromView(moduleFormatKey(id)));
        }
    }
    format->setCurrentIndex(std::max(0, format->findData(chosen)));
}

QString ScheduleDialog::precisionAfterLast() const
{
    for (int row = m_table->rowCount() - 1; row >= 0; --row) {
        if (qobject_cast<QComboBox*>(m_table->cellWidget(row, WhatColumn))->currentData().toString().isEmpty()) {
            return qobject_cast<QComboBox*>(m_table->cellWidget(row, ValueColumn))->currentData().toString();
        }
    }
    const ShownPrecision now = shownPrecision(m_controller.run());
    return now.changed ? QString() : QString::fromStdString(now.preset);
}

QString ScheduleDialog::schedule() const
{
    QStringList entries;
    for (int row = 0; row < m_table->rowCount(); ++row) {
        const QString module = qobject_cast<QComboBox*>(m_table->cellWidget(row, WhatColumn))->currentData().toString();
        const QString value = qobject_cast<QComboBox*>(m_table->cellWidget(row, ValueColumn))->currentData().toString();
        const QString at = m_table->item(row, FromColumn)->text().trimmed();
        entries << at + QLatin1Char(':') + (module.isEmpty() ? value : module + QLatin1Char('=') + value);
    }
    return entries.join(QLatin1Char(';'));
}

QString ScheduleDialog::problem() const
{
    const auto& modules = m_controller.run().info.modules;
    for (int row = 0; row < m_table->rowCount(); ++row) {
        const QString at = m_table->item(row, FromColumn)->text().trimmed();
        std::string ignored;
        if (!parseScheduled((at + QStringLiteral(":fp32")).toStdString(), ignored)) {
            return tr("“%1” is no step to begin at: a whole number from 0 to 10¹², or epochs as in 2e.").arg(at);
        }
        const QString module = qobject_cast<QComboBox*>(m_table->cellWidget(row, WhatColumn))->currentData().toString();
        if (!module.isEmpty() && std::ranges::find(modules, module.toStdString(), &ModuleInfo::name) == modules.end()) {
            return tr("This model has no module %1; choose another one or remove the row.").arg(module);
        }
    }
    RunConfig config = m_controller.run().live.config;
    if (const auto wrong = applySetting(config, kSchedule.toStdString(), schedule().toStdString())) {
        return refusalText({}, {}, QString::fromStdString(*wrong));
    }
    const std::vector<std::string> problems = validate(config);
    return problems.empty() ? QString() : refusalText({}, {}, QString::fromStdString(problems.front()));
}

void ScheduleDialog::edited()
{
    m_edited = true;
    const QString wrong = problem();
    const auto done = static_cast<qint64>(m_controller.run().steps.size());
    const std::int64_t epoch = std::max<std::int64_t>(m_controller.run().info.stepsPerEpoch, 1);
    QString note;
    std::string ignored;
    if (const auto entries = parseSchedule(schedule().toStdString(), ignored); entries && wrong.isEmpty()) {
        const auto past =
            std::ranges::count_if(*entries, [&](const ScheduledPrecision& entry) { return entry.step(epoch) <= done; });
        if (past > 0) {
            note = tr("Entries for steps that have passed count from the next restart.");
        }
    }
    m_message->setText(wrong.isEmpty() ? note : wrong);
    m_apply->setEnabled(wrong.isEmpty());
}

void ScheduleDialog::apply()
{
    m_edited = false;
    m_controller.setSetting(kSchedule, schedule());
    m_apply->setEnabled(false);
}

} // namespace halfscope
