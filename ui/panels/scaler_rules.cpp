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
    connect(m_toggle, &QToolButton::toggled, this, &ScalerRules::setOpen);

    const auto number = [&](const char* key) { return new NumberSetting(controller, QLatin1String(key)); };
    const auto choice = [&](const char* key, const QList<ChoiceSetting::Option>& options) {
        return new ChoiceSetting(controller, QLatin1String(key), options);
    };
    const QList<ChoiceSetting::Option> whenGrowing = {
        {QStringLiteral("n"), tr("the interval"), tr("After exactly the interval, as PyTorch")},
        {QStringLiteral("n+1"), tr("interval + 1"), tr("One clean step more, as Flax")},
        {QStringLiteral("first-n+1"), tr("first + 1"),
         tr("One clean step more at the start and after an overflow, as DeepSpeed")}};
    const QList<ChoiceSetting::Option> caps = {
        {QStringLiteral("keep"), tr("refuse"), tr("A growth that is not finite is refused, as in PyTorch")},
        {QStringLiteral("clamp"), tr("up to the bound"), tr("The scale becomes the largest allowed, as in Flax")},
        {QStringLiteral("none"), tr("let it go"), tr("The scale becomes infinite, as in Keras; the run then pauses")}};
    const QList<ChoiceSetting::Option> backoffs = {
        {QStringLiteral("factor"), tr("times the factor"), tr("Multiplied by the backoff factor")},
        {QStringLiteral("divide"), tr("divided by growth"), tr("Divided by the growth factor, as in JMP and fairseq")}};
    const QList<ChoiceSetting::Option> arithmetics = {
        {QStringLiteral("fp32"), tr("FP32"), tr("FP32; the product is formed in FP64 and rounded once, as in PyTorch")},
        {QStringLiteral("fp32-factor"), tr("FP32, factor too"), tr("FP32 times FP32, as in Megatron, Keras and JAX")},
        {QStringLiteral("fp64"), tr("FP64"), tr("A Python number, as in DeepSpeed, Apex and fairseq")}};
    const QList<ChoiceSetting::Option> triggers = {
        {QStringLiteral("overflow"), tr("overflow there"), tr("An overflow at the smallest scale")},
        {QStringLiteral("reached"), tr("reaching it"), tr("Backing off to the smallest scale, as in fairseq")}};
    const QList<ChoiceSetting::Option> onOff = {
        {QStringLiteral("on"), tr("skipped"), tr("A step with nonfinite gradients is skipped")},
        {QStringLiteral("off"), tr("applied"),
         tr("A step with nonfinite gradients is applied, as by Apex's static scaler; the weights are lost")}};

    m_dynamic = {choice("growth-after", whenGrowing),
                 choice("growth-cap", caps),
                 choice("backoff-rule", backoffs),
                 choice("scale-arithmetic", arithmetics),
                 choice("min-trigger", triggers),
                 number("tolerance"),
                 number("threshold"),
                 number("max-overflows")};
    auto* form = new QFormLayout(m_body);
    form->setContentsMargins(0, 0, 0, 0);
    form->setHorizontalSpacing(10);
    form->setVerticalSpacing(4);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setLabelAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    const auto add = [&](SettingEditor* editor) {
        auto* label = new QLabel(settingLabel(editor->key()));
        label->setBuddy(editor->field());
        form->addRow(label, editor);
    };
    for (SettingEditor* editor : std::as_const(m_dynamic)) {
        add(editor);
    }
    add(choice("skip-nonfinite", onOff));

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
