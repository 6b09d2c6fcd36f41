// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/advisor_panel.h"

#include <QAction>
#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/models/finding_text.h"
#include "ui/number_text.h"
#include "ui/panels/finding_card.h"
#include "ui/panels/flow_layout.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

constexpr int kRefreshMs = 400; // sentences that change faster cannot be read
constexpr std::size_t kEarlierShown = 20;

} // namespace

AdvisorPanel::AdvisorPanel(SessionController& controller, const QList<QAction*>& steps, QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_scroll(new QScrollArea),
      m_list(new QVBoxLayout),
      m_empty(new QLabel(tr("Nothing stands out. What is wrong with the run, or only looks wrong, will be listed here "
                            "with its cause and what can be done about it."))),
      m_earlierToggle(new QToolButton),
      m_earlier(new QLabel)
{
    setAttribute(Qt::WA_StyledBackground);
    m_empty->setProperty("dim", true);
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setContentsMargins(12, 12, 12, 12);
    m_earlierToggle->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_earlierToggle->setCheckable(true);
    m_earlierToggle->setAutoRaise(true);
    m_earlierToggle->setProperty("fold", true);
    m_earlierToggle->setArrowType(Qt::RightArrow);
    m_earlierToggle->setToolTip(tr("What was found before and is over"));
    m_earlier->setProperty("dim", true);
    m_earlier->setWordWrap(true);
    m_earlier->setTextFormat(Qt::PlainText);
    m_earlier->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_earlier->setVisible(false);
    connect(m_earlierToggle, &QToolButton::toggled, this, [this](bool open) {
        m_earlierToggle->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
        m_earlier->setVisible(open);
    });

    auto* inside = new QWidget;
    auto* column = new QVBoxLayout(inside);
    column->setContentsMargins(12, 2, 8, 8);
    column->setSpacing(8);
    m_list->setSpacing(8);
    column->addLayout(m_list);
    column->addWidget(m_empty);
    column->addWidget(m_earlierToggle, 0, Qt::AlignLeft);
    column->addWidget(m_earlier);
    auto* stepButtons = new FlowLayout;
    stepButtons->setContentsMargins(0, 0, 0, 0);
    stepButtons->setSpacing(6);
    for (QAction* step : steps) {
        auto* button = new QPushButton(step->iconText());
        button->setAutoDefault(false);
        button->setFocusPolicy(Qt::TabFocus);
        button->setToolTip(step->statusTip());
        button->setAccessibleName(step->iconText());
        button->setAccessibleDescription(step->statusTip());
        button->setCheckable(step->isCheckable());
        connect(button, &QPushButton::clicked, step, &QAction::trigger);
        const auto follow = [button, step] {
            button->setEnabled(step->isEnabled());
            button->setChecked(step->isChecked());
        };
        connect(step, &QAction::changed, button, follow);
        follow();
        stepButtons->addWidget(button);
    }
    auto* stepsTitle = new QLabel(tr("Steps of debugging, one at a time:"));
    stepsTitle->setProperty("dim", true);
    // At the bottom where there is room; in a small window the findings come first.
    column->addStretch(1);
    column->addWidget(stepsTitle);
    column->addLayout(stepButtons);
    m_scroll->setWidget(inside);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setFocusPolicy(Qt::NoFocus); // its buttons take the keyboard
    m_scroll->setAccessibleName(tr("Findings"));

    auto* all = new QVBoxLayout(this);
    all->setContentsMargins(0, 0, 0, 0);
    all->addWidget(m_scroll);

    m_refresh.setSingleShot(true);
    m_refresh.setInterval(kRefreshMs);
    connect(&m_refresh, &QTimer::timeout, this, &AdvisorPanel::refreshNow);
    connect(&controller, &SessionController::stepsAdded, this, &AdvisorPanel::refreshSoon);
    connect(&controller, &SessionController::runStarted, this, &AdvisorPanel::restart);
    refreshNow();
}

void AdvisorPanel::refreshSoon()
{
    if (m_shown != m_controller.advisor().version() && !m_refresh.isActive()) {
        m_refresh.start();
    }
}

void AdvisorPanel::restart()
{
    m_dismissed.clear();
    refreshNow();
}

FindingCard* AdvisorPanel::makeCard()
{
    auto* card = new FindingCard;
    connect(card, &FindingCard::remedyChosen, this, [this](const Remedy& remedy) { m_controller.apply(remedy); });
    connect(card, &FindingCard::showRequested, this, [this, card] { emit showRequested(card->finding()); });
    connect(card, &FindingCard::dismissed, this, [this, card] {
        m_dismissed.insert({card->finding().id, card->finding().firstStep});
        refreshNow();
    });
    return card;
}

// Cards stay with their findings, so that nothing moves under the pointer but for what has come or gone.
void AdvisorPanel::refreshNow()
{
    m_refresh.stop();
    const Advisor& advisor = m_controller.advisor();
    m_shown = advisor.version();
    QList<FindingCard*> old = m_cards;
    m_cards.clear();
    bool changed = false;
    for (const Finding& finding : advisor.findings()) {
        if (m_dismissed.contains({finding.id, finding.firstStep})) {
            continue;
        }
        const auto same = std::find_if(old.begin(), old.end(),
                                       [&](const FindingCard* card) { return card->finding().id == finding.id; });
        FindingCard* card = same != old.end() ? *same : makeCard();
        if (same != old.end()) {
            old.erase(same);
        } else {
            changed = true;
        }
        card->setFinding(finding, m_controller.run().info.modules);
        const int place = static_cast<int>(m_cards.size());
        if (m_list->indexOf(card) != place) {
            m_list->removeWidget(card);
            m_list->insertWidget(place, card);
        }
        m_cards << card;
    }
    for (FindingCard* gone : std::as_const(old)) {
        changed = true;
        m_list->removeWidget(gone);
        gone->setVisible(false);
        gone->deleteLater(); // it may be its own button that asks
    }
    m_empty->setVisible(m_cards.isEmpty());
    fillEarlier();
    if (changed) {
        emit countChanged();
    }
}

void AdvisorPanel::fillEarlier()
{
    const std::deque<Finding>& ended = m_controller.advisor().ended();
    const bool any = !ended.empty();
    m_earlierToggle->setVisible(any);
    m_earlier->setVisible(any && m_earlierToggle->isChecked());
    const QString title = tr("Earlier (%1)").arg(stepText(static_cast<qint64>(ended.size())));
    if (m_earlierToggle->text() != title) {
        m_earlierToggle->setText(title);
        m_earlierToggle->setAccessibleName(title);
    }
    QStringList lines;
    for (auto it = ended.rbegin(); it != ended.rend() && lines.size() < static_cast<qsizetype>(kEarlierShown); ++it) {
        lines << tr("%1, %2. %3")
                     .arg(findingTitle(*it), findingSteps(*it), findingSentences(*it, m_controller.run().info.modules));
    }
    const QString text = lines.join(QStringLiteral("\n\n"));
    if (m_earlier->text() != text) {
        m_earlier->setText(text);
    }
}

Severity AdvisorPanel::gravest() const
{
    return m_cards.isEmpty() ? Severity::Note : m_cards.first()->finding().severity;
}

FindingCard* AdvisorPanel::current() const
{
    for (FindingCard* card : m_cards) {
        if (card->isAncestorOf(QApplication::focusWidget())) {
            return card;
        }
    }
    return m_cards.isEmpty() ? nullptr : m_cards.first();
}

void AdvisorPanel::applyFirstRemedy()
{
    if (FindingCard* card = current(); card != nullptr && !card->finding().remedies.empty()) {
        const Remedy remedy = card->finding().remedies.front();
        m_controller.apply(remedy);
    }
}

void AdvisorPanel::showCurrent()
{
    if (FindingCard* card = current()) {
        emit showRequested(card->finding());
    }
}

void AdvisorPanel::dismissCurrent()
{
    if (FindingCard* card = current()) {
        emit card->dismissed();
    }
}

} // namespace halfscope
