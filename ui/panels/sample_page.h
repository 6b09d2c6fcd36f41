// SPDX-License-Identifier: GPL-3.0-or-later
// Text that the language model writes on from a prompt.
#pragma once

#include <QWidget>
#include <cstdint>

#include "engine/train/evaluation.h"

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace halfscope {

class NumberEdit;
class SessionController;

class SamplePage : public QWidget {
    Q_OBJECT
public:
    explicit SamplePage(SessionController& controller, QWidget* parent = nullptr);

    void sample(); // asks for text; it appears when the model has written it
    QLineEdit* prompt() const { return m_prompt; }
    QString text() const; // prompt and what was added

private:
    void updateState();
    void take(const EvaluationPtr& evaluation);
    void showWritten();

    SessionController& m_controller;
    QLineEdit* m_prompt;
    QSpinBox* m_length;
    NumberEdit* m_temperature;
    QPushButton* m_go;
    QLabel* m_note;
    QPlainTextEdit* m_text;
    std::uint64_t m_seed = 0; // of the last one; every sample is another
    std::uint64_t m_asked = 0;
    EvaluationPtr m_written; // shown
};

} // namespace halfscope
