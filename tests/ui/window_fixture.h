// SPDX-License-Identifier: GPL-3.0-or-later
// The real main window over a scripted engine, with settings of its own.
#pragma once

#include <QApplication>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <gtest/gtest.h>
#include <memory>

#include "tests/ui/fake_engine.h"
#include "ui/main_window.h"
#include "ui/session_controller.h"

namespace halfscope::test {

class WindowTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_TRUE(folder.isValid());
        settings = Settings::inFile(folder.filePath(QStringLiteral("settings.ini")));
        settings->setHintDismissed(true);
    }
    void TearDown() override { window.reset(); }

    void open(RunConfig config = FakeEngine::smallConfig(), QSize size = QSize(1600, 980))
    {
        window = std::make_unique<MainWindow>(
            [this](const RunConfig& wanted) {
                auto made = std::make_unique<FakeEngine>(wanted);
                engine = made.get();
                ++engines;
                return made;
            },
            config, *settings);
        window->resize(size);
        window->show();
        window->activateWindow();
        ASSERT_TRUE(QTest::qWaitForWindowActive(window.get())); // shortcuts and focus need it
        poll();
    }

    // Some steps, then everything the window does about them.
    void poll(std::int64_t steps = 0)
    {
        engine->run(steps);
        window->controller().poll();
        window->controller().poll();
    }

    // The newest posted command of a kind; null when there is none.
    template <typename T>
    const T* lastPosted() const
    {
        for (auto it = engine->posted.rbegin(); it != engine->posted.rend(); ++it) {
            if (const T* found = std::get_if<T>(&*it)) {
                return found;
            }
        }
        return nullptr;
    }

    // The only visible or hidden widget of a type with this accessible name.
    template <typename T>
    T* named(const QString& name) const
    {
        for (T* widget : window->findChildren<T*>()) {
            if (widget->accessibleName() == name) {
                return widget;
            }
        }
        ADD_FAILURE() << "no widget is called " << name.toStdString();
        return nullptr;
    }

    template <typename T>
    T* dialog() const
    {
        for (QWidget* widget : QApplication::topLevelWidgets()) {
            if (T* found = qobject_cast<T*>(widget); found != nullptr && found->isVisible()) {
                return found;
            }
        }
        for (T* found : window->findChildren<T*>()) {
            if (found->isVisible()) {
                return found;
            }
        }
        return nullptr;
    }

    QTemporaryDir folder;
    std::unique_ptr<Settings> settings;
    FakeEngine* engine = nullptr; // the newest one; owned by the window's controller
    int engines = 0;
    std::unique_ptr<MainWindow> window;
};

} // namespace halfscope::test
