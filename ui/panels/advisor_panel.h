// SPDX-License-Identifier: GPL-3.0-or-later
// The advisor: what is wrong with the run, why, and what can be done about it, the gravest first. Under it the classic
// steps of debugging, and what was found earlier.
#pragma once

#include <QSet>
#include <QTimer>
#include <QWidget>
#include <utility>

#include "engine/amp/finding.h"

class QAction;
class QLabel;
class QScrollArea;
class QToolButton;
class QVBoxLayout;

namespace halfscope {

class FindingCard;
class SessionController;

class AdvisorPanel : public QWidget {
    Q_OBJECT
public:
    // `steps`: of debugging, each a button.
    AdvisorPanel(SessionController& controller, const QList<QAction*>& steps, QWidget* parent = nullptr);

    // Of the card the keyboard is in, or else of the first one. Nothing where there is none.
    void applyFirstRemedy();
    void showCurrent();
    void dismissCurrent();

    QList<FindingCard*> cards() const { return m_cards; }
    int count() const { return static_cast<int>(m_cards.size()); }
    Severity gravest() const; // Note when there is nothing
    void refreshNow();

signals:
    void countChanged();
    void showRequested(const halfscope::Finding& finding);

private:
    void refreshSoon();
    void restart();
    FindingCard* current() const;
    FindingCard* makeCard();
    void fillEarlier();

    SessionController& m_controller;
    QScrollArea* m_scroll;
    QVBoxLayout* m_list;
    QLabel* m_empty;
    QToolButton* m_earlierToggle;
    QLabel* m_earlier;
    QList<FindingCard*> m_cards;
    QSet<std::pair<int, qint64>> m_dismissed; // id and first step
    QTimer m_refresh;
    std::uint64_t m_shown = 0; // Advisor::version() on screen
};

} // namespace halfscope
