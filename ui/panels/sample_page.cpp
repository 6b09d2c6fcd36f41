// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/sample_page.h"

#include <QFontDatabase>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>
#include <cmath>

#include "ui/number_text.h"
#include "ui/panels/number_edit.h"
#include "ui/session_controller.h"
#include "ui/theme.h"

namespace halfscope {

namespace {

constexpr int kLongest = 4096; // as RequestSample has it
const auto kTemperature = QStringLiteral("0.8");

} // namespace

SamplePage::SamplePage(SessionController& controller, QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_prompt(new QLineEdit),
      m_length(new QSpinBox),
      m_temperature(new NumberEdit),
      m_go(new QPushButton(tr("Write"))),
      m_note(new QLabel),
      m_text(new QPlainTextEdit)
{
    m_prompt->setObjectName(QStringLiteral("prompt"));
    m_prompt->setPlaceholderText(tr("the beginning of a held-out passage"));
    m_prompt->setAccessibleName(tr("Prompt"));
    m_prompt->setToolTip(tr("What the model writes on from. Characters that its text does not have are left out."));
    m_length->setObjectName(QStringLiteral("sample-length"));
    m_length->setRange(1, kLongest);
    m_length->setSingleStep(50);
    m_length->setValue(200);
    m_length->setAccessibleName(tr("Characters to write"));
    m_temperature->setObjectName(QStringLiteral("temperature"));
    m_temperature->setValue(kTemperature);
    m_temperature->setStepFactor(1.25);
    m_temperature->setAccessibleName(tr("Temperature"));
    m_temperature->setToolTip(
        tr("Below 1 the likely characters are chosen more often, above 1 the unlikely ones; 0: always the likeliest"));
    connect(m_temperature, &NumberEdit::committed, m_temperature, [this](const QString& typed) {
        bool ok = false;
        const double value = typed.toDouble(&ok);
        if (ok && value >= 0.0 && std::isfinite(value)) {
            m_temperature->setValue(typed);
        }
        m_temperature->revert(); // what is no temperature is not kept
    });
    m_go->setObjectName(QStringLiteral("sample"));
    m_go->setAccessibleName(tr("Write text"));
    m_go->setToolTip(tr("The model writes on from the prompt, with the present weights; every time another text"));
    m_note->setProperty("dim", true);
    m_note->setWordWrap(true);
    m_note->setTextFormat(Qt::PlainText);
    m_text->setReadOnly(true);
    m_text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    m_text->setAccessibleName(tr("Written text"));
    m_text->setPlaceholderText(tr("What the model writes appears here."));

    auto* lengthLabel = new QLabel(tr("Length"));
    lengthLabel->setBuddy(m_length);
    auto* temperatureLabel = new QLabel(tr("Temperature"));
    temperatureLabel->setBuddy(m_temperature);
    auto* promptLabel = new QLabel(tr("Prompt"));
    promptLabel->setBuddy(m_prompt);
    auto* first = new QHBoxLayout;
    first->setSpacing(8);
    first->addWidget(promptLabel);
    first->addWidget(m_prompt, 1);
    auto* second = new QHBoxLayout;
    second->setSpacing(8);
    second->addWidget(lengthLabel);
    second->addWidget(m_length);
    second->addSpacing(8);
    second->addWidget(temperatureLabel);
    second->addWidget(m_temperature);
    m_temperature->setMaximumWidth(72);
    second->addStretch(1);
    second->addWidget(m_go);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    column->addLayout(first);
    column->addLayout(second);
    column->addWidget(m_text, 1);
    column->addWidget(m_note);

    connect(m_go, &QPushButton::clicked, this, &SamplePage::sample);
    connect(m_prompt, &QLineEdit::returnPressed, this, &SamplePage::sample);
    connect(&controller, &SessionController::evaluated, this, &SamplePage::take);
    connect(&controller, &SessionController::liveChanged, this, &SamplePage::updateState);
    connect(&controller, &SessionController::pendingChanged, this, [this](const QString& key) {
        if (key == QLatin1String("sample")) {
            updateState();
        }
    });
    connect(&controller, &SessionController::runStarted, this, [this] {
        m_asked = 0;
        m_written.reset();
        showWritten();
        updateState();
    });
    connect(&controller, &SessionController::commandRejected, this, [this](const QString& key, const QString& why) {
        if (key == QLatin1String("sample")) {
            m_asked = 0;
            m_note->setText(why);
        }
    });
    connect(&ThemeManager::instance(), &ThemeManager::changed, this, &SamplePage::showWritten);
    updateState();
}

QString SamplePage::text() const { return m_text->toPlainText(); }

void SamplePage::updateState()
{
    const RunModel& run = m_controller.run();
    const bool alive =
        !run.info.modules.empty() && run.live.state != EngineState::Failed && run.live.state != EngineState::Finished;
    m_go->setEnabled(alive && !m_controller.isPending(QStringLiteral("sample")));
}

void SamplePage::sample()
{
    if (!m_go->isEnabled()) {
        return;
    }
    RequestSample request;
    request.prompt = m_prompt->text().toStdString();
    request.length = m_length->value();
    request.temperature = parseNumber(m_temperature->text()).value_or(kTemperature.toDouble());
    request.seed = ++m_seed;
    m_asked = m_controller.requestSample(request);
    updateState();
}

void SamplePage::take(const EvaluationPtr& evaluation)
{
    if (!evaluation->sample || evaluation->commandId != m_asked) {
        return;
    }
    m_asked = 0;
    m_written = evaluation;
    showWritten();
}

void SamplePage::showWritten()
{
    m_text->clear();
    if (m_written == nullptr) {
        m_note->clear();
        return;
    }
    const TextSample& sample = *m_written->sample;
    QTextCharFormat given;
    given.setForeground(currentTheme().textDim);
    QTextCursor at(m_text->document());
    at.insertText(QString::fromStdString(sample.prompt), given);
    QTextCharFormat written;
    written.setForeground(currentTheme().text);
    at.insertText(QString::fromStdString(sample.text), written);
    m_text->moveCursor(QTextCursor::Start);
    m_note->setText(tr("After step %1, temperature %2. The prompt is dimmed.")
                        .arg(stepText(m_written->step), valueText(sample.temperature)));
}

} // namespace halfscope
