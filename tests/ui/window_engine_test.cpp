// SPDX-License-Identifier: GPL-3.0-or-later
// The window over the real engine, small: it trains by itself, and goes away cleanly at any moment.
#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <gtest/gtest.h>

#include "engine/train/training_thread.h"
#include "ui/main_window.h"
#include "ui/panels/banner_stack.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/run_notices.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/session_controller.h"

namespace halfscope::test {

namespace {

RunConfig tinyConfig()
{
    RunConfig config = defaultExperiment();
    config.model.width = 16;
    config.model.depth = 1;
    config.model.heads = 2;
    config.model.context = 8;
    config.model.batch = 2;
    config.threads = 1;
    return config;
}

class EngineWindowTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_TRUE(folder.isValid());
        settings = Settings::inFile(folder.filePath(QStringLiteral("settings.ini")));
    }
    std::unique_ptr<MainWindow> open(const RunConfig& config)
    {
        auto window = std::make_unique<MainWindow>(
            [](const RunConfig& wanted) { return std::make_unique<TrainingThread>(wanted); }, config, *settings);
        window->show();
        return window;
    }
    static std::size_t steps(const MainWindow& window) { return window.controller().run().steps.size(); }

    QTemporaryDir folder;
    std::unique_ptr<Settings> settings;
};

} // namespace

TEST_F(EngineWindowTest, TrainingBeginsByItselfAndEveryViewFills)
{
    const auto window = open(tinyConfig());
    ASSERT_TRUE(QTest::qWaitFor([&] { return steps(*window) >= 60; }, 60'000));
    const RunModel& run = window->controller().run();
    EXPECT_EQ(run.history.row(0).firstStep, 1);
    EXPECT_FALSE(run.events.empty());
    EXPECT_EQ(run.live.plan.size(), run.info.modules.size());
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        ASSERT_EQ(run.steps[i].step, static_cast<std::int64_t>(i) + 1);
    }
}

TEST_F(EngineWindowTest, CommandsOfTheWindowReachTheEngine)
{
    const auto window = open(tinyConfig());
    ASSERT_TRUE(QTest::qWaitFor([&] { return steps(*window) >= 5; }, 60'000));
    SessionController& controller = window->controller();
    controller.setScale(4096.0);
    controller.setSetting(QStringLiteral("precision.h0.mlp.fc"), QStringLiteral("bf16"));
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
            return !controller.isPending(QStringLiteral("scale")) &&
                   !controller.isPending(QStringLiteral("precision.h0.mlp.fc"));
        },
        30'000));
    const int fc = controller.run().moduleId("h0.mlp.fc");
    ASSERT_GE(fc, 0);
    EXPECT_EQ(controller.run().live.plan[static_cast<std::size_t>(fc)], FormatId::Bf16);
    controller.setScale(0.0);
    QSignalSpy rejected(&controller, &SessionController::commandRejected);
    ASSERT_TRUE(rejected.wait(30'000));
    EXPECT_EQ(rejected.at(0).at(0).toString(), QStringLiteral("scale"));
}

// The engine counts activations as they are cast, without the loss scale, and the spectrum judges them so: what the
// bins imply at scale 1 is what was counted. At the scale in force the two would be far apart.
TEST_F(EngineWindowTest, ActivationsAreJudgedUnscaledByEngineAndSpectrum)
{
    RunConfig config = tinyConfig();
    config.precision = "pure-fp16";
    config.measureActivations = true;
    config.scaler.initialScale = 65536.0F;
    const auto window = open(config);
    ASSERT_TRUE(QTest::qWaitFor([&] { return steps(*window) >= 5; }, 60'000));
    SessionController& controller = window->controller();
    TapSelection selection;
    selection.tap = Tap::Activation;
    controller.select(selection);
    controller.poll();
    const RunModel& run = controller.run();
    const auto measured = run.selected(*run.latest, FormatId::Fp16);
    ASSERT_TRUE(measured);
    const ClassEstimate implied =
        estimateClasses(*measured, floatFormat(FormatId::Fp16), window->plots().spectrum()->shownScale());
    const auto count = static_cast<double>(measured->count());
    const auto of = [&](ValueClass c) { return static_cast<double>(measured->classes[c]); };
    EXPECT_EQ(of(ValueClass::Saturating), 0.0);
    EXPECT_EQ(implied.overflow.value, 0.0);
    // Values that round up across an edge: 2^-11 of a bin.
    EXPECT_NEAR(implied.normal.value, of(ValueClass::Normal), 0.002 * count);
    EXPECT_NEAR(implied.subnormal.value, of(ValueClass::Subnormal), 0.002 * count);
    const ClassEstimate scaled = estimateClasses(*measured, floatFormat(FormatId::Fp16), 65536.0);
    EXPECT_GT(scaled.overflow.value, 0.1 * count);
}

TEST_F(EngineWindowTest, RestartBeginsANewRun)
{
    const auto window = open(tinyConfig());
    ASSERT_TRUE(QTest::qWaitFor([&] { return steps(*window) >= 40; }, 60'000));
    SessionController& controller = window->controller();
    controller.pause();
    ASSERT_TRUE(QTest::qWaitFor([&] { return controller.state() == EngineState::Paused; }, 30'000));
    const auto seed = controller.run().info.config.seed;
    controller.restart(true);
    ASSERT_TRUE(QTest::qWaitFor([&] { return controller.run().info.config.seed == seed + 1; }, 30'000));
    EXPECT_TRUE(QTest::qWaitFor([&] { return !controller.isPending(QStringLiteral("restart")); }, 30'000));
    EXPECT_EQ(steps(*window), 0U); // paused it stays
}

TEST_F(EngineWindowTest, GoesAwayAtAnyMoment)
{
    for (const int wait : {0, 1, 20, 150}) {
        auto window = open(tinyConfig());
        QTest::qWait(wait);
        window->close();
        window.reset();
    }
    SUCCEED();
}

TEST_F(EngineWindowTest, TextThatIsGoneIsAFailureInTheWindow)
{
    RunConfig config = tinyConfig();
    config.text = folder.filePath(QStringLiteral("gone.txt")).toStdString();
    const auto window = open(config);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window->controller().state() == EngineState::Failed; }, 30'000));
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return window->banners().text(RunNotices::kFailure).contains(QStringLiteral("gone.txt")); }, 30'000));
    EXPECT_EQ(QApplication::activeModalWidget(), nullptr);
    // Nothing goes on starting, and there is no scale.
    for (const QLabel* label : window->findChildren<QLabel*>()) {
        EXPECT_FALSE(label->isVisible() && label->text().contains(QStringLiteral("starting")))
            << label->text().toStdString();
    }
    EXPECT_EQ(window->findChild<QLineEdit*>(QStringLiteral("scale"))->text(), QString());
}

} // namespace halfscope::test
