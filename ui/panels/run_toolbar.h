// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QToolBar>

class QLabel;

namespace halfscope {

class ChoiceSetting;
class ElidedLabel;
class SessionController;
class WindowActions;

// The run at a glance: what it does, how fast, on what; and the actions one needs all the time.
class RunToolbar : public QToolBar {
    Q_OBJECT
public:
    RunToolbar(SessionController& controller, WindowActions& actions, QWidget* parent = nullptr);

protected:
    bool event(QEvent* event) override;

private:
    void setMargins();
    void update_();
    void updateBackend();

    SessionController& m_controller;
    ChoiceSetting* m_precision;
    QLabel* m_step;
    ElidedLabel* m_rate;
    ElidedLabel* m_backend;
};

} // namespace halfscope
