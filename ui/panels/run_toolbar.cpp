// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/run_toolbar.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "ui/number_text.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/setting_editor.h"
#include "ui/panels/window_actions.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

constexpr int kSmallWindow = 1400; // pixels across

} // namespace

RunToolbar::RunToolbar(SessionController& controller, WindowActions& actions, QWidget* parent)
    : QToolBar(parent),
      m_controller(controller),
      m_precision(new PrecisionSetting(controller)),
      m_step(new QLabel),
      m_rate(new ElidedLabel),
      m_backend(new ElidedLabel)
{
    setObjectName(QStringLiteral("run-toolbar"));
    setWindowTitle(tr("Run"));
    setMovable(false);
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    setIconSize(QSize(16, 16));
    setMargins();
    addAction(actions.pause);
    addAction(actions.step);
    addAction(actions.runSteps);
    addSeparator();
    addAction(actions.restart);
    addAction(actions.newSeed);
    addSeparator();

    auto* precision = new QWidget;
    auto* row = new QHBoxLayout(precision);
    row->setContentsMargins(8, 0, 8, 0);
    row->setSpacing(8);
    auto* label = new QLabel(tr("Precision"));
    label->setBuddy(m_precision->field());
    label->setProperty("dim", true);
    m_precision->setMinimumWidth(m_precision->widthWithNote());
    row->addWidget(label);
    row->addWidget(m_precision);
    addWidget(precision);
    addSeparator();

    QFont bold = m_step->font();
    bold.setBold(true);
    m_step->setFont(bold);
    m_step->setContentsMargins(8, 0, 4, 0);
    m_step->setMinimumWidth(m_step->fontMetrics().horizontalAdvance(tr("step %1").arg(QStringLiteral("8 888 888"))));
    m_rate->setProperty("dim", true);
    // In a narrow window this text is cut before a button goes.
    m_rate->setMinimumWidth(m_rate->fontMetrics().horizontalAdvance(QStringLiteral("888 steps/s")));
    m_rate->setMaximumWidth(
        m_rate->fontMetrics().horizontalAdvance(QStringLiteral("888.8 steps/s · 8 888.8 k tokens/s")));
    addWidget(m_step);
    addWidget(m_rate);
    m_backend->setProperty("dim", true);
    m_backend->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_backend->setContentsMargins(8, 0, 8, 0);
    addWidget(m_backend);
    addAction(actions.follow);
    addAction(actions.exportRun);

    // Short words on the buttons; the menus have the long ones.
    const auto shorten = [this](QAction* action, const QString& text) {
        if (auto* button = qobject_cast<QToolButton*>(widgetForAction(action))) {
            action->setIconText(text);
            button->setAccessibleName(action->text().remove(QLatin1Char('&')));
            button->setFocusPolicy(Qt::TabFocus);
        }
    };
    actions.pause->setIconText(tr("Pause"));
    shorten(actions.pause, tr("Pause"));
    shorten(actions.step, tr("Step"));
    shorten(actions.runSteps, tr("Run n…"));
    shorten(actions.restart, tr("Restart"));
    shorten(actions.newSeed, tr("New seed"));
    shorten(actions.follow, tr("Follow"));
    shorten(actions.exportRun, tr("Export…"));
    for (QAction* action : {actions.restart, actions.newSeed}) {
        m_wordless << qobject_cast<QToolButton*>(widgetForAction(action));
    }

    connect(&controller, &SessionController::stepsAdded, this, &RunToolbar::update_);
    connect(&controller, &SessionController::liveChanged, this, &RunToolbar::update_);
    connect(&controller, &SessionController::backendChanged, this, &RunToolbar::updateBackend);
    connect(&controller, &SessionController::runStarted, this, [this] {
        updateBackend();
        update_();
    });
    update_();
}

// A tool bar takes its margins from the style only when that changes, so a style sheet's would come with the second
// theme.
void RunToolbar::setMargins()
{
    layout()->setContentsMargins(10, 5, 10, 6);
    layout()->setSpacing(4);
}

bool RunToolbar::event(QEvent* event)
{
    const bool done = QToolBar::event(event);
    if (event->type() == QEvent::StyleChange) {
        setMargins();
    }
    if (event->type() == QEvent::Resize) {
        setSmall(width() < kSmallWindow);
    }
    return done;
}

// In a small window the note behind a precision is cut, and two buttons have no words, before the device is.
void RunToolbar::setSmall(bool small)
{
    if (m_small == small) {
        return;
    }
    m_small = small;
    m_precision->setMinimumWidth(small ? m_precision->widthWithoutNote() : m_precision->widthWithNote());
    for (QToolButton* button : std::as_const(m_wordless)) {
        button->setToolButtonStyle(small ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextBesideIcon);
    }
}

void RunToolbar::update_()
{
    const RunModel& run = m_controller.run();
    m_step->setText(tr("step %1").arg(stepText(run.steps.empty() ? 0 : run.steps.back().step)));
    const double rate = run.stepsPerSecond;
    switch (run.live.state) {
    case EngineState::Starting:
        m_rate->setText(tr("starting…"));
        break;
    case EngineState::Paused:
        m_rate->setText(tr("paused"));
        break;
    case EngineState::Finished:
        m_rate->setText(tr("ended"));
        break;
    case EngineState::Failed:
        m_rate->setText(tr("failed"));
        break;
    case EngineState::Running: {
        const double tokens = rate * run.info.config.model.tokens();
        const QString perSecond = rate < 10 ? QString::number(rate, 'f', 1) : QString::number(rate, 'f', 0);
        const QString brief = rate > 0 ? tr("%1 steps/s").arg(perSecond) : tr("running");
        const QString whole = rate > 0 ? tr("%1 steps/s · %2 k tokens/s")
                                             .arg(perSecond, tokens < 10'000 ? QString::number(tokens / 1000, 'f', 1)
                                                                             : stepText(qRound64(tokens / 1000)))
                                       : brief;
        // All of it, or half of it, but no piece of a word.
        const bool fits = m_rate->fontMetrics().horizontalAdvance(whole) <= m_rate->contentsRect().width();
        m_rate->setText(fits ? whole : brief);
        m_rate->setDetail(whole);
        break;
    }
    }
}

void RunToolbar::updateBackend()
{
    const QString text = QString::fromStdString(m_controller.run().info.backend);
    // What is emulated by it is a long story, for the tool tip.
    m_backend->setText(text.section(QStringLiteral(" ("), 0, 0));
    m_backend->setDetail(text);
    m_backend->setAccessibleName(tr("Backend: %1").arg(text));
}

} // namespace halfscope
