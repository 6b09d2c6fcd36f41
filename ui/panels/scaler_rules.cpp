// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/scaler_rules.h"

#include <QFormLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/models/setting_labels.h"
#include "ui/panels/setting_editor.h"
#include "ui/session_controller.h"

namespace halfscope {

ScalerRules::ScalerRules(SessionController& controller, QWidget* parent)
    : QWidget(parent), m_controller(controller), m_toggle(new QToolButton), m_body(new QWidget)
{
    m_toggle->setText(tr("Finer rules"));
    m_toggle->setToolTip(
        tr("Where the frameworks differ: when exactly the scale grows, what caps it, how it is rounded"));
    m_toggle->setAccessibleName(m_toggle->text());
    m_toggle->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_toggle->setCheckable(true);
    m_toggle->setAutoRaise(true);
    m_toggle->setProperty("fold", true); // in line with the labels, and not marked while it is open
    connect(m_toggle, &QToolButton::toggled, this, &ScalerRules::setOpen);

    const auto number = [&](const char* key) { return new NumberSetting(controller, QLatin1String(key)); };
    const auto choice = [&](const char* key) { return new ChoiceSetting(controller, QLatin1String(key)); };
    m_dynamic = {choice("growth-after"), choice("growth-cap"), choice("backoff-rule"), choice("scale-arithmetic"),
                 choice("min-trigger"),  number("tolerance"),  number("threshold"),    number("max-overflows")};
    m_form = new QFormLayout(m_body);
    m_form->setContentsMargins(0, 0, 0, 0);
    m_form->setHorizontalSpacing(10);
    m_form->setVerticalSpacing(4);
    m_form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    m_form->setLabelAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    const auto add = [&](SettingEditor* editor) {
        auto* label = new QLabel(settingLabel(editor->key()));
        label->setBuddy(editor->field());
        m_form->addRow(label, editor);
    };
    for (SettingEditor* editor : std::as_const(m_dynamic)) {
        add(editor);
    }
    add(choice("skip-nonfinite"));

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(m_toggle, 0, Qt::AlignLeft);
    column->addWidget(m_body);
    setOpen(false);
    connect(&controller, &SessionController::liveChanged, this, &ScalerRules::updateEnabled);
    connect(&controller, &SessionController::runStarted, this, &ScalerRules::updateEnabled);
    updateEnabled();
}

bool ScalerRules::isOpen() const { return m_toggle->isChecked(); }

void ScalerRules::setOpen(bool open)
{
    m_toggle->setChecked(open);
    m_toggle->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
    m_body->setVisible(open);
}

void ScalerRules::updateEnabled()
{
    const ScalerConfig& config = m_controller.run().live.config.scaler;
    for (SettingEditor* editor : std::as_const(m_dynamic)) {
        editor->setEnabled(config.enabled && config.dynamic);
    }
}

} // namespace halfscope
