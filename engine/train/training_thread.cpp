// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/training_thread.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "engine/core/error_text.h"
#include "engine/train/command_queue.h"
#include "engine/train/run_state.h"
#include "engine/train/step_report.h"
#include "engine/train/telemetry_queue.h"
#include "engine/train/trainer.h"

namespace halfscope {

namespace {

// Thrown while a model is made that nobody waits for any more.
struct GivenUp {};

bool isForTheNextStep(const Command& command)
{
    return !std::holds_alternative<Pause>(command) && !std::holds_alternative<Resume>(command) &&
           !std::holds_alternative<RunSteps>(command) && !std::holds_alternative<Restart>(command);
}

} // namespace

struct TrainingThread::Impl {
    Impl(RunConfig c, bool startPaused)
        : config(std::move(c)),
          state(startPaused ? EngineState::Paused : EngineState::Running),
          thread([this] { run(); })
    {
    }

    ~Impl()
    {
        stopping = true;
        commands.close();
        thread.join();
    }

    void run();
    void start(const std::string& fallback = {}); // why it is not the backend that was asked for
    void takeCommands();
    void obey(const QueuedCommand& queued);
    void answer(const QueuedCommand& queued);
    void fail(const std::string& why);
    void goOn(std::uint64_t commandId);
    void setState(EngineState next);
    void publish();
    void publishNumbers(); // after a step at which nothing happened: what every step changes, without the rest
    void publishInfo();
    void lookAtMemory();
    void say(EventKind kind, std::string text, std::uint64_t commandId = 0);

    // Owned by the thread.
    RunConfig config; // to (re)start with
    std::unique_ptr<Trainer> trainer;
    EngineState state;           // where it goes after starting, then what it is
    std::int64_t stepsLeft = -1; // until it pauses; -1: no limit
    std::string failure;
    std::vector<QueuedCommand> held;   // until the run has caught up
    std::unique_ptr<RunState> rescued; // after a failure: where to go on
    bool canBeginOnCpu = false;
    std::optional<MemoryRoom> deviceMemory;
    std::chrono::steady_clock::time_point nextLook;
    std::uint64_t generation = 0;
    LiveState next; // to be published; then what was published before, whose memory is used again

    // Shared.
    CommandQueue commands;
    TelemetryQueue telemetry;
    mutable std::mutex mutex; // of the two below; held for a copy only
    RunInfo info;
    LiveState live;
    std::atomic<bool> stopping = false;

    std::thread thread; // last: started when everything above exists, joined first
};

void TrainingThread::Impl::setState(EngineState next)
{
    state = next;
    publish();
}

void TrainingThread::Impl::publish()
{
    if (trainer) {
        trainer->copyLive(next);
    } else {
        next = {};
        next.config = config;
    }
    next.state = state;
    next.failure = failure;
    next.deviceMemory = deviceMemory;
    next.canContinue = rescued != nullptr || canBeginOnCpu;
    next.stateAfter = rescued ? rescued->mark.at.step : 0;
    next.stepsToCatchUp = trainer ? trainer->stepsToCatchUp() : 0;
    const std::lock_guard lock(mutex);
    std::swap(live, next);
}

void TrainingThread::Impl::publishNumbers()
{
    const std::lock_guard lock(mutex);
    trainer->updateNumbers(live);
    live.deviceMemory = deviceMemory;
}

// The host's can be asked for by anybody.
void TrainingThread::Impl::lookAtMemory()
{
    const auto now = std::chrono::steady_clock::now();
    if (!trainer->backend().hasOwnMemory() || now < nextLook)
        return;
    deviceMemory = trainer->backend().memoryRoom();
    nextLook = now + std::chrono::seconds(1);
}

void TrainingThread::Impl::publishInfo()
{
    RunInfo about;
    if (trainer)
        about = trainer->info();
    else
        about.config = config;
    about.generation = generation;
    const std::lock_guard lock(mutex);
    info = std::move(about);
}

void TrainingThread::Impl::say(EventKind kind, std::string text, std::uint64_t commandId)
{
    Event e;
    e.step = trainer ? trainer->stepsDone() + trainer->stepsToCatchUp() : 0;
    e.kind = kind;
    e.text = std::move(text);
    e.commandId = commandId;
    telemetry.push(std::move(e));
}

void TrainingThread::Impl::fail(const std::string& why)
{
    const std::int64_t step = trainer ? trainer->stepsDone() : 0;
    if (trainer)
        rescued = trainer->lastGoodState(why);
    failure = step > 0 ? "failed at step " + std::to_string(step) + ": " + why : why;
    say(EventKind::Failed, failure);
    setState(EngineState::Failed);
}

void TrainingThread::Impl::start(const std::string& fallback)
{
    const EngineState next = state;
    failure.clear();
    rescued.reset();
    canBeginOnCpu = false;
    trainer.reset();
    deviceMemory.reset();
    nextLook = {};
    setState(EngineState::Starting);
    telemetry.restart();
    ++generation;
    try {
        trainer = std::make_unique<Trainer>(config, [this] {
            if (stopping)
                throw GivenUp();
        });
        if (!fallback.empty())
            trainer->noteFallback(fallback);
        publishInfo();
        say(EventKind::Start, "run started: seed " + std::to_string(config.seed) + ", " + trainer->info().data.title);
        if (!trainer->info().fallback.empty())
            telemetry.push(fallbackEvent(trainer->info()));
        setState(next);
    } catch (const GivenUp&) { // nobody will look at this thread again
    } catch (const std::exception& e) {
        publishInfo();
        // A device that cannot take the run; another one may.
        canBeginOnCpu = dynamic_cast<const BackendError*>(&e) != nullptr && config.backend != kFallbackBackend;
        fail(errorText(e));
    }
}

// Where it cannot, the run stays as it is and may be asked again.
void TrainingThread::Impl::goOn(std::uint64_t commandId)
{
    if (canBeginOnCpu) {
        const std::string why = failure;
        config.backend = kFallbackBackend;
        config.device.clear();
        state = EngineState::Running;
        start(why);
        say(EventKind::Command, "begun on the CPU", commandId);
        return;
    }
    if (!rescued) {
        say(EventKind::Rejected, "There is no state from which this run could go on; restart it.", commandId);
        return;
    }
    setState(EngineState::Starting);
    const std::string from = rescued->info.backendKey;
    try {
        trainer = std::make_unique<Trainer>(*rescued, kFallbackBackend, [this] {
            if (stopping)
                throw GivenUp();
        });
    } catch (const GivenUp&) {
        return;
    } catch (const std::exception& e) {
        say(EventKind::Rejected, errorText(e), commandId);
        setState(EngineState::Failed);
        return;
    }
    rescued.reset();
    failure.clear();
    deviceMemory.reset();
    publishInfo();
    Event e = continuedEvent(trainer->info(), from);
    e.commandId = commandId;
    telemetry.push(std::move(e));
    stepsLeft = -1;
    setState(EngineState::Running);
}

void TrainingThread::Impl::obey(const QueuedCommand& queued)
{
    const Command& command = queued.command;
    if (const auto* c = std::get_if<Restart>(&command)) {
        if (trainer)
            config = trainer->live().config;
        if (c->newSeed)
            config.seed = c->seed;
        state = state == EngineState::Paused ? EngineState::Paused : EngineState::Running;
        stepsLeft = -1;
        start();
        say(EventKind::Command, "restart", queued.id);
        return;
    }
    if (std::holds_alternative<Continue>(command)) {
        goOn(queued.id);
        return;
    }
    if (!trainer || state == EngineState::Failed) {
        Event e;
        e.kind = EventKind::Rejected;
        e.commandId = queued.id;
        e.text = "The run has failed; restart it first.";
        if (const auto* c = std::get_if<SetSetting>(&command))
            e.key = c->key;
        telemetry.push(std::move(e));
        return;
    }
    if (std::holds_alternative<Pause>(command)) {
        say(EventKind::Paused, "paused", queued.id);
        setState(EngineState::Paused);
    } else if (std::holds_alternative<Resume>(command)) {
        stepsLeft = -1;
        say(EventKind::Command, "resumed", queued.id);
        setState(EngineState::Running);
    } else if (const auto* c = std::get_if<RunSteps>(&command)) {
        if (c->count < 1) {
            say(EventKind::Rejected, "The number of steps to run must be at least 1.", queued.id);
            return;
        }
        stepsLeft = c->count;
        say(EventKind::Command, "run " + std::to_string(c->count) + (c->count == 1 ? " step" : " steps"), queued.id);
        setState(EngineState::Running);
    } else if (isRequest(command)) {
        answer(queued);
    } else {
        Event e = trainer->apply(command);
        e.commandId = queued.id;
        telemetry.push(std::move(e));
        publish();
    }
}

// A question that has no answer is refused; it never ends a run.
void TrainingThread::Impl::answer(const QueuedCommand& queued)
{
    try {
        telemetry.push(trainer->answer(queued.command, queued.id));
    } catch (const std::exception& e) {
        say(EventKind::Rejected, errorText(e), queued.id);
    }
}

// Edits are for the step that comes, not for those that are computed again: they wait until these are done.
void TrainingThread::Impl::takeCommands()
{
    std::vector<QueuedCommand> waiting = std::exchange(held, {});
    std::ranges::move(commands.takeAll(), std::back_inserter(waiting));
    for (const QueuedCommand& queued : waiting) {
        if (stopping)
            return;
        if (trainer && trainer->stepsToCatchUp() > 0 && isForTheNextStep(queued.command)) {
            held.push_back(queued);
            continue;
        }
        try {
            if (std::holds_alternative<Restart>(queued.command)) { // which takes them along
                for (const QueuedCommand& edit : std::exchange(held, {}))
                    obey(edit);
            }
            obey(queued);
        } catch (const std::exception& e) {
            fail(errorText(e));
            say(EventKind::Rejected, errorText(e), queued.id); // so that nobody waits for the answer
        }
    }
}

void TrainingThread::Impl::run()
{
    start();
    while (!stopping) {
        takeCommands();
        if (state != EngineState::Running) {
            if (!commands.wait())
                return;
            continue;
        }
        try {
            if (trainer->stepsToCatchUp() > 0) {
                trainer->catchUp();
                publish();
                continue;
            }
            lookAtMemory();
            const Trainer::StepResult& result = trainer->step();
            telemetry.push(result.record, result.snapshot, result.shadow, result.events);
            if (result.evaluation)
                telemetry.push(result.evaluation);
            if (result.headSwapped)
                publishInfo();
            if (result.stopRequested) {
                say(EventKind::Finished, "stopped: " + result.endReason);
                setState(EngineState::Finished);
            } else if (result.pauseRequested) {
                say(EventKind::Paused, "paused: " + result.endReason);
                setState(EngineState::Paused);
            } else if (stepsLeft > 0 && --stepsLeft == 0) {
                stepsLeft = -1;
                say(EventKind::Paused, "paused after the steps asked for");
                setState(EngineState::Paused);
            } else if (!result.events.empty() || result.headSwapped) {
                publish();
            } else {
                publishNumbers();
            }
        } catch (const std::exception& e) {
            fail(errorText(e));
        }
    }
}

TrainingThread::TrainingThread(RunConfig config, bool startPaused)
    : m_impl(std::make_unique<Impl>(std::move(config), startPaused))
{
}

TrainingThread::~TrainingThread() = default;

std::uint64_t TrainingThread::post(Command command) { return m_impl->commands.post(std::move(command)); }

void TrainingThread::drain(Telemetry& out) { m_impl->telemetry.drain(out); }

RunInfo TrainingThread::info() const
{
    const std::lock_guard lock(m_impl->mutex);
    return m_impl->info;
}

LiveState TrainingThread::live() const
{
    const std::lock_guard lock(m_impl->mutex);
    return m_impl->live;
}

bool TrainingThread::setWake(std::function<void()> wake)
{
    m_impl->telemetry.setWake(std::move(wake));
    return true;
}

} // namespace halfscope
