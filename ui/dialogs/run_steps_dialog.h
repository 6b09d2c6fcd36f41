// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>

class QSpinBox;

namespace halfscope {

// How many steps to run before pausing.
class RunStepsDialog : public QDialog {
    Q_OBJECT
public:
    explicit RunStepsDialog(int steps, QWidget* parent = nullptr);

signals:
    void chosen(int steps);

private:
    QSpinBox* m_steps;
};

} // namespace halfscope
