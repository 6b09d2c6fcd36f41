// SPDX-License-Identifier: GPL-3.0-or-later
// Storms: every action of the menus, settings, selections, spikes and other runs in any order over the real engine, in
// every state of a run. Nothing may crash, hang, or leave a view with what belongs to another run.
#include <random>

#include <QApplication>
#include <QDialog>
#include <QDir>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <gtest/gtest.h>

#include "engine/train/settings_registry.h"
#include "engine/train/task.h"
#include "engine/train/training_thread.h"
#include "tests/ui/window_fixture.h"
#include "ui/change_history.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/run_export.h"
#include "ui/main_window.h"
#include "ui/panels/window_actions.h"
#include "ui/precision_history.h"
#include "ui/session_controller.h"

namespace halfscope::test {

namespace {

RunConfig tiny(const char* task)
{
    RunConfig config = defaultExperiment();
    EXPECT_EQ(applySetting(config, "task", task), std::nullopt);
    for (const auto& [key, value] : {std::pair{"width", "16"},
                                     {"depth", "1"},
                                     {"heads", "2"},
                                     {"context", "8"},
                                     {"batch", "2"},
                                     {"threads", "1"},
                                     {"validation-interval", "20"},
                                     {"validation-examples", "4"}}) {
        EXPECT_EQ(applySetting(config, key, value), std::nullopt);
    }
    forgetMissingModules(config);
    return config;
}

class Storm {
public:
    Storm(MainWindow& window, unsigned seed) : m_window(window), m_engine(seed) {}

    void act()
    {
        SessionController& controller = m_window.controller();
        switch (m_random() % 12) {
        case 0: { // another run, whose layers are others
            static constexpr std::array kTasks = {"language-model", "brackets", "shapes", "sortedness"};
            RunConfig config = tiny(kTasks[m_random() % kTasks.size()]);
            config.pretrainSteps = config.task == "brackets" ? 15 : 0;
            config.shadowRun = m_random() % 2 == 0;
            config.precisionSchedule = {{5, false, "fp32", {}, {}}, {9, false, "mixed-fp16", {}, {}}};
            m_window.startRun(config);
            break;
        }
        case 1:
        case 2: {
            TapSelection selection;
            for (unsigned i = m_random() % 4; i > 0; --i) {
                selection.modules.push_back(static_cast<int>(m_random() % 25) - 2); // some that are not there
            }
            selection.tap = static_cast<Tap>(m_random() % kTapCount);
            controller.select(selection);
            break;
        }
        case 3:
            change();
            break;
        case 4: {
            const auto& modules = controller.run().info.modules;
            const QString module = modules.empty() ? QStringLiteral("none")
                                                   : QString::fromStdString(modules[m_random() % modules.size()].name);
            controller.injectSpike(module, m_random() % 2 == 0 ? 1e9 : 0.0, m_random() % 2 == 0);
            break;
        }
        case 5:
            controller.setScale(std::ldexp(1.0, static_cast<int>(m_random() % 60) - 20));
            break;
        case 6:
            m_random() % 2 == 0 ? m_window.history().undo() : m_window.history().redo();
            break;
        default:
            trigger();
        }
    }

    void closeDialogs()
    {
        for (QWidget* widget : QApplication::topLevelWidgets()) {
            if (auto* dialog = qobject_cast<QDialog*>(widget); dialog != nullptr && dialog->isVisible()) {
                dialog->reject();
            }
        }
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }

private:
    void trigger()
    {
        const auto& groups = m_window.actions().groups();
        const auto& group = groups[static_cast<qsizetype>(m_random() % static_cast<unsigned>(groups.size()))];
        if (group.actions.isEmpty()) {
            return;
        }
        QAction* action =
            group.actions[static_cast<qsizetype>(m_random() % static_cast<unsigned>(group.actions.size()))];
        if (action != m_window.actions().quit && action != m_window.actions().fullScreen) {
            action->trigger();
        }
    }

    void change()
    {
        static constexpr std::array kChanges = {std::pair{"precision", "pure-fp16"},
                                                std::pair{"precision", "fp8"},
                                                std::pair{"precision", "mixed-bf16"},
                                                std::pair{"scale-per-module", "on"},
                                                std::pair{"scale-per-module", "off"},
                                                std::pair{"shadow-interval", "1"},
                                                std::pair{"shadow-interval", "0"},
                                                std::pair{"measure-updates", "on"},
                                                std::pair{"statistics-interval", "3"},
                                                std::pair{"master-weights", "off"},
                                                std::pair{"scaler", "fairseq"},
                                                std::pair{"scaler", "deepspeed"},
                                                std::pair{"at-min", "stop"},
                                                std::pair{"at-min", "pause"},
                                                std::pair{"min-scale", "2^20"},
                                                std::pair{"precision-schedule", "20:fp32;30:fp8;40:mixed-fp16"},
                                                std::pair{"precision.h0.mlp.fc", "bf16"},
                                                std::pair{"precision.lm_head", "fp32"},
                                                std::pair{"precision.head", "fp16"},
                                                std::pair{"nothing", "1"},
                                                std::pair{"learning-rate", "1e30"},
                                                std::pair{"scaler-rule", "log-normal"}};
        const auto& [key, value] = kChanges[m_random() % kChanges.size()];
        m_window.controller().setSetting(QString::fromLatin1(key), QString::fromLatin1(value));
    }

    unsigned m_random() { return static_cast<unsigned>(m_engine() >> 4U); }

    MainWindow& m_window;
    std::minstd_rand m_engine;
};

} // namespace

TEST(WindowStorm, NothingBreaksAndTheViewsAreOfTheRunThereIs)
{
    QTemporaryDir folder;
    const auto settings = Settings::inFile(folder.filePath(QStringLiteral("settings.ini")));
    settings->setLastFolder(folder.path());
    for (unsigned seed = 1; seed <= 2; ++seed) {
        auto window = std::make_unique<MainWindow>(
            [](const RunConfig& wanted) { return std::make_unique<TrainingThread>(wanted); }, tiny("language-model"),
            *settings);
        window->show();
        Storm storm(*window, seed + static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed()));
        for (int action = 0; action < 120; ++action) {
            storm.act();
            if (action % 3 == 0) {
                QTest::qWait(5);
            }
            if (action % 10 == 9) {
                window->refreshNow();
                storm.closeDialogs();
            }
            const RunModel& run = window->controller().run();
            for (const int module : run.selection.modules) {
                ASSERT_LT(module, static_cast<int>(run.info.modules.size()));
            }
            ASSERT_EQ(run.history.moduleCount(), static_cast<int>(run.info.modules.size()));
            for (std::size_t i = 0; i < run.steps.size(); i += 7) {
                ASSERT_EQ(run.steps[i].step, static_cast<std::int64_t>(i) + 1);
            }
        }
        // The ribbon tells the formats that are in force.
        window->controller().pause();
        ASSERT_TRUE(QTest::qWaitFor([&] { return window->controller().state() != EngineState::Running; }, 60'000));
        window->controller().poll();
        if (seed % 2 == 0) {
            storm.closeDialogs();
        } // else the window goes with its dialogs open
        window->close();
        window.reset();
    }
}

// Every action does something sensible, or nothing, whatever became of the run.
class EveryState : public WindowTest {};

TEST_F(EveryState, EveryActionMayBeTriggered)
{
    for (const char* state : {"running", "paused", "failed", "finished"}) {
        open();
        if (std::string(state) == "paused") {
            poll(10);
            window->controller().pause();
        } else if (std::string(state) == "failed") {
            poll(10);
            engine->fail("the memory is gone");
        } else if (std::string(state) == "finished") {
            poll(10);
            engine->finish();
        }
        poll();
        Storm storm(*window, 1);
        for (const WindowActions::Group& group : window->actions().groups()) {
            for (QAction* action : group.actions) {
                if (action == window->actions().quit || action == window->actions().fullScreen) {
                    continue;
                }
                action->trigger();
                poll();
                storm.closeDialogs();
            }
        }
        window->refreshNow();
        EXPECT_EQ(QApplication::activeModalWidget(), nullptr) << state;
        window.reset();
    }
}

// A window that is closed while it exports leaves all files or none.
TEST(WindowStorm, ClosingDuringAnExport)
{
    QTemporaryDir folder;
    const auto settings = Settings::inFile(folder.filePath(QStringLiteral("settings.ini")));
    for (const int wait : {0, 2, 10, 60}) {
        MainWindow window([](const RunConfig& wanted) { return std::make_unique<TrainingThread>(wanted); },
                          tiny("language-model"), *settings);
        window.show();
        ASSERT_TRUE(QTest::qWaitFor([&] { return window.controller().run().steps.size() >= 300; }, 60'000));
        window.actions().exportRun->trigger();
        auto* dialog = window.findChild<ExportDialog*>();
        ASSERT_NE(dialog, nullptr);
        const QString target = folder.filePath(QStringLiteral("export-%1").arg(wait));
        dialog->findChild<QLineEdit*>(QStringLiteral("folder"))->setText(target);
        dialog->findChild<QPushButton*>(QStringLiteral("export"))->click();
        QTest::qWait(wait);
        window.close();
        const QStringList files = QDir(target).entryList(QDir::Files);
        EXPECT_TRUE(files.isEmpty() || files.size() == exportedFileNames().size())
            << wait << ": " << files.join(QLatin1Char(' ')).toStdString();
    }
}

} // namespace halfscope::test
