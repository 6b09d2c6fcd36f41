// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/pattern_bar.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScopedValueRollback>
#include <QStyle>
#include <QToolButton>

#include "engine/model/module_pattern.h"
#include "ui/number_text.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

QString translated(std::string_view text)
{
    return QCoreApplication::translate("ModuleGroup", std::string(text).c_str());
}

} // namespace

PatternBar::PatternBar(SessionController& controller, QWidget* parent)
    : QWidget(parent), m_controller(controller), m_field(new QLineEdit), m_count(new QLabel), m_groups(new QMenu(this))
{
    m_field->setObjectName(QStringLiteral("layer-pattern"));
    m_field->setPlaceholderText(tr("Select by pattern: h*.mlp.*"));
    m_field->setClearButtonEnabled(true);
    m_field->setAccessibleName(tr("Select layers by pattern"));
    m_field->setToolTip(
        tr("Names with * and ?, parts of names, or norms, linear, attention, embeddings, head, sensitive; "
           "several with commas between them"));
    m_count->setObjectName(QStringLiteral("layer-count"));
    m_count->setProperty("dim", true);
    for (const ModuleGroup& group : moduleGroups()) {
        const QString key = QString::fromUtf8(group.key.data(), static_cast<qsizetype>(group.key.size()));
        QAction* action = m_groups->addAction(translated(group.name));
        action->setToolTip(translated(group.meaning));
        connect(action, &QAction::triggered, this, [this, key] { select(key); });
    }
    m_groups->setToolTipsVisible(true);
    auto* kinds = new QToolButton;
    kinds->setText(tr("Kinds"));
    kinds->setAccessibleName(tr("Select a kind of layers"));
    kinds->setToolTip(tr("Select all norms, embeddings, sensitive layers, ..."));
    kinds->setMenu(m_groups);
    kinds->setPopupMode(QToolButton::InstantPopup);

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 0, 12, 0);
    row->setSpacing(6);
    row->addWidget(m_field, 1);
    row->addWidget(m_count);
    row->addWidget(kinds);

    connect(m_field, &QLineEdit::textChanged, this, &PatternBar::select);
    connect(m_field, &QLineEdit::returnPressed, this, [this] {
        if (!m_controller.run().selection.modules.empty()) {
            emit finished();
        }
    });
    connect(&controller, &SessionController::selectionChanged, this, &PatternBar::follow);
    connect(&controller, &SessionController::runStarted, this, [this] {
        // The same pattern means other layers in another model.
        if (!m_controller.run().selection.name.empty()) {
            select(QString::fromStdString(m_controller.run().selection.name));
        }
        follow();
    });
    follow();
}

void PatternBar::say(const QString& text, bool problem)
{
    m_count->setText(text);
    m_count->setVisible(!text.isEmpty());
    const QString look = problem ? QStringLiteral("rejection") : QStringLiteral("layer-count");
    if (m_count->objectName() != look) {
        m_count->setObjectName(look); // the style sheet has its colour
        m_count->style()->unpolish(m_count);
        m_count->style()->polish(m_count);
    }
}

void PatternBar::select(const QString& pattern)
{
    if (m_selecting) {
        return;
    }
    {
        const QScopedValueRollback guard(m_selecting, true);
        if (m_field->text() != pattern) {
            m_field->setText(pattern);
        }
        TapSelection selection = m_controller.run().selection;
        selection.modules = matchModules(pattern.toStdString(), m_controller.run().info.modules);
        selection.name = selection.modules.empty() ? std::string() : pattern.trimmed().toStdString();
        m_controller.select(selection);
    }
    follow();
}

void PatternBar::follow()
{
    if (m_selecting) {
        return;
    }
    const RunModel& run = m_controller.run();
    const bool typed = !m_field->text().trimmed().isEmpty();
    if (run.selection.modules.empty()) {
        // Of all layers, unless what stands here matches none.
        const bool none = typed && matchModules(m_field->text().toStdString(), run.info.modules).empty();
        if (!none && typed) {
            const QScopedValueRollback guard(m_selecting, true);
            m_field->clear();
        }
        say(none && !run.info.modules.empty() ? tr("matches none") : QString(), true);
        return;
    }
    const QString name = QString::fromStdString(run.selection.name);
    if (m_field->text().trimmed() != name) {
        const QScopedValueRollback guard(m_selecting, true);
        m_field->setText(name); // selected in another way: then it has no name
    }
    say(tr("%1 of %2")
            .arg(stepText(static_cast<qint64>(run.selection.modules.size())),
                 stepText(static_cast<qint64>(run.info.modules.size()))),
        false);
}

} // namespace halfscope
