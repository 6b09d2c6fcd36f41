// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/run_notices.h"

#include <QTimer>

#include "engine/train/settings_registry.h"
#include "ui/models/setting_labels.h"
#include "ui/number_text.h"
#include "ui/panels/banner_stack.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

// Applied steps in a row after which the loss counts as mended.
constexpr qint64 kMendedAfter = 20;

QString asSentence(const QString& text)
{
    const bool ends = text.endsWith(QLatin1Char('.')) || text.endsWith(QLatin1Char('!')) || text.endsWith(QChar(u'。'));
    return ends ? text : text + QLatin1Char('.');
}

} // namespace

RunNotices::RunNotices(SessionController& controller, BannerStack& banners, QObject* parent)
    : QObject(parent), m_controller(controller), m_banners(banners)
{
    connect(&controller, &SessionController::runStarted, this, &RunNotices::runStarted);
    connect(&controller, &SessionController::liveChanged, this, &RunNotices::liveChanged);
    connect(&controller, &SessionController::stepsAdded, this, &RunNotices::stepsAdded);
    connect(&controller, &SessionController::eventsAdded, this, &RunNotices::eventsAdded);
    connect(&controller, &SessionController::changeAnswered, this, &RunNotices::answered);
    connect(&controller, &SessionController::commandRejected, this, &RunNotices::rejected);
}

void RunNotices::runStarted()
{
    for (const QString& id :
         {kFailure, kCatchUp, kFallback, kText, kLoss, kMinimum, kUnusable, kEnded, kBound, kRejected}) {
        m_banners.hide(id);
    }
    const RunInfo& info = m_controller.run().info;
    if (!info.fallback.empty()) {
        m_banners.show(kFallback, BannerStack::Kind::Warning,
                       tr("The run is on the CPU: %1").arg(asSentence(QString::fromStdString(info.fallback))));
    }
    if (!info.data.notice.empty()) {
        m_banners.show(kText, BannerStack::Kind::Info, QString::fromStdString(info.data.notice));
    } else if (info.data.generated && info.data.classes == 0) { // a task of generated data was chosen as such
        m_banners.show(kText, BannerStack::Kind::Info, tr("Training on generated text."));
    }
    liveChanged();
}

void RunNotices::showFailure()
{
    const RunModel& run = m_controller.run();
    const QString why = asSentence(QString::fromStdString(run.live.failure));
    if (run.live.canContinue && run.steps.empty()) {
        m_banners.show(kFailure, BannerStack::Kind::Error, tr("The run could not start. %1").arg(why),
                       tr("Start on the CPU"), [this] { m_controller.continueRun(); });
        return;
    }
    if (run.live.canContinue) {
        m_banners.show(kFailure, BannerStack::Kind::Error,
                       tr("The run stopped: %1 What it has shown so far stays and can be exported, and it can go on on "
                          "the CPU from the state after step %2.")
                           .arg(why, stepText(run.live.stateAfter)),
                       tr("Continue on the CPU"), [this] { m_controller.continueRun(); });
        return;
    }
    if (!run.steps.empty()) {
        m_banners.show(kFailure, BannerStack::Kind::Error,
                       tr("The run stopped: %1 What it has shown so far stays and can be exported.").arg(why),
                       tr("Restart"), [this] { m_controller.restart(false); });
        return;
    }
    // The same text or configuration would fail again. The engine names the text it could not use in its sentence.
    const QString text = QString::fromStdString(run.live.config.text);
    const bool ofText = (!text.isEmpty() && why.contains(text)) || why.startsWith(QLatin1String("The text "));
    m_banners.show(kFailure, BannerStack::Kind::Error, tr("The run could not start. %1").arg(why),
                   ofText ? tr("Open text…") : tr("New run…"),
                   [this, ofText] { ofText ? emit openTextRequested() : emit newRunRequested(); });
}

// A bound takes along what lies beyond it; nobody asked for that.
void RunNotices::answered(const AnsweredCommand& answer)
{
    const QString key = QString::fromStdString(answer.event.key);
    if (key != QLatin1String("min-scale") && key != QLatin1String("max-scale")) {
        return;
    }
    const LiveState& live = m_controller.run().live;
    const bool initial = live.config.scaler.initialScale != m_initialScale;
    const bool low = key == QLatin1String("min-scale");
    const double scale = live.scaler.scale;
    const bool scaleToo = low ? scale > m_scale && scale == lowestScale(live.config.scaler)
                              : scale < m_scale && scale == highestScale(live.config.scaler);
    if (answer.origin != Origin::User || answer.event.kind != EventKind::Command || !(initial || scaleToo)) {
        m_banners.hide(kBound);
        return;
    }
    const QString initialText = shortScaleText(live.config.scaler.initialScale);
    const QString changed =
        initial && scaleToo ? tr("the initial scale to %1 and the scale to %2").arg(initialText, shortScaleText(scale))
        : initial           ? tr("the initial scale to %1").arg(initialText)
                            : tr("the scale to %1").arg(shortScaleText(scale));
    m_banners.show(kBound, BannerStack::Kind::Info,
                   (low ? tr("The smallest scale has raised %1. Undo takes all of it back.")
                        : tr("The largest scale has lowered %1. Undo takes all of it back."))
                       .arg(changed));
}

void RunNotices::liveChanged()
{
    const LiveState& live = m_controller.run().live;
    m_initialScale = live.config.scaler.initialScale;
    m_scale = live.scaler.scale;
    const auto restart = [this] { m_controller.restart(false); };
    if (live.state == EngineState::Failed) {
        showFailure();
    } else {
        m_banners.hide(kFailure);
    }
    if (live.stepsToCatchUp > 0) {
        m_banners.show(kCatchUp, BannerStack::Kind::Info,
                       live.stepsToCatchUp == 1
                           ? tr("Continuing on the CPU: one completed step is computed again before the run goes on.")
                           : tr("Continuing on the CPU: %1 completed steps are computed again before the run goes on.")
                                 .arg(stepText(live.stepsToCatchUp)));
    } else {
        m_banners.hide(kCatchUp);
    }
    if (live.state == EngineState::Finished) {
        m_banners.show(kEnded, BannerStack::Kind::Info, tr("The scaler has ended the run; the last events say why."),
                       tr("Restart"), restart);
    } else {
        m_banners.hide(kEnded);
    }
    if (live.state == EngineState::Running) {
        m_banners.hide(kUnusable);
    }
    if (live.scaler.scale > live.config.scaler.minScale) {
        m_banners.hide(kMinimum);
    }
}

// Where the original would go on with a scale of 0 or infinity, and NaN after it, the run pauses.
void RunNotices::eventsAdded(qint64 first, qint64 last)
{
    const std::vector<Event>& events = m_controller.run().events;
    for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last) && i < events.size(); ++i) {
        const Event& event = events[i];
        if (event.kind == EventKind::UnusableScale) {
            m_banners.show(
                kUnusable, BannerStack::Kind::Warning,
                tr("Step %1: the scale became %2, by which FP32 cannot divide. The original would go on with "
                   "NaN; here it is held at %3 and the run is paused. Give the scale bounds, then resume.")
                    .arg(stepText(event.step), QString::fromStdString(event.newValue),
                         shortScaleText(static_cast<double>(event.scaleNext))));
        }
    }
}

void RunNotices::stepsAdded(qint64 first, qint64 last)
{
    const RunModel& run = m_controller.run();
    for (qint64 i = first; i <= last; ++i) {
        const StepRecord record = run.steps[static_cast<std::size_t>(i)];
        if (record.outcome == StepOutcome::SkippedNonfiniteLoss) {
            m_badLossUntil = record.appliedSteps + kMendedAfter;
            const int module = std::max(record.forwardSaturatedModule, record.lostWeightsModule);
            const bool known = module >= 0 && static_cast<std::size_t>(module) < run.info.modules.size();
            m_banners.show(
                kLoss, BannerStack::Kind::Error,
                known && record.lostWeightsModule >= 0
                    ? tr("Step %1: the loss is not finite because the weights of %2 are not: they are lost until a "
                         "restart. The advisor says what made them so, where it knows.")
                          .arg(stepText(record.step),
                               QString::fromStdString(run.info.modules[static_cast<std::size_t>(module)].name))
                : known ? tr("Step %1: the loss is not finite because %2 overflowed in the forward pass. No loss scale "
                             "mends that; give the layer FP32 or BF16, or lower the learning rate.")
                              .arg(stepText(record.step),
                                   QString::fromStdString(run.info.modules[static_cast<std::size_t>(module)].name))
                        : tr("Step %1: the loss is not finite. No loss scale mends that; lower the learning rate or "
                             "restart.")
                              .arg(stepText(record.step)));
        }
        if (record.scaleEvent == ScaleEvent::AtMinimum) {
            m_banners.show(kMinimum, BannerStack::Kind::Warning,
                           tr("Step %1 overflowed at the smallest scale %2: the scale cannot help any more.")
                               .arg(stepText(record.step), shortScaleText(record.scale)));
        }
    }
    if (last >= first && !m_banners.text(kLoss).isEmpty() && run.steps.back().appliedSteps >= m_badLossUntil) {
        m_banners.hide(kLoss);
    }
}

// Knobs show their refusals themselves; what has no field of its own is said here.
void RunNotices::rejected(const QString& key, const QString& why)
{
    if (key.startsWith(QLatin1String("precision.")) ||
        (findSetting(key.toStdString()) == nullptr && key != QLatin1String("scale"))) {
        m_banners.show(kRejected, BannerStack::Kind::Warning, refusalText(key, {}, why));
    }
}

} // namespace halfscope
