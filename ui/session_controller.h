// SPDX-License-Identifier: GPL-3.0-or-later
// The one bridge between the engine's thread and the window: a timer drains the engine into the RunModel and says what
// changed; commands go the other way, each tracked until the engine answers.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <future>
#include <memory>
#include <vector>

#include "ui/run_model.h"

namespace halfscope {

class SessionController : public QObject {
    Q_OBJECT
public:
    explicit SessionController(std::unique_ptr<Engine> engine, QObject* parent = nullptr);
    ~SessionController() override;

    const RunModel& run() const { return m_run; }
    EngineState state() const { return m_run.live.state; }
    bool isPending(const QString& settingKey) const; // a command for this key has not been answered yet

    void select(const TapSelection& selection);

    // Commands; return at once.
    void pause();
    void resume();
    void togglePause();
    void runSteps(qint64 count);
    void restart(bool newSeed);
    void setSetting(const QString& key, const QString& value);
    void setScale(double scale); // pending key "scale"
    void injectSpike(const QString& module, double factor, bool weightGrad);
    void injectBadBatch();
    void injectLearningRateJump(double factor);

    // Drains the engine now; the timer does it about 30 times a second, less often while nothing happens.
    void poll();
    // Replaces the engine, as when another text is opened. The old one is shut down.
    void replaceEngine(std::unique_ptr<Engine> engine);

signals:
    void runStarted();                          // a new run: info() and modules changed, all data forgotten
    void stepsAdded(qint64 first, qint64 last); // indices into run().steps
    void snapshotAdded();
    void eventsAdded(qint64 first, qint64 last); // indices into run().events
    void liveChanged();                          // live state, plan or knobs
    void selectionChanged();
    void scaleRequested(); // by whatever means
    void pendingChanged(const QString& settingKey);
    void commandRejected(const QString& settingKey, const QString& why);

private:
    struct PendingCommand;
    std::uint64_t send(const QString& key, Command command);
    void settle(std::uint64_t commandId, std::vector<QString>& settled);
    void settleUpTo(std::uint64_t commandId, std::vector<QString>& settled);
    void beginRun(std::vector<QString>& settled);
    void updateRate();
    void adaptRate(bool busy, double frameMs);

    std::vector<std::future<void>> m_retired; // engines that are ending; the destructor waits for them
    std::unique_ptr<Engine> m_engine;
    RunModel m_run;
    Telemetry m_telemetry; // kept between polls for its memory
    QTimer m_timer;
    QElapsedTimer m_sinceRateMark;
    std::size_t m_stepsAtRateMark = 0;
    int m_idlePolls = 0;
    double m_frameMs = 0.0; // smoothed time of one poll, the views' direct work included
    std::vector<PendingCommand> m_pending;
};

} // namespace halfscope
