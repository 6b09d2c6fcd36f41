// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/new_run_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/model/memory_estimate.h"
#include "engine/model/precision_plan.h"
#include "engine/train/experiments.h"
#include "engine/train/settings_registry.h"
#include "engine/train/task.h"
#include "ui/dialogs/dialog_buttons.h"
#include "ui/models/setting_choices.h"
#include "ui/models/setting_labels.h"
#include "ui/number_text.h"
#include "ui/panels/choice_combo.h"
#include "ui/panels/device_field.h"
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

QString taskDescription(const QString& key)
{
    for (const SettingChoice& choice : settingChoices(QStringLiteral("task"))) {
        if (choice.value == key) {
            return choice.toolTip;
        }
    }
    return {};
}

// What stands above the groups, because it comes before everything else.
const QStringList& taskKeys()
{
    static const QStringList keys = {QStringLiteral("task"),       QStringLiteral("text"),    QStringLiteral("data"),
                                     QStringLiteral("patch-size"), QStringLiteral("backend"), QStringLiteral("device")};
    return keys;
}

// Whatever decides the model's sizes beside its own settings.
bool sameData(const RunConfig& a, const RunConfig& b)
{
    return a.task == b.task && a.data == b.data && a.text == b.text && a.patchSize == b.patchSize;
}

} // namespace

NewRunDialog::NewRunDialog(const RunConfig& current, const TransformerConfig& model, QWidget* parent)
    : QDialog(parent),
      m_current(current),
      m_model(model),
      m_base(current),
      m_config(current),
      m_experiment(new QComboBox),
      m_taskHelp(new QLabel),
      m_dataPath(new QLineEdit),
      m_device(new DeviceField),
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
        // Formats of single modules are changed in the layers table.
        if (key.startsWith(QLatin1String("precision.")) || taskKeys().contains(key)) {
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
    connect(m_buttons, &QDialogButtonBox::accepted, this, [this] {
        judge();
        if (problem().isEmpty()) {
            emit startRequested(m_config);
            accept();
        }
    });
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);

    auto* column = new QVBoxLayout(this);
    column->addLayout(taskForm());
    column->addSpacing(4);
    column->addWidget(tabs, 1);
    column->addWidget(m_summary);
    column->addWidget(m_problem);
    column->addWidget(m_buttons);
    settleButtons(*this, start);
    resize(560, 660);
    judge();
}

QFormLayout* NewRunDialog::taskForm()
{
    m_taskForm = new QFormLayout;
    m_taskForm->setContentsMargins(16, 6, 16, 0);
    m_taskForm->setHorizontalSpacing(16);
    m_taskForm->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    m_experiment->setObjectName(QStringLiteral("experiment"));
    m_experiment->setAccessibleName(tr("Start from"));
    m_experiment->addItem(tr("the present settings"));
    for (const Experiment& experiment : experiments()) {
        m_experiment->addItem(tr(std::string(experiment.name).c_str()));
        m_experiment->setItemData(m_experiment->count() - 1, tr(std::string(experiment.description).c_str()),
                                  Qt::ToolTipRole);
    }
    connect(m_experiment, &QComboBox::activated, this, &NewRunDialog::startFrom);
    auto* from = new QLabel(tr("Start from"));
    from->setBuddy(m_experiment);
    m_taskForm->addRow(from, m_experiment);
    addSetting(m_taskForm, QStringLiteral("task"));
    m_taskHelp->setProperty("dim", true);
    m_taskHelp->setWordWrap(true);
    m_taskHelp->setTextFormat(Qt::PlainText);
    m_taskHelp->setMinimumHeight(2 * m_taskHelp->fontMetrics().height());
    m_taskHelp->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_taskForm->addRow(QString(), m_taskHelp);
    m_textRow = textRow();

    m_dataPath->setText(QString::fromStdString(m_base.data));
    connect(m_dataPath, &QLineEdit::textChanged, this, &NewRunDialog::judge);
    auto* choose = new QPushButton(tr("Choose…"));
    choose->setAutoDefault(false);
    choose->setAccessibleName(tr("Choose the data file"));
    connect(choose, &QPushButton::clicked, this, &NewRunDialog::chooseData);
    m_dataFolder = new QPushButton(tr("Folder…"));
    m_dataFolder->setAutoDefault(false);
    m_dataFolder->setAccessibleName(tr("Choose the folder of the images"));
    connect(m_dataFolder, &QPushButton::clicked, this, &NewRunDialog::chooseDataFolder);
    m_dataRow = new QWidget;
    auto* row = new QHBoxLayout(m_dataRow);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(m_dataPath, 1);
    row->addWidget(choose);
    row->addWidget(m_dataFolder);
    addField(m_taskForm, QStringLiteral("data"), m_dataPath, m_dataRow);

    auto* patches = new ChoiceCombo;
    QList<SettingChoice> sizes = {{QStringLiteral("auto"), tr("what suits the task"), {}},
                                  {QStringLiteral("row"), tr("rows"), tr("Each row of the image is one patch")}};
    const QString now = QString::fromStdString(settingValue(m_base, "patch-size"));
    QStringList sides = {QStringLiteral("2"), QStringLiteral("4"),  QStringLiteral("7"),
                         QStringLiteral("8"), QStringLiteral("14"), QStringLiteral("16")};
    if (!sides.contains(now) && now != sizes.at(0).value && now != sizes.at(1).value) {
        sides << now;
    }
    for (const QString& side : sides) {
        sizes.push_back({side, tr("squares of %1 × %1").arg(side), {}});
    }
    patches->setChoices(sizes);
    patches->setCurrentIndex(patches->findData(now));
    connect(patches, &QComboBox::activated, this, &NewRunDialog::judge);
    addField(m_taskForm, QStringLiteral("patch-size"), patches, patches);

    addField(m_taskForm, QStringLiteral("backend"), m_device->combo(), m_device);
    m_device->setValue(QString::fromStdString(m_base.backend), QString::fromStdString(m_base.device));
    m_fields.insert(QStringLiteral("device"), m_device->combo());
    connect(m_device, &DeviceField::changed, this, &NewRunDialog::judge);
    return m_taskForm;
}

QWidget* NewRunDialog::textRow()
{
    auto* path = new QLineEdit(QString::fromStdString(m_base.text));
    path->setPlaceholderText(tr("none: the installed novels or generated text"));
    connect(path, &QLineEdit::textChanged, this, &NewRunDialog::judge);
    auto* choose = new QPushButton(tr("Choose…"));
    choose->setAutoDefault(false);
    choose->setAccessibleName(tr("Choose the text file"));
    connect(choose, &QPushButton::clicked, this, [this, path] {
        auto* chooser = new QFileDialog(this, tr("Open a text"), path->text(), tr("Texts (*.txt);;All files (*)"));
        chooser->setAttribute(Qt::WA_DeleteOnClose);
        chooser->setFileMode(QFileDialog::ExistingFile);
        connect(chooser, &QFileDialog::fileSelected, path, &QLineEdit::setText);
        chooser->open();
    });
    auto* shown = new QWidget;
    auto* row = new QHBoxLayout(shown);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(path, 1);
    row->addWidget(choose);
    addField(m_taskForm, QStringLiteral("text"), path, shown);
    return shown;
}

void NewRunDialog::startFrom(int experiment)
{
    RunConfig config = m_current;
    if (experiment > 0) {
        config = experiments()[static_cast<std::size_t>(experiment - 1)].config;
        // These are of this machine and its user, not of an experiment.
        config.text = m_current.text;
        config.data = m_current.data;
        config.backend = m_current.backend;
        config.device = m_current.device;
        config.threads = m_current.threads;
    }
    reset(config);
}

// What another task has no use for does not keep its run from starting.
void NewRunDialog::chooseTask()
{
    const TaskInfo* task = findTask(fieldValue(QStringLiteral("task")).toStdString());
    auto* pretraining = qobject_cast<NumberEdit*>(m_fields.value(QStringLiteral("pretrain-steps")));
    if (task != nullptr && pretraining != nullptr && (!task->classifies || task->hasImage)) {
        const QSignalBlocker quiet(pretraining);
        pretraining->setValue(QStringLiteral("0"));
        pretraining->revert();
    }
    auto* tied = qobject_cast<QComboBox*>(m_fields.value(QStringLiteral("tied-head")));
    if (task != nullptr && tied != nullptr && task->classifies) {
        tied->setCurrentIndex(tied->findData(QStringLiteral("off")));
    }
    judge();
}

void NewRunDialog::chooseData()
{
    const TaskInfo* task = findTask(fieldValue(QStringLiteral("task")).toStdString());
    const bool images = task != nullptr && task->hasImage;
    auto* chooser = new QFileDialog(
        this, images ? tr("Open a file of images") : tr("Open a file of labelled texts"), m_dataPath->text(),
        images ? tr("IDX images (*images*);;All files (*)") : tr("CSV (*.csv);;All files (*)"));
    chooser->setAttribute(Qt::WA_DeleteOnClose);
    chooser->setFileMode(QFileDialog::ExistingFile);
    connect(chooser, &QFileDialog::fileSelected, m_dataPath, &QLineEdit::setText);
    chooser->open();
}

void NewRunDialog::chooseDataFolder()
{
    auto* chooser = new QFileDialog(this, tr("Folder with the images and their labels"), m_dataPath->text());
    chooser->setAttribute(Qt::WA_DeleteOnClose);
    chooser->setFileMode(QFileDialog::Directory);
    chooser->setOption(QFileDialog::ShowDirsOnly);
    connect(chooser, &QFileDialog::fileSelected, m_dataPath, &QLineEdit::setText);
    chooser->open();
}

// What the task does, and the rows that it needs.
void NewRunDialog::updateTask()
{
    const TaskInfo* task = findTask(fieldValue(QStringLiteral("task")).toStdString());
    m_taskHelp->setText(task != nullptr ? taskDescription(fieldValue(QStringLiteral("task"))) : QString());
    const auto showRow = [this](QWidget* field, bool shown) {
        field->setVisible(shown);
        m_taskForm->labelForField(field)->setVisible(shown);
    };
    showRow(m_textRow, task != nullptr && task->usesText);
    showRow(m_dataRow, task != nullptr && task->needsFile);
    m_dataFolder->setVisible(task != nullptr && task->hasImage);
    showRow(m_fields.value(QStringLiteral("patch-size")), task != nullptr && task->hasImage);
    if (QWidget* pretraining = m_fields.value(QStringLiteral("pretrain-steps"))) {
        pretraining->setEnabled(task != nullptr && task->classifies && !task->hasImage);
        explain(QStringLiteral("pretrain-steps"), tr("Only a classifier of text can be a language model first."));
    }
    if (QWidget* context = m_fields.value(QStringLiteral("context"))) {
        context->setEnabled(task == nullptr || task->usesContext);
        explain(QStringLiteral("context"), tr("The examples of this task have a length of their own."));
    }
    if (auto* causal = qobject_cast<QComboBox*>(m_fields.value(QStringLiteral("causal")))) {
        const bool always = task != nullptr && !task->classifies;
        if (always) {
            causal->setCurrentIndex(causal->findData(QStringLiteral("on")));
        } else if (!causal->isEnabled()) { // it was such a task
            causal->setCurrentIndex(causal->findData(QString::fromStdString(settingValue(m_base, "causal"))));
        }
        causal->setEnabled(!always);
        explain(QStringLiteral("causal"), tr("A language model always looks back only."));
    }
}

// A field that can be changed says what it means, a grey one why it is grey.
void NewRunDialog::explain(const QString& key, const QString& whyGrey)
{
    QWidget* field = m_fields.value(key);
    field->setToolTip(field->isEnabled() ? tr("%1\nAllowed: %2").arg(settingMeaning(key), settingRange(key)) : whyGrey);
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
            } else if (key == QLatin1String("task")) {
                chooseTask();
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
        if (key == QLatin1String("threads")) {
            edit->setWordForZero(tr("automatic"));
        } else if (key == QLatin1String("shadow-interval") || key == QLatin1String("clip-norm")) {
            edit->setWordForZero(tr("off"));
        } else if (key == QLatin1String("validation-interval") || key == QLatin1String("max-overflows")) {
            edit->setWordForZero(tr("never"));
        } else if (key == QLatin1String("precision-schedule")) {
            edit->setPlaceholderText(tr("as 100:mixed-bf16; 2e:lm_head=fp32"));
        }
        connect(edit, &QLineEdit::textChanged, this, &NewRunDialog::judge);
        // Nobody else answers: what was typed is the value once the field is left.
        connect(edit, &NumberEdit::committed, edit, &NumberEdit::setValue);
        field = edit;
    }
    addField(form, key, field, field);
}

// `shown` is what stands in the form: the field, or what it is in.
void NewRunDialog::addField(QFormLayout* form, const QString& key, QWidget* field, QWidget* shown)
{
    field->setObjectName(key);
    field->setAccessibleName(settingLabel(key));
    field->setToolTip(tr("%1\nAllowed: %2").arg(settingMeaning(key), settingRange(key)));
    auto* label = new QLabel(settingLabel(key));
    label->setBuddy(field);
    label->setToolTip(field->toolTip());
    form->addRow(label, shown);
    m_fields.insert(key, field);
}

QString NewRunDialog::fieldValue(const QString& key) const
{
    QWidget* field = m_fields.value(key);
    if (field == m_device->combo()) {
        return key == QLatin1String("device") ? m_device->device() : m_device->backend();
    }
    if (key == QLatin1String("causal") && !field->isEnabled()) { // shows what the task does, which is no setting
        return QString::fromStdString(settingValue(m_base, "causal"));
    }
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
    return edit->plainText();
}

void NewRunDialog::judge()
{
    updateTask();
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
    // Formats of layers that the other model has not are of no use, and could not be seen here.
    const PrecisionSchedule schedule = config.precisionSchedule; // which can: its problem is told
    forgetMissingModules(config);
    config.precisionSchedule = schedule;
    if (problem.isEmpty()) {
        const std::vector<std::string> wrong = validate(config);
        if (!wrong.empty()) {
            problem = QString::fromStdString(wrong.front());
        }
    }
    const TaskInfo* task = findTask(config.task);
    if (task != nullptr && task->needsFile && config.data.empty()) {
        problem = tr("Choose the data file that the task reads.");
    }
    m_problem->setText(refusalText({}, {}, problem));
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
    m_summary->setText(tr("%1 The run in the window ends.").arg(sizeText(config)));
}

QString NewRunDialog::sizeText(const RunConfig& config) const
{
    // Other data bring another vocabulary, other classes and patches; they are not read before the run starts.
    const bool known = sameData(config, m_current) && (m_model.vocabulary > 0 || m_model.patches > 0);
    TransformerConfig model = config.model;
    if (!known) {
        return tr("%1 examples a step.").arg(countText(static_cast<quint64>(model.batch)));
    }
    model.vocabulary = m_model.vocabulary;
    model.patches = m_model.patches;
    model.patchWidth = m_model.patchWidth;
    model.classes = m_model.classes;
    if (model.patches > 0) {
        model.context = m_model.context;
    }
    const std::vector<ModuleInfo> modules = listModules(model);
    std::int64_t parameters = 0;
    for (const ModuleInfo& module : modules) {
        parameters += module.parameters;
    }
    const double needed = modelBytes(model, planOf(config, modules), config.weightStorage) +
                          (config.shadowInterval > 0 ? gradientShadowBytes(model) : 0.0) +
                          (config.shadowRun ? shadowRunBytes(model) : 0.0);
    const std::optional<double> memory = m_device->memory();
    const QString bytes = !memory ? byteText(needed) : tr("%1 of %2").arg(byteText(needed), byteText(*memory));
    return tr("%1 parameters, about %2, %3 tokens a step.")
        .arg(countText(static_cast<quint64>(parameters)), bytes, countText(static_cast<quint64>(model.tokens())));
}

void NewRunDialog::reset(const RunConfig& config)
{
    m_base = config;
    m_device->setValue(QString::fromStdString(config.backend), QString::fromStdString(config.device));
    for (auto field = m_fields.cbegin(); field != m_fields.cend(); ++field) {
        const QString value = QString::fromStdString(settingValue(config, field.key().toStdString()));
        const QSignalBlocker quiet(field.value());
        if (field.value() == m_device->combo()) {
            continue;
        }
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

void NewRunDialog::showDevice()
{
    m_device->combo()->setFocus();
    m_device->combo()->showPopup();
}

QString NewRunDialog::problem() const { return m_problem->text(); }

} // namespace halfscope
