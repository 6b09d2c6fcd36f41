// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/experiment_panel.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/models/setting_choices.h"
#include "ui/models/setting_labels.h"
#include "ui/number_text.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/icons.h"
#include "ui/panels/number_edit.h"
#include "ui/panels/setting_editor.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

// 2^16 lifts the largest gradients of a healthy run over FP16's limit at any scale the scaler would choose.
const auto kDefaultSpike = QStringLiteral("65536");
const auto kDefaultJump = QStringLiteral("10");

QLabel* wrapped()
{
    auto* label = new QLabel;
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

double factorOf(const NumberEdit& edit, const QString& fallback)
{
    return parseNumber(edit.text()).value_or(fallback.toDouble());
}

} // namespace

ExperimentPanel::ExperimentPanel(SessionController& controller, QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_model(new ElidedLabel),
      m_size(new ElidedLabel),
      m_task(new ElidedLabel),
      m_phase(new QLabel),
      m_data(new ElidedLabel),
      m_examples(new ElidedLabel),
      m_epoch(new ElidedLabel),
      m_seed(wrapped()),
      m_learningRate(new NumberSetting(controller, QStringLiteral("learning-rate"))),
      m_schedule(new ChoiceSetting(controller, QStringLiteral("schedule"))),
      m_effectiveRate(wrapped())
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 4, 12, 12);
    column->setSpacing(6);

    auto* form = new QFormLayout;
    form->setHorizontalSpacing(10);
    form->setVerticalSpacing(4);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setLabelAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    const auto row = [form](const QString& name, QWidget* field, QWidget* buddy) {
        auto* label = new QLabel(name);
        label->setBuddy(buddy);
        form->addRow(label, field);
    };
    form->addRow(new QLabel(tr("Task")), m_task);
    m_phase->setProperty("dim", true);
    m_phase->setWordWrap(true);
    m_phase->setVisible(false);
    form->addRow(QString(), m_phase);
    form->addRow(new QLabel(tr("Data")), m_data);
    form->addRow(new QLabel(tr("Examples")), m_examples);
    form->addRow(new QLabel(tr("Epoch")), m_epoch);
    form->addRow(new QLabel(tr("Model")), m_model);
    form->addRow(new QLabel(tr("Parameters")), m_size);
    form->addRow(new QLabel(tr("Seed")), m_seed);
    row(settingLabel(m_learningRate->key()), m_learningRate, m_learningRate->field());
    row(settingLabel(m_schedule->key()), m_schedule, m_schedule->field());
    m_effectiveRate->setProperty("dim", true);
    m_effectiveRate->setVisible(false);
    form->addRow(QString(), m_effectiveRate);
    column->addLayout(form);

    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(6);
    auto* newRun = new QPushButton(tr("New run…"));
    newRun->setToolTip(tr("Another model, another seed: everything that needs a restart"));
    newRun->setAccessibleName(tr("New run"));
    auto* openText = new QPushButton(tr("Open text…"));
    openText->setToolTip(tr("Train on a UTF-8 text file of yours; it can also be dropped on the window"));
    openText->setAccessibleName(tr("Open a text file"));
    buttons->addWidget(newRun);
    buttons->addWidget(openText);
    column->addLayout(buttons);
    connect(newRun, &QPushButton::clicked, this, &ExperimentPanel::newRunRequested);
    connect(openText, &QPushButton::clicked, this, &ExperimentPanel::openTextRequested);

    auto* heading = new QLabel(tr("Inject"));
    QFont bold = heading->font();
    bold.setBold(true);
    heading->setFont(bold);
    column->addWidget(heading);

    m_spikeModule = new QComboBox;
    m_spikeModule->setAccessibleName(tr("Tensor to spike: module"));
    m_spikeModule->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_spikeModule->setMinimumContentsLength(8);
    m_spikeTap = new QComboBox;
    m_spikeTap->addItem(tr("weights"), true);
    m_spikeTap->addItem(tr("activations"), false);
    m_spikeTap->setAccessibleName(tr("Tensor to spike: gradient of"));
    m_spikeTap->setToolTip(tr("Which gradient of the module is multiplied"));
    const auto factor = [](const QString& value, const QString& name) {
        auto* edit = new NumberEdit;
        edit->setValue(value);
        edit->setStepFactor(2.0);
        edit->setAccessibleName(name);
        edit->setToolTip(name);
        edit->setMaximumWidth(96);
        QObject::connect(edit, &NumberEdit::committed, edit, [edit](const QString& typed) {
            bool ok = false;
            const double number = typed.toDouble(&ok);
            if (ok && number > 0.0) {
                edit->setValue(typed);
            }
            edit->revert(); // what is no factor is not kept
        });
        return edit;
    };
    m_spikeFactor = factor(kDefaultSpike, tr("Factor of the gradient spike"));
    m_jumpFactor = factor(kDefaultJump, tr("Factor of the learning-rate jump"));
    m_spike = new QPushButton(tr("Gradient spike"));
    m_spike->setToolTip(tr("Multiplies one gradient by the factor, once"));
    m_badBatch = new QPushButton(tr("Bad batch"));
    m_badBatch->setToolTip(tr("The next batch has random targets"));
    m_jump = new QPushButton(tr("LR jump"));
    m_jump->setToolTip(tr("Multiplies the learning rate by the factor for one applied step"));
    m_jump->setAccessibleName(tr("Learning-rate jump"));
    m_spike->setAccessibleName(m_spike->text());
    m_badBatch->setAccessibleName(m_badBatch->text());

    auto* inject = new QGridLayout;
    inject->setHorizontalSpacing(6);
    inject->setVerticalSpacing(6);
    inject->addWidget(m_spikeModule, 0, 0);
    inject->addWidget(m_spikeTap, 0, 1);
    inject->addWidget(m_spike, 1, 0);
    inject->addWidget(m_spikeFactor, 1, 1);
    inject->addWidget(m_jump, 2, 0);
    inject->addWidget(m_jumpFactor, 2, 1);
    inject->addWidget(m_badBatch, 3, 0);
    inject->setColumnStretch(0, 3);
    inject->setColumnStretch(1, 2);
    column->addLayout(inject);
    column->addStretch(1);
    connect(m_spike, &QPushButton::clicked, this, &ExperimentPanel::injectSpike);
    connect(m_badBatch, &QPushButton::clicked, this, &ExperimentPanel::injectBadBatch);
    connect(m_jump, &QPushButton::clicked, this, &ExperimentPanel::injectLearningRateJump);

    connect(&controller, &SessionController::runStarted, this, &ExperimentPanel::updateRun);
    connect(&controller, &SessionController::stepsAdded, this, &ExperimentPanel::updateEpoch);
    connect(&controller, &SessionController::liveChanged, this, [this] {
        // A run that cannot start says so after it began.
        m_controller.run().info.modules.empty() ? updateRun() : updateLive();
    });
    connect(m_spikeModule, &QComboBox::currentIndexChanged, this, &ExperimentPanel::updateLive);
    updateRun();
}

void ExperimentPanel::injectSpike()
{
    if (m_spikeModule->currentIndex() < 0) {
        return;
    }
    m_controller.injectSpike(m_spikeModule->currentText(), factorOf(*m_spikeFactor, kDefaultSpike),
                             m_spikeTap->currentData().toBool());
}

void ExperimentPanel::injectBadBatch() { m_controller.injectBadBatch(); }

void ExperimentPanel::injectLearningRateJump()
{
    m_controller.injectLearningRateJump(factorOf(*m_jumpFactor, kDefaultJump));
}

void ExperimentPanel::updateRun()
{
    const RunInfo& info = m_controller.run().info;
    const QString chosen = m_spikeModule->currentText();
    m_spikeModule->clear();
    for (const ModuleInfo& module : info.modules) {
        m_spikeModule->addItem(QString::fromStdString(module.name), module.parameters > 0);
    }
    int index = m_spikeModule->findText(chosen);
    if (index < 0) {
        // A block's MLP: it has weights, and what happens to it reaches everything before it.
        index = m_spikeModule->findText(QStringLiteral("h0.mlp.fc"));
    }
    m_spikeModule->setCurrentIndex(std::max(index, m_spikeModule->count() > 0 ? 0 : -1));

    const TransformerConfig& model = info.model;
    if (info.modules.empty()) {
        for (ElidedLabel* label : {m_task, m_data, m_examples, m_model, m_size}) {
            label->setText(m_controller.state() == EngineState::Failed ? QStringLiteral("–") : tr("starting…"));
        }
    } else {
        m_model->setText(
            tr("%1 × %2, %3 heads")
                .arg(QString::number(model.depth), QString::number(model.width), QString::number(model.heads)));
        m_model->setDetail(tr("%1 blocks of width %2 with %3 heads; %4 examples a step, each a sequence of %5")
                               .arg(QString::number(model.depth), QString::number(model.width),
                                    QString::number(model.heads), QString::number(model.batch),
                                    QString::number(model.context)));
        m_size->setText(countText(static_cast<quint64>(info.parameterCount)));
        const QString task = choiceText(QStringLiteral("task"), QString::fromStdString(info.config.task));
        QStringList classes;
        for (const std::string& name : info.data.classNames) {
            classes << QString::fromStdString(name);
        }
        m_task->setText(classes.isEmpty() ? task : tr("%1, %2 classes").arg(task, QString::number(classes.size())));
        m_task->setDetail(classes.isEmpty() ? task : tr("%1: %2").arg(task, classes.join(QStringLiteral(", "))));
        m_data->setText(QString::fromStdString(info.data.title));
        m_examples->setText(tr("%1 + %2 held out")
                                .arg(countText(static_cast<quint64>(info.trainingExamples)),
                                     countText(static_cast<quint64>(info.heldOutExamples))));
    }
    m_seed->setText(QString::number(info.config.seed));
    updateEpoch();
    updateLive();
}

// How often every example has had its turn, on average.
void ExperimentPanel::updateEpoch()
{
    const RunModel& run = m_controller.run();
    const std::int64_t each = run.info.stepsPerEpoch;
    if (each <= 0) {
        m_epoch->setText(QStringLiteral("–"));
        return;
    }
    const double done = static_cast<double>(run.steps.size()) / static_cast<double>(each);
    m_epoch->setText(tr("%1 of %2 steps each").arg(QLocale().toString(done, 'f', 2), stepText(each)));
}

void ExperimentPanel::updateLive()
{
    const RunModel& run = m_controller.run();
    const bool alive =
        !run.info.modules.empty() && run.live.state != EngineState::Failed && run.live.state != EngineState::Finished;
    for (QPushButton* button : {m_spike, m_badBatch, m_jump}) {
        button->setEnabled(alive);
    }
    // attn.core and the loss have no weights.
    const bool hasWeights = m_spikeModule->currentData().toBool();
    m_spikeTap->setEnabled(hasWeights);
    if (!hasWeights && m_spikeModule->currentIndex() >= 0) {
        m_spikeTap->setCurrentIndex(1);
    }
    const std::int64_t pretrainSteps = run.live.config.pretrainSteps;
    m_phase->setVisible(run.live.pretraining || pretrainSteps > 0);
    m_phase->setText(run.live.pretraining
                         ? tr("pretraining: a language model until step %1").arg(stepText(pretrainSteps))
                         : tr("fine-tuning since step %1").arg(stepText(pretrainSteps + 1)));
    m_effectiveRate->setVisible(run.live.config.optimizer.schedule != LearningRateSchedule::Constant);
    m_effectiveRate->setText(tr("now %1").arg(valueText(run.live.learningRate)));
    m_effectiveRate->setToolTip(tr("The learning rate the schedule has reached"));
}

} // namespace halfscope
