// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/examples_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/number_text.h"
#include "ui/panels/confusion_matrix.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/example_view.h"
#include "ui/panels/sample_page.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

constexpr int kSearch = 256; // examples asked for at once when a wrong one is looked for

} // namespace

ExamplesPanel::ExamplesPanel(SessionController& controller, QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_pages(new QStackedWidget),
      m_sample(new SamplePage(controller)),
      m_matrix(new ConfusionMatrix),
      m_summary(new ElidedLabel),
      m_cell(new ElidedLabel),
      m_example(new ExampleView),
      m_validate(new QPushButton(tr("Look now"))),
      m_number(new QSpinBox),
      m_of(new QLabel)
{
    m_pages->addWidget(m_sample);
    m_pages->addWidget(classifierPage());
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 6, 12, 10);
    column->addWidget(m_pages);

    connect(&controller, &SessionController::runStarted, this, &ExamplesPanel::updateRun);
    connect(&controller, &SessionController::liveChanged, this, &ExamplesPanel::updateState);
    connect(&controller, &SessionController::evaluated, this, &ExamplesPanel::take);
    connect(&controller, &SessionController::pendingChanged, this, [this](const QString& key) {
        if (key == QLatin1String("validation")) {
            updateState();
        }
    });
    connect(&controller, &SessionController::commandRejected, this, [this](const QString& key, const QString& why) {
        if (key == QLatin1String("predictions")) {
            m_searching = m_asked = 0;
            m_shown = true; // the reason, until something is asked again
            m_example->clear(why);
        } else if (key == QLatin1String("validation")) {
            m_summary->setText(why);
        }
    });
    updateRun();
}

QWidget* ExamplesPanel::classifierPage()
{
    m_summary->setProperty("dim", true);
    m_validate->setObjectName(QStringLiteral("validate"));
    m_validate->setToolTip(tr("Try the held-out examples with the present weights"));
    m_validate->setAccessibleName(tr("Look at the held-out examples now"));
    auto* head = new QHBoxLayout;
    head->addWidget(m_summary, 1);
    head->addWidget(m_validate);
    m_cell->setMinimumHeight(m_cell->fontMetrics().height());

    m_number->setObjectName(QStringLiteral("example-number"));
    m_number->setAccessibleName(tr("Held-out example"));
    m_number->setKeyboardTracking(false);
    m_of->setProperty("dim", true);
    auto* name = new QLabel(tr("Example"));
    name->setBuddy(m_number);
    auto* row = new QHBoxLayout;
    row->setSpacing(6);
    row->addWidget(name);
    row->addWidget(m_number);
    row->addWidget(m_of);
    row->addStretch(1);
    const auto button = [&](const QString& text, const QString& help, auto act) {
        auto* made = new QPushButton(text);
        made->setToolTip(help);
        made->setAccessibleName(help);
        connect(made, &QPushButton::clicked, this, act);
        row->addWidget(made);
        m_moves << made;
    };
    button(QStringLiteral("‹"), tr("Previous example"), [this] { nextExample(-1); });
    button(QStringLiteral("›"), tr("Next example"), [this] { nextExample(1); });
    for (QPushButton* arrow : m_moves) {
        arrow->setFixedWidth(arrow->fontMetrics().height() * 2);
    }
    button(tr("Next wrong one"), tr("Next example that is taken for another class"), [this] { nextWrong(); });
    connect(m_number, &QSpinBox::valueChanged, this, [this](int number) { showExample(number - 1); });
    connect(m_validate, &QPushButton::clicked, this, &ExamplesPanel::validate);
    connect(m_matrix, &ConfusionMatrix::currentChanged, m_cell, &ElidedLabel::setText);

    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    column->addLayout(head);
    column->addWidget(m_matrix, 1);
    column->addWidget(m_cell);
    column->addLayout(row);
    column->addWidget(m_example);
    return page;
}

bool ExamplesPanel::classifies() const
{
    return m_controller.run().info.data.classes > 0 && !m_controller.run().live.pretraining;
}

QWidget* ExamplesPanel::firstField() const
{
    return classifies() ? static_cast<QWidget*>(m_matrix) : m_sample->prompt();
}

void ExamplesPanel::updateRun()
{
    m_index = 0;
    m_shown = false;
    m_asked = m_searching = 0;
    const auto count = static_cast<int>(std::min<std::int64_t>(m_controller.run().info.heldOutExamples, 1'000'000'000));
    const QSignalBlocker quiet(m_number);
    m_number->setRange(std::min(1, count), count);
    m_number->setValue(1);
    m_of->setText(tr("of %1").arg(countText(static_cast<quint64>(count))));
    updateValidation();
    updateState();
}

void ExamplesPanel::updateState()
{
    const RunModel& run = m_controller.run();
    m_pages->setCurrentIndex(classifies() ? 1 : 0);
    const bool alive =
        !run.info.modules.empty() && run.live.state != EngineState::Failed && run.live.state != EngineState::Finished;
    const bool any = m_number->maximum() > 0;
    m_validate->setEnabled(alive && any && !m_controller.isPending(QStringLiteral("validation")));
    m_number->setEnabled(alive && any);
    for (QPushButton* move : m_moves) {
        move->setEnabled(alive && any);
    }
    if (m_shown || m_asked != 0) {
        return;
    }
    if (alive && any && classifies() && isVisible()) {
        ask();
    } else {
        m_example->clear(any ? QString() : tr("This data set holds no examples out."));
    }
}

void ExamplesPanel::updateValidation()
{
    const RunModel& run = m_controller.run();
    QStringList classes;
    for (const std::string& name : run.info.data.classNames) {
        classes << QString::fromStdString(name);
    }
    const Validation* validation =
        run.validation != nullptr && run.validation->validation ? &*run.validation->validation : nullptr;
    const std::int64_t every = run.live.config.validationInterval;
    const QString none =
        every > 0
            ? tr("The held-out examples are looked at after every %1 steps, or by “Look now”.").arg(stepText(every))
            : tr("The held-out examples are looked at by “Look now”.");
    const bool has = validation != nullptr && !validation->confusion.empty() &&
                     validation->confusion.size() == static_cast<std::size_t>(classes.size() * classes.size());
    m_matrix->setCounts(classes, has ? validation->confusion : std::vector<std::int64_t>{}, none);
    m_summary->setText(validation == nullptr
                           ? tr("Not looked at yet")
                           : tr("After step %1: %2 of %3 right, loss %4")
                                 .arg(stepText(run.validation->step), shareText(validation->accuracy, 1.0),
                                      countText(static_cast<quint64>(validation->examples)),
                                      roundedText(validation->loss, 4)));
    m_cell->setText(m_matrix->currentWords());
}

void ExamplesPanel::take(const EvaluationPtr& evaluation)
{
    if (evaluation->validation) {
        updateValidation();
        // The weights are others now.
        if (evaluation->commandId == 0 || evaluation->step != m_shownStep) {
            m_shown = false;
            if (isVisible() && classifies() && m_searching == 0) {
                ask();
            }
        }
    }
    if (evaluation->predictions.empty()) {
        return;
    }
    const DatasetInfo& info = m_controller.run().info.data;
    if (evaluation->commandId == m_searching) {
        m_searching = 0;
        const auto wrong = std::ranges::find_if(evaluation->predictions,
                                                [](const Prediction& one) { return one.predicted != one.target; });
        if (wrong == evaluation->predictions.end()) {
            m_summary->setText(tr("No wrong one up to example %1")
                                   .arg(countText(static_cast<quint64>(evaluation->predictions.back().index + 1))));
            return;
        }
        m_index = static_cast<qint64>(wrong->index);
        const QSignalBlocker quiet(m_number);
        m_number->setValue(static_cast<int>(m_index + 1));
        m_example->show(info, *wrong, evaluation->step);
    } else if (evaluation->commandId == m_asked) {
        m_example->show(info, evaluation->predictions.front(), evaluation->step);
    } else {
        return;
    }
    m_asked = 0;
    m_shown = true;
    m_shownStep = evaluation->step;
}

void ExamplesPanel::ask() { m_asked = m_controller.requestPredictions(m_index, 1); }

void ExamplesPanel::showExample(qint64 index)
{
    const qint64 last = m_number->maximum() - 1;
    if (last < 0) {
        return;
    }
    m_index = std::clamp<qint64>(index, 0, last);
    const QSignalBlocker quiet(m_number);
    m_number->setValue(static_cast<int>(m_index + 1));
    m_searching = 0;
    ask();
}

void ExamplesPanel::nextExample(int by) { showExample(m_index + by); }

void ExamplesPanel::nextWrong()
{
    const qint64 left = m_number->maximum() - 1 - m_index;
    if (left <= 0) {
        m_summary->setText(tr("This is the last example"));
        return;
    }
    m_searching = m_controller.requestPredictions(m_index + 1, static_cast<int>(std::min<qint64>(left, kSearch)));
}

void ExamplesPanel::validate() { m_controller.requestValidation(); }

void ExamplesPanel::copyMatrix() const { QApplication::clipboard()->setText(m_matrix->csv()); }

void ExamplesPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    updateState();
}

} // namespace halfscope
