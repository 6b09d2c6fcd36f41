// SPDX-License-Identifier: GPL-3.0-or-later
#include <QSignalSpy>
#include <QTest>
#include <gtest/gtest.h>

#include "tests/ui/fake_engine.h"
#include "ui/session_controller.h"

namespace halfscope::test {

namespace {

const auto kInterval = QStringLiteral("growth-interval");

// An engine of which only what drain() hands out is scripted: answers in any order, restarts without acknowledgement.
class SilentEngine : public Engine {
public:
    std::uint64_t post(Command command) override
    {
        posted.push_back(std::move(command));
        return posted.size();
    }
    void drain(Telemetry& out) override
    {
        out = next;
        next = {};
    }
    RunInfo info() const override { return about; }
    LiveState live() const override { return state; }

    void answer(std::uint64_t id, EventKind kind, const std::string& text = {})
    {
        Event event;
        event.kind = kind;
        event.commandId = id;
        event.text = text;
        next.events.push_back(event);
    }

    std::vector<Command> posted;
    Telemetry next;
    RunInfo about;
    LiveState state;
};

struct Scripted {
    SilentEngine* engine = nullptr;
    std::unique_ptr<SessionController> controller;

    Scripted()
    {
        auto made = std::make_unique<SilentEngine>();
        engine = made.get();
        controller = std::make_unique<SessionController>(std::move(made));
    }
};

struct Running {
    FakeEngine* engine = nullptr;
    std::unique_ptr<SessionController> controller;

    Running()
    {
        auto made = std::make_unique<FakeEngine>();
        engine = made.get();
        controller = std::make_unique<SessionController>(std::move(made));
        controller->poll();
    }
};

} // namespace

TEST(Controller, TakesOverStepsEventsAndSnapshotsWithoutLoss)
{
    Running r;
    QSignalSpy steps(r.controller.get(), &SessionController::stepsAdded);
    QSignalSpy snapshots(r.controller.get(), &SessionController::snapshotAdded);
    r.engine->run(7);
    r.controller->poll();
    r.engine->run(5);
    r.controller->poll();
    ASSERT_EQ(steps.count(), 2);
    EXPECT_EQ(steps.at(0).at(0).toLongLong(), 0);
    EXPECT_EQ(steps.at(0).at(1).toLongLong(), 6);
    EXPECT_EQ(steps.at(1).at(0).toLongLong(), 7);
    EXPECT_EQ(steps.at(1).at(1).toLongLong(), 11);
    ASSERT_EQ(r.controller->run().steps.size(), 12U);
    for (std::size_t i = 0; i < 12; ++i) {
        EXPECT_EQ(r.controller->run().steps[i].step, static_cast<std::int64_t>(i) + 1);
    }
    EXPECT_EQ(snapshots.count(), 2);
    EXPECT_EQ(r.controller->run().history.rowCount(), 12U);
    ASSERT_NE(r.controller->run().latest, nullptr);
    EXPECT_EQ(r.controller->run().latest->step, 12);
}

TEST(Controller, SaysNothingWhenNothingHappened)
{
    Running r;
    QSignalSpy live(r.controller.get(), &SessionController::liveChanged);
    QSignalSpy steps(r.controller.get(), &SessionController::stepsAdded);
    QSignalSpy events(r.controller.get(), &SessionController::eventsAdded);
    r.controller->poll();
    EXPECT_EQ(live.count() + steps.count() + events.count(), 0);
}

TEST(Controller, TimerDrainsByItself)
{
    Running r;
    r.engine->stepsPerDrain = 1;
    QSignalSpy steps(r.controller.get(), &SessionController::stepsAdded);
    ASSERT_TRUE(steps.wait(2000));
}

TEST(Controller, SettingIsPendingUntilTheEngineAnswers)
{
    Running r;
    r.engine->holdCommands = true;
    QSignalSpy pending(r.controller.get(), &SessionController::pendingChanged);
    r.controller->setSetting(kInterval, QStringLiteral("50"));
    EXPECT_TRUE(r.controller->isPending(kInterval));
    r.controller->poll();
    EXPECT_TRUE(r.controller->isPending(kInterval));
    EXPECT_EQ(r.controller->run().live.config.scaler.growthInterval, 20);
    r.engine->holdCommands = false;
    r.controller->poll();
    EXPECT_FALSE(r.controller->isPending(kInterval));
    EXPECT_EQ(r.controller->run().live.config.scaler.growthInterval, 50);
    ASSERT_EQ(pending.count(), 2);
    EXPECT_EQ(pending.at(1).at(0).toString(), kInterval);
}

TEST(Controller, DragOfManyScalesIsSettledByTheLastOne)
{
    Running r;
    r.engine->holdCommands = true;
    for (int exponent = 10; exponent < 20; ++exponent) {
        r.controller->setScale(std::exp2(exponent));
    }
    r.engine->holdCommands = false;
    r.controller->poll();
    EXPECT_FALSE(r.controller->isPending(QStringLiteral("scale")));
    EXPECT_EQ(r.controller->run().live.scaler.scale, std::exp2(19));
}

TEST(Controller, AnswerToAnOlderCommandDoesNotSettleANewerOne)
{
    Scripted s;
    s.controller->setSetting(kInterval, QStringLiteral("5"));
    s.controller->setSetting(kInterval, QStringLiteral("6"));
    s.engine->answer(1, EventKind::Command);
    s.controller->poll();
    EXPECT_TRUE(s.controller->isPending(kInterval));
    s.engine->answer(2, EventKind::Command);
    s.controller->poll();
    EXPECT_FALSE(s.controller->isPending(kInterval));
}

TEST(Controller, RejectionNamesTheKeyAndTheReason)
{
    Running r;
    QSignalSpy rejected(r.controller.get(), &SessionController::commandRejected);
    r.controller->setSetting(QStringLiteral("growth-factor"), QStringLiteral("0.5"));
    r.controller->poll();
    ASSERT_EQ(rejected.count(), 1);
    EXPECT_EQ(rejected.at(0).at(0).toString(), QStringLiteral("growth-factor"));
    EXPECT_FALSE(rejected.at(0).at(1).toString().isEmpty());
    EXPECT_FALSE(r.controller->isPending(QStringLiteral("growth-factor")));
}

TEST(Controller, RejectionOfAnUnnamedCommandFindsItsKeyByTheId)
{
    Scripted s;
    QSignalSpy rejected(s.controller.get(), &SessionController::commandRejected);
    s.controller->injectSpike(QStringLiteral("nowhere"), 4.0, true);
    s.engine->answer(1, EventKind::Rejected, "there is no such module");
    s.controller->poll();
    ASSERT_EQ(rejected.count(), 1);
    EXPECT_EQ(rejected.at(0).at(0).toString(), QStringLiteral("inject-spike"));
    EXPECT_EQ(rejected.at(0).at(1).toString(), QStringLiteral("there is no such module"));
}

TEST(Controller, RestartForgetsTheRunBeforeItTellsAnyone)
{
    Running r;
    r.engine->run(30);
    r.controller->poll();
    r.controller->select({{1, 2}, Tap::ActivationGrad});
    std::size_t stepsSeen = 99;
    QObject::connect(r.controller.get(), &SessionController::runStarted, r.controller.get(),
                     [&] { stepsSeen = r.controller->run().steps.size(); });
    r.controller->restart(false);
    r.controller->poll();
    EXPECT_EQ(stepsSeen, 0U);
    EXPECT_EQ(r.controller->run().history.rowCount(), 0U);
    EXPECT_EQ(r.controller->run().latest, nullptr);
    EXPECT_EQ(r.controller->run().info.generation, 2U);
    EXPECT_FALSE(r.controller->isPending(QStringLiteral("restart")));
    // What the reader looks at stays: the modules are the same.
    EXPECT_EQ(r.controller->run().selection.modules, (std::vector<int>{1, 2}));
}

TEST(Controller, NewSeedIsTheNextOne)
{
    Running r;
    r.controller->restart(true);
    r.controller->poll();
    EXPECT_EQ(r.controller->run().info.config.seed, 2U);
}

TEST(Controller, RestartSettlesWhatWasAskedBeforeItAndNothingAfter)
{
    Scripted s;
    s.controller->setSetting(kInterval, QStringLiteral("5")); // 1
    s.controller->restart(false);                             // 2
    s.controller->setScale(4.0);                              // 3
    s.engine->next.restarted = true;
    s.engine->about.generation = 1;
    s.controller->poll();
    EXPECT_FALSE(s.controller->isPending(kInterval));
    EXPECT_FALSE(s.controller->isPending(QStringLiteral("restart")));
    EXPECT_TRUE(s.controller->isPending(QStringLiteral("scale")));
}

TEST(Controller, GenerationThatAppearsLaterIsARunThatBegins)
{
    Scripted s;
    s.controller->poll();
    QSignalSpy started(s.controller.get(), &SessionController::runStarted);
    s.engine->about.generation = 1;
    s.engine->about.modules = listModules(FakeEngine::smallConfig().model);
    s.controller->poll();
    EXPECT_EQ(started.count(), 1);
    EXPECT_EQ(s.controller->run().history.moduleCount(), static_cast<int>(s.engine->about.modules.size()));
}

TEST(Controller, SelectionKeepsOnlyModulesThatExistOnceEach)
{
    Running r;
    QSignalSpy changed(r.controller.get(), &SessionController::selectionChanged);
    r.controller->select({{3, 1, 3, -1, 9999}, Tap::WeightGrad});
    EXPECT_EQ(r.controller->run().selection.modules, (std::vector<int>{1, 3}));
    r.controller->select({{1, 3}, Tap::WeightGrad});
    EXPECT_EQ(changed.count(), 1);
}

TEST(Controller, ReplacedEngineStartsFromNothing)
{
    Running r;
    r.engine->run(10);
    r.controller->poll();
    r.controller->select({{1}, Tap::WeightGrad});
    r.engine->holdCommands = true;
    r.controller->setScale(8.0);
    QSignalSpy started(r.controller.get(), &SessionController::runStarted);
    r.controller->replaceEngine(std::make_unique<FakeEngine>());
    EXPECT_EQ(started.count(), 1);
    EXPECT_TRUE(r.controller->run().steps.empty());
    EXPECT_TRUE(r.controller->run().selection.modules.empty());
    EXPECT_FALSE(r.controller->isPending(QStringLiteral("scale")));
}

TEST(Controller, PauseAndResumeFollowTheState)
{
    Running r;
    r.controller->togglePause();
    r.controller->poll();
    EXPECT_EQ(r.controller->state(), EngineState::Paused);
    r.controller->togglePause();
    r.controller->poll();
    EXPECT_EQ(r.controller->state(), EngineState::Running);
    r.controller->runSteps(3);
    r.controller->poll();
    EXPECT_EQ(r.controller->run().steps.size(), 3U);
    EXPECT_EQ(r.controller->state(), EngineState::Paused);
}

TEST(Controller, FailureIsAStateAndTheDataStay)
{
    Running r;
    r.engine->run(4);
    r.engine->fail("the memory is gone");
    r.controller->poll();
    EXPECT_EQ(r.controller->state(), EngineState::Failed);
    EXPECT_EQ(r.controller->run().live.failure, "failed at step 5: the memory is gone");
    EXPECT_EQ(r.controller->run().steps.size(), 4U);
}

} // namespace halfscope::test
