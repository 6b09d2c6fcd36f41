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

#include "engine/amp/advisor.h"
#include "ui/run_model.h"

namespace halfscope {

// Who asked for a change of the run.
enum class Origin {
    User,
    Window,  // by itself, as when it measures what is to be shown
    History, // undo and redo
};

// What became of a SetSetting or SetScale.
struct AnsweredCommand {
    Event event;    // Command or Rejected
    int change = 0; // commands of one number belong together
    Origin origin = Origin::User;
};

class SessionController : public QObject {
    Q_OBJECT
public:
    // Commands sent while one of these lives are one change, which is undone as one.
    class ChangeGroup {
    public:
        explicit ChangeGroup(SessionController& controller);
        ~ChangeGroup();
        ChangeGroup(const ChangeGroup&) = delete;
        ChangeGroup& operator=(const ChangeGroup&) = delete;

    private:
        SessionController& m_controller;
        bool m_outermost;
    };

    explicit SessionController(std::unique_ptr<Engine> engine, QObject* parent = nullptr);
    ~SessionController() override;

    const RunModel& run() const { return m_run; }
    const Advisor& advisor() const { return m_advisor; }
    EngineState state() const { return m_run.live.state; }
    bool isPending(const QString& settingKey) const; // a command for this key has not been answered yet

    void select(const TapSelection& selection);

    // Commands; return at once.
    void pause();
    void resume();
    void togglePause();
    void runSteps(qint64 count);
    void restart(bool newSeed);
    void continueRun(); // a failed one, on the CPU
    // `since`: SetSetting::since.
    void setSetting(const QString& key, const QString& value, Origin origin = Origin::User, qint64 since = -1);
    // Pending key "scale". `continues`: the drag whose last scale was sent before goes on.
    void setScale(double scale, bool continues = false, Origin origin = Origin::User);
    bool hasUnansweredChanges() const { return !m_changes.empty(); }
    void apply(const Remedy& remedy); // all its commands, as one change
    void injectSpike(const QString& module, double factor, bool weightGrad);
    void injectBadBatch();
    void injectLearningRateJump(double factor);
    void swapHead(); // pretraining ends
    // Questions; evaluated() brings the answers, commandRejected() the refusals, with the keys "validation",
    // "predictions" and "sample". A newer question takes the place of one of its kind that waits.
    std::uint64_t requestValidation();
    std::uint64_t requestPredictions(qint64 first, int count); // of the held-out examples, from 0
    std::uint64_t requestSample(const RequestSample& request);

    // Drains the engine now; the timer does it about 30 times a second, while nothing happens less often or, with an
    // engine that wakes its reader, not at all.
    void poll();
    // Replaces the engine, as when another text is opened. The old one is shut down.
    void replaceEngine(std::unique_ptr<Engine> engine);

signals:
    void runStarted();                          // a new run: info() and modules changed, all data forgotten
    void stepsAdded(qint64 first, qint64 last); // indices into run().steps
    void snapshotAdded();
    void eventsAdded(qint64 first, qint64 last);     // indices into run().events
    void evaluated(const EvaluationPtr& evaluation); // answers, and validations whose time had come
    void backendChanged();                           // the run goes on elsewhere
    void liveChanged();                              // live state, plan or knobs
    void selectionChanged();
    void scaleRequested(); // by whatever means
    void pendingChanged(const QString& settingKey);
    void commandRejected(const QString& settingKey, const QString& why);
    void changeAnswered(const AnsweredCommand& answer); // in the order in which they were applied

private:
    struct PendingCommand;
    struct SentChange {
        std::uint64_t id = 0;
        int change = 0;
        Origin origin = Origin::User;
    };
    std::uint64_t send(const QString& key, Command command);
    void sendChange(const QString& key, Command command, bool continues, Origin origin);
    std::optional<AnsweredCommand> answerChange(const Event& event);
    void settle(std::uint64_t commandId, std::vector<QString>& settled);
    void settleUpTo(std::uint64_t commandId, std::vector<QString>& settled);
    void beginRun(std::vector<QString>& settled);
    void listen(); // to an engine that says when there is something
    void updateRate();
    void adaptRate(bool busy, double frameMs);

    std::vector<std::future<void>> m_retired; // engines that are ending; the destructor waits for them
    std::unique_ptr<Engine> m_engine;
    RunModel m_run;
    Advisor m_advisor;
    Telemetry m_telemetry; // kept between polls for its memory
    QTimer m_timer;
    QElapsedTimer m_sinceRateMark;
    std::size_t m_stepsAtRateMark = 0;
    int m_idlePolls = 0;
    bool m_wakes = false;   // the engine says when there is something
    double m_frameMs = 0.0; // smoothed time of one poll, the views' direct work included
    std::vector<PendingCommand> m_pending;
    std::vector<SentChange> m_changes; // SetSetting and SetScale that have no answer yet
    int m_change = 0;                  // the number of the last one
    bool m_grouped = false;
};

} // namespace halfscope
