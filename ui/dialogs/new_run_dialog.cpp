// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/new_run_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/model/memory_estimate.h"
#include "engine/model/precision_plan.h"
#include "engine/train/settings_registry.h"
#include "ui/dialogs/dialog_buttons.h"
#include "ui/models/setting_labels.h"
#include "ui/number_text.h"
#include "ui/panels/choice_combo.h"
#include "ui/panels/number_edit.h"
#include "ui/panels/status_text.h"

namespace halfscope {

namespace {

QString fromView(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

// The formats of the modules once the run has started.
PrecisionPlan planOf(const RunConfig& config, const std::vector<ModuleInfo>& modules)
{
    PrecisionPlan plan = makePlan(config.precision, modules).value_or(PrecisionPlan(modules.size(), FormatId::Fp32));
    for (std::size_t i = 0; i < modules.size(); ++i) {
        const auto exception = config.modulePrecision.find(modules[i].name);
        if (exception != config.modulePrecision.end()) {
            plan[i] = exception->second;
        }
    }
    return plan;
}

} // namespace

NewRunDialog::NewRunDialog(const RunConfig& current, int vocabulary, QWidget* parent)
    : QDialog(parent),
      m_vocabulary(vocabulary),
      m_base(current),
      m_config(current),
      m_summary(new QLabel),
      m_problem(new QLabel),
      m_buttons(new QDialogButtonBox)
{
    setWindowTitle(tr("New run"));
    auto* tabs = new QTabWidget;
    tabs->setDocumentMode(true);
    tabs->setAccessibleName(tr("Groups of settings"));
    QMap<QString, QFormLayout*> forms;
    // What needs a restart comes first; the other groups follow in the registry's order.
    std::vector<SettingInfo> ordered = settings();
    std::stable_partition(ordered.begin(), ordered.end(),
                          [](const SettingInfo& info) { return info.group != "data" && info.group != "statistics"; });
    std::stable_partition(ordered.begin(), ordered.end(),
                          [](const SettingInfo& info) { return info.group == "model"; });
    for (const SettingInfo& info : ordered) {
        const QString key = fromView(info.key);
        // Formats of single modules are changed in the layers table; a text is opened by its own action.
        if (key.startsWith(QLatin1String("precision.")) || key == QLatin1String("text")) {
            continue;
        }
        const QString group = fromView(info.group);
        QFormLayout*& form = forms[group];
        if (form == nullptr) {
            auto* page = new QWidget;
            form = new QFormLayout(page);
            form->setContentsMargins(16, 14, 16, 14);
            form->setHorizontalSpacing(16);
            form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
            auto* scroll = new QScrollArea;
            scroll->setWidgetResizable(true);
            scroll->setFrameShape(QFrame::NoFrame);
            scroll->setWidget(page);
            tabs->addTab(scroll, groupLabel(group));
        }
        addSetting(form, key);
    }

    m_summary->setProperty("dim", true);
    m_problem->setObjectName(QStringLiteral("rejection"));
    m_problem->setWordWrap(true);
    m_problem->setTextFormat(Qt::PlainText);
    m_problem->setMinimumHeight(m_problem->fontMetrics().height() * 2);
    m_problem->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    QPushButton* start = m_buttons->addButton(tr("Start"), QDialogButtonBox::AcceptRole);
    m_buttons->addButton(QDialogButtonBox::Cancel);
    QPushButton* defaults = m_buttons->addButton(tr("Default experiment"), QDialogButtonBox::ResetRole);
    connect(m_buttons, &QDialogButtonBox::accepted, this, [this] {
        judge();
        if (problem().isEmpty()) {
            emit startRequested(m_config);
            accept();
        }
    });
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(defaults, &QPushButton::clicked, this, [this] {
        RunConfig config = defaultExperiment();
        config.text = m_base.text;
        reset(config);
    });

    auto* column = new QVBoxLayout(this);
    column->addWidget(tabs, 1);
    column->addWidget(m_summary);
    column->addWidget(m_problem);
    column->addWidget(m_buttons);
    settleButtons(*this, start);
    resize(520, 560);
    judge();
}

void NewRunDialog::addSetting(QFormLayout* form, const QString& key)
{
    const QString value = QString::fromStdString(settingValue(m_base, key.toStdString()));
    QWidget* field = nullptr;
    const QList<SettingChoice> choices = settingChoices(key);
    if (!choices.isEmpty()) {
        auto* combo = new ChoiceCombo;
        combo->setChoices(choices);
        combo->setCurrentIndex(combo->findData(value));
        connect(combo, &QComboBox::activated, this, [this, key, combo] {
            // A preset brings all the scaler's settings with it.
            if (key == QLatin1String("scaler")) {
                RunConfig config = m_config;
                applySetting(config, "scaler", combo->currentData().toString().toStdString());
                reset(config);
            } else {
                judge();
            }
        });
        field = combo;
    } else if (key == QLatin1String("seed")) {
        auto* edit = new QLineEdit(value); // a seed has more digits than a double
        connect(edit, &QLineEdit::textChanged, this, &NewRunDialog::judge);
        field = edit;
    } else {
        auto* edit = new NumberEdit;
        edit->setValue(value);
        connect(edit, &QLineEdit::textChanged, this, &NewRunDialog::judge);
        // Nobody else answers: what was typed is the value once the field is left.
        connect(edit, &NumberEdit::committed, edit, &NumberEdit::setValue);
        field = edit;
    }
    field->setObjectName(key);
    field->setAccessibleName(settingLabel(key));
    field->setToolTip(tr("%1\nAllowed: %2").arg(settingMeaning(key), settingRange(key)));
    auto* label = new QLabel(settingLabel(key));
    label->setBuddy(field);
    label->setToolTip(field->toolTip());
    form->addRow(label, field);
    m_fields.insert(key, field);
}

QString NewRunDialog::fieldValue(const QString& key) const
{
    QWidget* field = m_fields.value(key);
    if (const auto* combo = qobject_cast<QComboBox*>(field)) {
        return combo->currentData().toString();
    }
    const auto* edit = qobject_cast<NumberEdit*>(field);
    if (edit == nullptr) {
        return qobject_cast<QLineEdit*>(field)->text().trimmed();
    }
    // Untouched fields keep their exact text.
    if (!edit->isEdited()) {
        return edit->value();
    }
    const auto number = parseNumber(edit->text());
    return number ? plainNumber(*number) : edit->text().trimmed();
}

void NewRunDialog::judge()
{
    RunConfig config = m_base;
    QString problem;
    for (const SettingInfo& info : settings()) {
        const QString key = fromView(info.key);
        if (!m_fields.contains(key)) {
            continue;
        }
        const std::string value = fieldValue(key).toStdString();
        // Presets first replace what stands below them; only a change of theirs may do so.
        if (value == settingValue(config, info.key)) {
            continue;
        }
        if (const auto wrong = applySetting(config, info.key, value); wrong && problem.isEmpty()) {
            problem = QString::fromStdString(*wrong);
        }
    }
    if (problem.isEmpty()) {
        const std::vector<std::string> wrong = validate(config);
        if (!wrong.empty()) {
            problem = QString::fromStdString(wrong.front());
        }
    }
    m_problem->setText(problem);
    for (QAbstractButton* button : m_buttons->buttons()) {
        if (m_buttons->buttonRole(button) == QDialogButtonBox::AcceptRole) {
            button->setEnabled(problem.isEmpty());
        }
    }
    if (!problem.isEmpty()) {
        m_summary->setText(tr("This run cannot start yet:"));
        return;
    }
    m_config = config;
    TransformerConfig model = config.model;
    model.vocabulary = m_vocabulary;
    const std::vector<ModuleInfo> modules = listModules(model);
    std::int64_t parameters = 0;
    for (const ModuleInfo& module : modules) {
        parameters += module.parameters;
    }
    const QString tokens = countText(static_cast<quint64>(model.tokens()));
    // Without a text there is no vocabulary yet to count its embedding by.
    const QString size = m_vocabulary > 0 ? tr("%1 parameters, about %2, %3 tokens a step.")
                                                .arg(countText(static_cast<quint64>(parameters)),
                                                     byteText(modelBytes(model, planOf(config, modules))), tokens)
                                          : tr("%1 tokens a step.").arg(tokens);
    m_summary->setText(tr("%1 The run that is going on ends.").arg(size));
}

void NewRunDialog::reset(const RunConfig& config)
{
    m_base = config;
    for (auto field = m_fields.cbegin(); field != m_fields.cend(); ++field) {
        const QString value = QString::fromStdString(settingValue(config, field.key().toStdString()));
        const QSignalBlocker quiet(field.value());
        if (auto* combo = qobject_cast<QComboBox*>(field.value())) {
            combo->setCurrentIndex(combo->findData(value));
        } else if (auto* edit = qobject_cast<NumberEdit*>(field.value())) {
            edit->setValue(value);
            edit->revert();
        } else if (auto* line = qobject_cast<QLineEdit*>(field.value())) {
            line->setText(value);
        }
    }
    judge();
}

QString NewRunDialog::problem() const { return m_problem->text(); }

} // namespace halfscope
