// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/finding_card.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/models/finding_text.h"
#include "ui/panels/flow_layout.h"
#include "ui/panels/icons.h"
#include "ui/theme.h"

namespace halfscope {

namespace {

constexpr int kMarkSize = 16;

QColor severityColor(Severity severity)
{
    const Theme& theme = currentTheme();
    switch (severity) {
    case Severity::Error:
        return theme.error;
    case Severity::Warning:
        return theme.warning;
    case Severity::Advice:
        return theme.accent;
    case Severity::Note:
        break;
    }
    return theme.textDim;
}

// Text that wraps, and can be selected.
QLabel* textLabel()
{
    auto* label = new QLabel;
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

void setText(QLabel* label, const QString& text)
{
    if (label->text() != text) {
        label->setText(text);
    }
}

} // namespace

SeverityMark::SeverityMark(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setSeverity(m_severity);
}

void SeverityMark::setSeverity(Severity severity)
{
    m_severity = severity;
    setToolTip(severityLabel(severity));
    setAccessibleName(severityLabel(severity));
    update();
}

QSize SeverityMark::sizeHint() const { return {kMarkSize, kMarkSize}; }

// Error: an octagon with a cross; warning: a triangle, advice: a disc, each with a mark of exclamation; note: a ring
// with an i.
void SeverityMark::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor color = severityColor(m_severity);
    const QColor inside = currentTheme().panel;
    QPainterPath shape;
    switch (m_severity) {
    case Severity::Error:
        shape.addPolygon(QPolygonF({{5, 1}, {11, 1}, {15, 5}, {15, 11}, {11, 15}, {5, 15}, {1, 11}, {1, 5}}));
        break;
    case Severity::Warning:
        shape.addPolygon(QPolygonF({{8, 1}, {15.5, 14.5}, {0.5, 14.5}}));
        break;
    case Severity::Advice:
    case Severity::Note:
        shape.addEllipse(QRectF(1, 1, 14, 14));
        break;
    }
    shape.closeSubpath();
    if (m_severity == Severity::Note) {
        painter.strokePath(shape, QPen(color, 1.4));
    } else {
        painter.fillPath(shape, color);
    }
    painter.setPen(QPen(m_severity == Severity::Note ? color : inside, 1.8, Qt::SolidLine, Qt::RoundCap));
    switch (m_severity) {
    case Severity::Error:
        painter.drawLine(QPointF(5.3, 5.3), QPointF(10.7, 10.7));
        painter.drawLine(QPointF(10.7, 5.3), QPointF(5.3, 10.7));
        break;
    case Severity::Warning:
        painter.drawLine(QPointF(8, 6), QPointF(8, 9.6));
        painter.drawPoint(QPointF(8, 12.3));
        break;
    case Severity::Advice:
        painter.drawLine(QPointF(8, 4.4), QPointF(8, 8.6));
        painter.drawPoint(QPointF(8, 11.6));
        break;
    case Severity::Note:
        painter.drawPoint(QPointF(8, 4.8));
        painter.drawLine(QPointF(8, 7.8), QPointF(8, 11.4));
        break;
    }
}

FindingCard::FindingCard(QWidget* parent)
    : QFrame(parent),
      m_mark(new SeverityMark),
      m_title(new QLabel),
      m_steps(new QLabel),
      m_text(textLabel()),
      m_close(new QToolButton),
      m_buttons(new FlowLayout)
{
    QFont bold = m_title->font();
    bold.setBold(true);
    m_title->setFont(bold);
    m_title->setWordWrap(true);
    m_steps->setProperty("dim", true);
    m_close->setAutoRaise(true);
    m_close->setIcon(glyphIcon(Glyph::Close));
    m_close->setIconSize(QSize(12, 12));
    m_close->setToolTip(tr("Dismiss until it comes again"));
    m_close->setFocusPolicy(Qt::TabFocus);
    connect(m_close, &QToolButton::clicked, this, &FindingCard::dismissed);
    m_buttons->setContentsMargins(0, 0, 0, 0);
    m_buttons->setSpacing(6);

    auto* head = new QHBoxLayout;
    head->setSpacing(8);
    head->addWidget(m_mark, 0, Qt::AlignVCenter);
    head->addWidget(m_title, 1);
    head->addWidget(m_steps, 0, Qt::AlignVCenter);
    head->addWidget(m_close, 0, Qt::AlignVCenter);
    auto* body = new QVBoxLayout;
    body->setContentsMargins(kMarkSize + 8, 0, 8, 0); // under the title
    body->setSpacing(7);
    body->addWidget(m_text);
    body->addLayout(m_buttons);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 5, 4, 9);
    column->setSpacing(2);
    column->addLayout(head);
    column->addLayout(body);
}

void FindingCard::setFinding(const Finding& finding, const std::vector<ModuleInfo>& modules)
{
    const bool sameButtons =
        m_buttons->count() > 0 && finding.remedies.size() == m_finding.remedies.size() &&
        std::equal(finding.remedies.begin(), finding.remedies.end(), m_finding.remedies.begin(), sameRemedy);
    if (finding.severity != m_finding.severity) {
        update(); // all of it, not just what the texts cover
    }
    m_finding = finding;
    m_mark->setSeverity(finding.severity);
    setText(m_title, findingTitle(finding));
    setText(m_steps, findingSteps(finding));
    setText(m_text, findingSentences(finding, modules));
    setAccessibleName(tr("%1: %2").arg(severityLabel(finding.severity), m_title->text()));
    setAccessibleDescription(m_text->text());
    m_close->setAccessibleName(tr("Dismiss: %1").arg(m_title->text()));
    if (!sameButtons) {
        makeButtons(modules);
    }
}

void FindingCard::makeButtons(const std::vector<ModuleInfo>& modules)
{
    while (QLayoutItem* item = m_buttons->takeAt(0)) {
        item->widget()->deleteLater(); // it may be its own click that changes them
        item->widget()->setVisible(false);
        delete item;
    }
    const auto add = [this](const QString& text, const QString& hint) {
        auto* button = new QPushButton(text);
        button->setAutoDefault(false);
        button->setFocusPolicy(Qt::TabFocus); // a click leaves the keyboard where it is; the button may go with it
        button->setToolTip(hint);
        button->setAccessibleName(text);
        button->setAccessibleDescription(hint);
        m_buttons->addWidget(button);
        return button;
    };
    for (std::size_t i = 0; i < m_finding.remedies.size(); ++i) {
        QPushButton* button = add(remedyLabel(m_finding.remedies[i], modules), remedyHint(m_finding.remedies[i]));
        connect(button, &QPushButton::clicked, this, [this, i] {
            const Remedy chosen = m_finding.remedies[i]; // the finding may be gone before the last command
            emit remedyChosen(chosen);
        });
    }
    QPushButton* show =
        add(tr("Show me"), tr("Holds the step it was last seen at, and selects the layers and values it is about"));
    connect(show, &QPushButton::clicked, this, &FindingCard::showRequested);
}

void FindingCard::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor color = severityColor(m_finding.severity);
    const QRectF box = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    QColor tint = color;
    tint.setAlphaF(m_finding.severity == Severity::Note ? 0.04F : 0.08F);
    painter.setPen(QPen(currentTheme().panelBorder));
    painter.setBrush(tint);
    painter.drawRoundedRect(box, 5, 5);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawRoundedRect(QRectF(4, 7, 3, height() - 14), 1.5, 1.5);
}

} // namespace halfscope
