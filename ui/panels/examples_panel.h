// SPDX-License-Identifier: GPL-3.0-or-later
// What the model does with what it was not trained on: a classifier's confusion matrix and single held-out examples, or
// text that a language model writes.
#pragma once

#include <QWidget>
#include <cstdint>

#include "engine/train/evaluation.h"

class QLabel;
class QPushButton;
class QSpinBox;
class QStackedWidget;

namespace halfscope {

class ConfusionMatrix;
class ElidedLabel;
class ExampleView;
class SamplePage;
class SessionController;

class ExamplesPanel : public QWidget {
    Q_OBJECT
public:
    explicit ExamplesPanel(SessionController& controller, QWidget* parent = nullptr);

    ConfusionMatrix* matrix() const { return m_matrix; }
    ExampleView* example() const { return m_example; }
    SamplePage* samplePage() const { return m_sample; }
    bool classifies() const; // now: not while a classifier is still a language model
    QWidget* firstField() const;

    void validate(); // look at the held-out examples now
    void showExample(qint64 index);
    void nextExample(int by);
    void nextWrong();
    void copyMatrix() const;

protected:
    void showEvent(QShowEvent* event) override;

private:
    QWidget* classifierPage();
    void updateRun();
    void updateState();
    void updateValidation();
    void take(const EvaluationPtr& evaluation);
    void ask();

    SessionController& m_controller;
    QStackedWidget* m_pages;
    SamplePage* m_sample;
    ConfusionMatrix* m_matrix;
    ElidedLabel* m_summary;
    ElidedLabel* m_cell;
    ExampleView* m_example;
    QPushButton* m_validate;
    QSpinBox* m_number; // from 1
    QLabel* m_of;
    QList<QPushButton*> m_moves;
    std::uint64_t m_asked = 0;     // the command whose answer is to be shown
    std::uint64_t m_searching = 0; // the one that looks for a wrong example
    qint64 m_index = 0;
    bool m_shown = false; // the example of now, by the weights of m_shownStep
    qint64 m_shownStep = 0;
};

} // namespace halfscope
