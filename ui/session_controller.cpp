// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/session_controller.h"

#include <algorithm>

namespace halfscope {

namespace {

constexpr int kBusyIntervalMs = 33;      // about 30 times a second
constexpr int kStrainedIntervalMs = 100; // when the window itself cannot keep up
constexpr int kIdleIntervalMs = 120;     // nothing happens
constexpr int kIdlePollsUntilSlow = 15;
constexpr double kSlowFrameMs = 25.0; // one poll with all its views may take this long before the rate is lowered
constexpr double kRateWindowSeconds = 1.0;

bool sameLive(const LiveState& a, const LiveState& b)
{
    return a.state == b.state && a.failure == b.failure && a.scaler == b.scaler && a.plan == b.plan &&
           a.learningRate == b.learningRate && a.config == b.config && a.pretraining == b.pretraining &&
           a.canContinue == b.canContinue && a.stateAfter == b.stateAfter && a.stepsToCatchUp == b.stepsToCatchUp;
}

std::string utf8(const QString& text) { return text.toStdString(); }

} // namespace

struct SessionController::PendingCommand {
    std::uint64_t id = 0;
    QString key;
    bool restart = false;
};

SessionController::SessionController(std::unique_ptr<Engine> engine, QObject* parent)
    : QObject(parent), m_engine(std::move(engine))
{
    m_timer.setTimerType(Qt::CoarseTimer);
    m_timer.setInterval(kBusyIntervalMs);
    connect(&m_timer, &QTimer::timeout, this, &SessionController::poll);
    m_sinceRateMark.start();
    m_run.live = m_engine->live();
    listen();
    m_timer.start();
}

void SessionController::listen()
{
    m_wakes = m_engine->setWake([this] {
        QMetaObject::invokeMethod(
            this,
            [this] {
                if (!m_timer.isActive()) {
                    m_idlePolls = 0;
                    m_timer.start(kBusyIntervalMs);
                    poll();
                }
            },
            Qt::QueuedConnection);
    });
}

SessionController::~SessionController() = default;

bool SessionController::isPending(const QString& settingKey) const
{
    return std::any_of(m_pending.begin(), m_pending.end(),
                       [&](const PendingCommand& pending) { return pending.key == settingKey; });
}

void SessionController::select(const TapSelection& selection)
{
    TapSelection wanted = selection;
    const int count = static_cast<int>(m_run.info.modules.size());
    std::erase_if(wanted.modules, [count](int module) { return module < 0 || module >= count; });
    std::sort(wanted.modules.begin(), wanted.modules.end());
    wanted.modules.erase(std::unique(wanted.modules.begin(), wanted.modules.end()), wanted.modules.end());
    if (wanted.modules.empty()) {
        wanted.name.clear();
    }
    if (wanted == m_run.selection) {
        return;
    }
    m_run.selection = wanted;
    emit selectionChanged();
}

void SessionController::pause() { send(QStringLiteral("pause"), Pause{}); }
void SessionController::resume() { send(QStringLiteral("resume"), Resume{}); }

void SessionController::togglePause()
{
    if (state() == EngineState::Running || state() == EngineState::Starting) {
        pause();
    } else {
        resume();
    }
}

void SessionController::runSteps(qint64 count)
{
    send(QStringLiteral("run-steps"), RunSteps{std::max<qint64>(count, 1)});
}

void SessionController::continueRun() { send(QStringLiteral("continue"), Continue{}); }

void SessionController::restart(bool newSeed)
{
    Restart command;
    command.newSeed = newSeed;
    if (newSeed) {
        // The next seed, not a random one: it can be read, typed and found again.
        command.seed = m_run.live.config.seed + 1;
    }
    send(QStringLiteral("restart"), command);
}

SessionController::ChangeGroup::ChangeGroup(SessionController& controller)
    : m_controller(controller), m_outermost(!controller.m_grouped)
{
    if (m_outermost) {
        ++m_controller.m_change;
        m_controller.m_grouped = true;
    }
}

SessionController::ChangeGroup::~ChangeGroup()
{
    if (m_outermost) {
        m_controller.m_grouped = false;
    }
}

void SessionController::setSetting(const QString& key, const QString& value, Origin origin, qint64 since)
{
    sendChange(key, SetSetting{utf8(key), utf8(value), since}, false, origin);
}

void SessionController::setScale(double scale, bool continues, Origin origin)
{
    sendChange(QStringLiteral("scale"), SetScale{scale}, continues, origin);
    emit scaleRequested();
}

void SessionController::sendChange(const QString& key, Command command, bool continues, Origin origin)
{
    if (!m_grouped && !continues) {
        ++m_change;
    }
    m_changes.push_back({send(key, std::move(command)), m_change, origin});
}

// Answers come in the order of the commands. One that was coalesced into a newer one has none.
std::optional<AnsweredCommand> SessionController::answerChange(const Event& event)
{
    const auto sent = std::find_if(m_changes.begin(), m_changes.end(),
                                   [&](const SentChange& one) { return one.id == event.commandId; });
    std::optional<AnsweredCommand> answer;
    if (sent != m_changes.end()) {
        answer = AnsweredCommand{event, sent->change, sent->origin};
    }
    std::erase_if(m_changes, [&](const SentChange& one) { return one.id <= event.commandId; });
    return answer;
}

void SessionController::apply(const Remedy& remedy)
{
    const ChangeGroup together(*this);
    for (const Command& command : remedy.commands) {
        if (const auto* set = std::get_if<SetSetting>(&command)) {
            setSetting(QString::fromStdString(set->key), QString::fromStdString(set->value));
        } else if (const auto* scale = std::get_if<SetScale>(&command)) {
            setScale(scale->scale);
        } else if (std::holds_alternative<Restart>(command)) {
            restart(false);
        }
    }
}

void SessionController::injectSpike(const QString& module, double factor, bool weightGrad)
{
    send(QStringLiteral("inject-spike"), InjectSpike{utf8(module), factor, weightGrad});
}

void SessionController::injectBadBatch() { send(QStringLiteral("inject-bad-batch"), InjectBadBatch{}); }

void SessionController::injectLearningRateJump(double factor)
{
    send(QStringLiteral("inject-learning-rate"), InjectLearningRateJump{factor});
}

void SessionController::swapHead() { send(QStringLiteral("pretrain-steps"), SwapHead{}); }

std::uint64_t SessionController::requestValidation() { return send(QStringLiteral("validation"), RequestValidation{}); }

std::uint64_t SessionController::requestPredictions(qint64 first, int count)
{
    return send(QStringLiteral("predictions"), RequestPredictions{static_cast<std::size_t>(first), count});
}

std::uint64_t SessionController::requestSample(const RequestSample& request)
{
    return send(QStringLiteral("sample"), request);
}

std::uint64_t SessionController::send(const QString& key, Command command)
{
    const bool isRestart = std::holds_alternative<Restart>(command);
    const std::uint64_t id = m_engine->post(std::move(command));
    // An older command of this key may have been coalesced into the new one and is then never answered; the newest
    // answer counts for all of them.
    std::erase_if(m_pending, [&](const PendingCommand& pending) { return !isRestart && pending.key == key; });
    m_pending.push_back({id, key, isRestart});
    emit pendingChanged(key);
    m_idlePolls = 0;
    if (!m_timer.isActive() || m_timer.interval() > kStrainedIntervalMs) {
        m_timer.start(kBusyIntervalMs);
    }
    return id;
}

void SessionController::settle(std::uint64_t commandId, std::vector<QString>& settled)
{
    const auto answered = std::find_if(m_pending.begin(), m_pending.end(),
                                       [&](const PendingCommand& pending) { return pending.id == commandId; });
    if (answered == m_pending.end()) {
        return;
    }
    if (answered->restart) {
        settleUpTo(commandId, settled);
        return;
    }
    settled.push_back(answered->key);
    m_pending.erase(answered);
}

// Commands are applied in order, so once a restart is through, everything asked before it has been answered, if only in
// the run that is forgotten.
void SessionController::settleUpTo(std::uint64_t commandId, std::vector<QString>& settled)
{
    std::erase_if(m_pending, [&](const PendingCommand& pending) {
        if (pending.id > commandId) {
            return false;
        }
        settled.push_back(pending.key);
        return true;
    });
}

void SessionController::beginRun(std::vector<QString>& settled)
{
    const auto oldestRestart =
        std::find_if(m_pending.begin(), m_pending.end(), [](const PendingCommand& pending) { return pending.restart; });
    if (oldestRestart != m_pending.end()) {
        std::erase_if(m_changes, [&](const SentChange& one) { return one.id <= oldestRestart->id; });
        settleUpTo(oldestRestart->id, settled);
    }
    m_run.info = m_engine->info();
    m_run.steps.clear();
    m_run.events.clear();
    m_run.spikedSteps.clear();
    m_run.latest.reset();
    m_run.shadows.clear();
    m_advisor.restart(m_run.info);
    m_run.validation.reset();
    m_run.updates.clear();
    m_run.history.clear(static_cast<int>(m_run.info.modules.size()));
    m_run.stepsPerSecond = 0.0;
    const int count = static_cast<int>(m_run.info.modules.size());
    std::erase_if(m_run.selection.modules, [count](int module) { return module >= count; });
    m_stepsAtRateMark = 0;
    m_sinceRateMark.restart();
}

void SessionController::poll()
{
    QElapsedTimer frame;
    frame.start();

    m_telemetry.restarted = false;
    m_telemetry.steps.clear();
    m_telemetry.events.clear();
    m_telemetry.snapshots.clear();
    m_telemetry.shadows.clear();
    m_telemetry.evaluations.clear();
    m_engine->drain(m_telemetry);
    LiveState live = m_engine->live();

    std::vector<QString> settled;
    struct Rejection {
        QString key;
        QString why;
    };
    std::vector<Rejection> rejections;
    std::vector<AnsweredCommand> answers;

    // Modules exist only once the engine has loaded its text; that, too, is a run that begins.
    const bool begins = m_telemetry.restarted || m_engine->info().generation != m_run.info.generation;
    if (begins) {
        beginRun(settled);
    }
    const bool liveDiffers = begins || !sameLive(live, m_run.live);
    m_run.live = std::move(live);
    m_advisor.observe(m_telemetry, m_run.live);

    const auto firstStep = static_cast<qint64>(m_run.steps.size());
    m_run.steps.append(m_telemetry.steps);

    bool moves = false;
    const auto firstEvent = static_cast<qint64>(m_run.events.size());
    for (Event& event : m_telemetry.events) {
        if (event.commandId != 0) {
            if (event.kind == EventKind::Rejected) {
                const auto pending = std::find_if(m_pending.begin(), m_pending.end(),
                                                  [&](const PendingCommand& one) { return one.id == event.commandId; });
                const QString key = pending != m_pending.end() ? pending->key : QString::fromStdString(event.key);
                rejections.push_back({key, QString::fromStdString(event.text)});
            }
            settle(event.commandId, settled);
            if (auto answer = answerChange(event)) {
                answers.push_back(std::move(*answer));
            }
        }
        // Of the injections, only a spike names a module. Several may go into one step.
        if (event.kind == EventKind::Injected && event.module >= 0 &&
            (m_run.spikedSteps.empty() || m_run.spikedSteps.back() < event.step)) {
            m_run.spikedSteps.push_back(event.step);
        }
        if (event.kind == EventKind::HeadSwapped || event.kind == EventKind::Continued) {
            m_run.info = m_engine->info(); // the model's sizes are others now, or the backend
            moves = moves || event.kind == EventKind::Continued;
        }
        m_run.events.push_back(std::move(event));
    }
    for (const SnapshotPtr& snapshot : m_telemetry.snapshots) {
        m_run.history.append(*snapshot);
        m_run.updates.append(*snapshot);
        m_run.latest = snapshot;
    }
    m_run.shadows.insert(m_run.shadows.end(), m_telemetry.shadows.begin(), m_telemetry.shadows.end());
    for (const EvaluationPtr& evaluation : m_telemetry.evaluations) {
        if (evaluation->commandId != 0) {
            settle(evaluation->commandId, settled);
        }
        if (evaluation->validation) {
            m_run.validation = evaluation;
        }
    }
    updateRate();

    // The model is complete before the first view hears of it.
    if (begins) {
        emit runStarted();
    }
    for (const AnsweredCommand& answer : answers) {
        emit changeAnswered(answer);
    }
    if (moves) {
        emit backendChanged();
    }
    if (liveDiffers) {
        emit liveChanged();
    }
    if (static_cast<qint64>(m_run.steps.size()) > firstStep) {
        emit stepsAdded(firstStep, static_cast<qint64>(m_run.steps.size()) - 1);
    }
    if (!m_telemetry.snapshots.empty() || !m_telemetry.shadows.empty()) {
        emit snapshotAdded();
    }
    if (static_cast<qint64>(m_run.events.size()) > firstEvent) {
        emit eventsAdded(firstEvent, static_cast<qint64>(m_run.events.size()) - 1);
    }
    for (const EvaluationPtr& evaluation : m_telemetry.evaluations) {
        emit evaluated(evaluation);
    }
    for (const QString& key : settled) {
        emit pendingChanged(key);
    }
    for (const Rejection& rejection : rejections) {
        emit commandRejected(rejection.key, rejection.why);
    }

    const bool busy = begins || liveDiffers || !m_telemetry.steps.empty() || !m_telemetry.events.empty() ||
                      !m_telemetry.evaluations.empty();
    adaptRate(busy, static_cast<double>(frame.nsecsElapsed()) * 1e-6);
}

void SessionController::updateRate()
{
    const double seconds = static_cast<double>(m_sinceRateMark.nsecsElapsed()) * 1e-9;
    if (m_run.live.state != EngineState::Running) {
        m_run.stepsPerSecond = 0.0;
        m_stepsAtRateMark = m_run.steps.size();
        m_sinceRateMark.restart();
        return;
    }
    const std::size_t done = m_run.steps.size() - std::min(m_stepsAtRateMark, m_run.steps.size());
    if (seconds >= kRateWindowSeconds || (m_run.stepsPerSecond == 0.0 && done >= 2 && seconds > 0.2)) {
        m_run.stepsPerSecond = static_cast<double>(done) / seconds;
        if (seconds >= kRateWindowSeconds) {
            m_stepsAtRateMark = m_run.steps.size();
            m_sinceRateMark.restart();
        }
    }
}

void SessionController::adaptRate(bool busy, double frameMs)
{
    m_idlePolls = busy || !m_pending.empty() ? 0 : m_idlePolls + 1;
    m_frameMs = 0.8 * m_frameMs + 0.2 * frameMs;
    int interval = kBusyIntervalMs;
    if (m_frameMs > kSlowFrameMs) {
        interval = kStrainedIntervalMs;
    } else if (m_idlePolls >= kIdlePollsUntilSlow) {
        if (m_wakes && m_run.live.state != EngineState::Running && m_run.live.state != EngineState::Starting) {
            m_timer.stop(); // asleep until there is something
            return;
        }
        interval = kIdleIntervalMs;
    }
    if (interval != m_timer.interval()) {
        m_timer.start(interval);
    }
}

void SessionController::replaceEngine(std::unique_ptr<Engine> engine)
{
    // A step of a large model may take seconds, which the window does not wait for.
    std::erase_if(m_retired, [](const std::future<void>& one) {
        return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    m_retired.push_back(std::async(std::launch::async, [old = std::move(m_engine)]() mutable { old.reset(); }));
    m_engine = std::move(engine);
    listen();
    std::vector<QString> settled;
    for (const PendingCommand& pending : m_pending) {
        settled.push_back(pending.key);
    }
    m_pending.clear();
    m_changes.clear();
    beginRun(settled);
    m_run.live = m_engine->live();
    m_run.selection.modules.clear();
    m_run.selection.name.clear();
    m_idlePolls = 0;
    m_timer.start(kBusyIntervalMs);
    emit runStarted();
    emit selectionChanged();
    emit liveChanged();
    for (const QString& key : settled) {
        emit pendingChanged(key);
    }
}

} // namespace halfscope
