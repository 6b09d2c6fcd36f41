// SPDX-License-Identifier: GPL-3.0-or-later
// One finding of the advisor: how grave it is, what it is and why, and buttons for what can be done.
#pragma once

#include <QFrame>

#include "engine/amp/finding.h"

class QLabel;
class QToolButton;

namespace halfscope {

class FlowLayout;

// A shape for each severity, so that colour is not all that tells them apart.
class SeverityMark : public QWidget {
public:
    explicit SeverityMark(QWidget* parent = nullptr);
    void setSeverity(Severity severity);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    Severity m_severity = Severity::Note;
};

class FindingCard : public QFrame {
    Q_OBJECT
public:
    explicit FindingCard(QWidget* parent = nullptr);

    // Only what differs is touched, so that a button under the pointer stays.
    void setFinding(const Finding& finding, const std::vector<ModuleInfo>& modules);
    const Finding& finding() const { return m_finding; }

signals:
    void remedyChosen(const halfscope::Remedy& remedy);
    void showRequested();
    void dismissed();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void makeButtons(const std::vector<ModuleInfo>& modules);

    Finding m_finding;
    SeverityMark* m_mark;
    QLabel* m_title;
    QLabel* m_steps;
    QLabel* m_text;
    QToolButton* m_close;
    FlowLayout* m_buttons;
};

} // namespace halfscope
