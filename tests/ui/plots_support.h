// SPDX-License-Identifier: GPL-3.0-or-later
// A run as the window's controller would have collected it, and pointer events at exact places.
#pragma once

#include <QApplication>
#include <QMouseEvent>
#include <QWheelEvent>
#include <QWidget>
#include <memory>
#include <type_traits>
#include <vector>

#include "tests/ui/fake_engine.h"
#include "ui/run_model.h"

namespace halfscope::test {

inline void collect(RunModel& run, FakeEngine& engine)
{
    Telemetry telemetry;
    engine.drain(telemetry);
    if (telemetry.restarted) {
        run.info = engine.info();
        run.steps.clear();
        run.events.clear();
        run.latest.reset();
        run.history.clear(static_cast<int>(run.info.modules.size()));
    }
    run.live = engine.live();
    run.steps.append(telemetry.steps);
    run.events.insert(run.events.end(), telemetry.events.begin(), telemetry.events.end());
    for (const SnapshotPtr& snapshot : telemetry.snapshots) {
        run.history.append(*snapshot);
        run.latest = snapshot;
    }
}

// Changes what is known of one step, which a run itself never does.
template <typename Change>
void amend(RunModel& run, std::size_t index, Change change)
{
    StepHistory amended;
    std::size_t at = 0;
    for (StepRecord record : run.steps) {
        if (at++ == index)
            change(record);
        amended.push_back(record);
    }
    run.steps = amended;
}

inline void sendMouse(QWidget& widget, QEvent::Type type, const QPointF& at, Qt::MouseButton button,
                      Qt::KeyboardModifiers modifiers = {})
{
    const bool held = type != QEvent::MouseButtonRelease && button != Qt::NoButton;
    QMouseEvent event(type, at, widget.mapToGlobal(at), type == QEvent::MouseMove ? Qt::NoButton : button,
                      held ? Qt::MouseButtons(button) : Qt::MouseButtons(), modifiers);
    QApplication::sendEvent(&widget, &event);
}

inline void hover(QWidget& widget, const QPointF& at) { sendMouse(widget, QEvent::MouseMove, at, Qt::NoButton); }

// Press at one place, move in a few steps, release at another.
inline void drag(QWidget& widget, const QPointF& from, const QPointF& to, Qt::MouseButton button = Qt::LeftButton,
                 Qt::KeyboardModifiers modifiers = {})
{
    sendMouse(widget, QEvent::MouseButtonPress, from, button, modifiers);
    for (int i = 1; i <= 4; ++i)
        sendMouse(widget, QEvent::MouseMove, from + (to - from) * (i / 4.0), button, modifiers);
    sendMouse(widget, QEvent::MouseButtonRelease, to, button, modifiers);
}

inline void wheel(QWidget& widget, const QPointF& at, int delta, Qt::KeyboardModifiers modifiers = {})
{
    QWheelEvent event(at, widget.mapToGlobal(at), QPoint(), QPoint(0, delta), Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&widget, &event);
}

inline void pressKey(QWidget& widget, int key, Qt::KeyboardModifiers modifiers = {})
{
    QKeyEvent press(QEvent::KeyPress, key, modifiers);
    QApplication::sendEvent(&widget, &press);
}

// The first argument of every emission of a signal from now on (0 for a signal without), in order.
template <typename Sender, typename Class>
std::shared_ptr<std::vector<int>> record(Sender& sender, void (Class::*signal)())
{
    auto received = std::make_shared<std::vector<int>>();
    QObject::connect(&sender, signal, &sender, [received] { received->push_back(0); });
    return received;
}
template <typename Sender, typename Class, typename Argument>
auto record(Sender& sender, void (Class::*signal)(Argument))
{
    using Value = std::remove_cv_t<std::remove_reference_t<Argument>>;
    auto received = std::make_shared<std::vector<Value>>();
    QObject::connect(&sender, signal, &sender, [received](const Value& value) { received->push_back(value); });
    return received;
}

// Shows the widget at a size, with its layout done.
inline void showAt(QWidget& widget, int width, int height)
{
    widget.resize(width, height);
    widget.show();
    for (int i = 0; i < 3; ++i)
        QCoreApplication::processEvents();
}

inline void settleEvents()
{
    for (int i = 0; i < 3; ++i)
        QCoreApplication::processEvents();
}

} // namespace halfscope::test
