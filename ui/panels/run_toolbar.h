// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QToolBar>

class QLabel;
class QToolButton;

namespace halfscope {

class ElidedLabel;
class PrecisionSetting;
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
    void setSmall(bool small);
    void update_();
    void updateBackend();

    SessionController& m_controller;
    PrecisionSetting* m_precision;
    QLabel* m_step;
    ElidedLabel* m_rate;
    ElidedLabel* m_backend;
    QList<QToolButton*> m_wordless; // in a small window
    bool m_small = false;
};

} // namespace halfscope
