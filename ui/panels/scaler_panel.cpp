// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/scaler_panel.h"

#include <QEvent>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/models/scaler_text.h"
#include "ui/models/setting_labels.h"
#include "ui/number_text.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/icons.h"
#include "ui/panels/scaler_rules.h"
#include "ui/panels/setting_editor.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

// The slider's range in octaves: what is useful, widened to what is in force and cut to what is allowed.
constexpr int kSliderLow = -8;
constexpr int kSliderHigh = 32;

QLabel* dimLabel()
{
    auto* label = new QLabel;
    label->setProperty("dim", true);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    return label;
}

// The fields of all forms begin at the same place.
void alignLabels(std::initializer_list<QFormLayout*> forms)
{
    QList<QWidget*> labels;
    for (const QFormLayout* form : forms) {
        for (int row = 0; row < form->rowCount(); ++row) {
            labels << form->itemAt(row, QFormLayout::LabelRole)->widget();
        }
    }
    int widest = 0;
    for (const QWidget* label : labels) {
        widest = std::max(widest, label->sizeHint().width());
    }
    for (QWidget* label : labels) {
        label->setMinimumWidth(widest);
    }
}

} // namespace

ScalerPanel::ScalerPanel(SessionController& controller, QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_preset(new ChoiceSetting(controller, QStringLiteral("scaler"))),
      m_difference(new ElidedLabel),
      m_notice(dimLabel()),
      m_exact(new ScaleNowSetting(controller))
{
    const auto number = [&](const char* key) { return new NumberSetting(controller, QLatin1String(key)); };
    m_initial = number("initial-scale");
    m_growthFactor = number("growth-factor");
    m_backoffFactor = number("backoff-factor");
    m_growthInterval = number("growth-interval");
    m_hysteresis = number("hysteresis");
    m_minScale = number("min-scale");
    m_maxScale = number("max-scale");
    m_hysteresisKind = new ChoiceSetting(controller, QStringLiteral("hysteresis-kind"));
    m_atMinimum = new ChoiceSetting(controller, QStringLiteral("at-min"));

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 4, 12, 12);
    column->setSpacing(6);
    m_difference->setProperty("dim", true);
    column->addWidget(m_preset);
    column->addWidget(m_difference);
    column->addWidget(m_notice);
    buildScaleNow(column);

    auto* form = new QFormLayout;
    form->setHorizontalSpacing(10);
    form->setVerticalSpacing(4);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setLabelAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_rule = new ChoiceSetting(controller, QStringLiteral("scaler-rule"));
    addRow(form, settingLabel(m_rule->key()), m_rule);
    for (SettingEditor* editor :
         {static_cast<SettingEditor*>(m_initial), static_cast<SettingEditor*>(m_growthFactor),
          static_cast<SettingEditor*>(m_backoffFactor), static_cast<SettingEditor*>(m_growthInterval)}) {
        addRow(form, settingLabel(editor->key()), editor);
    }
    addPair(form, tr("Hysteresis"), m_hysteresis, m_hysteresisKind, QString());
    addPair(form, tr("Bounds"), m_minScale, m_maxScale, QStringLiteral("…"));
    addRow(form, settingLabel(m_atMinimum->key()), m_atMinimum);
    column->addLayout(form);
    auto* rules = new ScalerRules(controller);
    column->addWidget(rules);
    alignLabels({form, rules->form()});

    m_growthText = dimLabel();
    m_growth = new QProgressBar;
    m_growth->setTextVisible(false);
    m_growth->setFixedHeight(6);
    m_growth->setAccessibleName(tr("Clean steps until the scale grows"));
    m_hysteresisLeft = dimLabel();
    m_skipRate = dimLabel();
    m_advice = dimLabel();
    column->addWidget(m_growthText);
    column->addWidget(m_growth);
    column->addWidget(m_hysteresisLeft);
    column->addWidget(m_skipRate);
    column->addWidget(m_advice);

    m_defaults = new QPushButton(tr("PyTorch defaults"));
    m_defaults->setToolTip(tr("Every knob and the scale now as torch.amp.GradScaler starts: 2¹⁶, 2, 0.5, 2000"));
    m_defaults->setAccessibleName(m_defaults->text());
    connect(m_defaults, &QPushButton::clicked, this, &ScalerPanel::usePyTorchDefaults);
    m_copy = new QPushButton(tr("Copy as"));
    m_copy->setToolTip(tr("Copies these settings as code or configuration for another program"));
    m_copy->setAccessibleName(m_copy->text());
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(6);
    buttons->addWidget(m_defaults, 1);
    buttons->addWidget(m_copy, 1);
    column->addLayout(buttons);
    column->addStretch(1);

    connect(&controller, &SessionController::liveChanged, this, &ScalerPanel::updateAll);
    connect(&controller, &SessionController::runStarted, this, &ScalerPanel::updateAll);
    connect(&controller, &SessionController::stepsAdded, this, &ScalerPanel::updateProgress);
    connect(&controller, &SessionController::pendingChanged, this, [this](const QString& key) {
        if (key == QLatin1String("scale")) {
            updateScale();
        }
    });
    updateAll();
}

void ScalerPanel::buildScaleNow(QVBoxLayout* column)
{
    m_scale = new QLabel;
    m_scale->setObjectName(QStringLiteral("scale-now"));
    m_scale->setTextInteractionFlags(Qt::TextSelectableByMouse);
    QFont large = m_scale->font();
    large.setPointSizeF(large.pointSizeF() * 1.45);
    large.setBold(true);
    m_scale->setFont(large);

    m_slider = new QSlider(Qt::Horizontal);
    m_slider->setObjectName(QStringLiteral("scale-slider"));
    m_slider->setAccessibleName(tr("Loss scale, in powers of two"));
    m_slider->setToolTip(tr("Drag to set the loss scale while the run goes on"));
    m_slider->setSingleStep(1);
    m_slider->setPageStep(4);
    connect(m_slider, &QSlider::valueChanged, this, &ScalerPanel::sliderMoved);
    connect(m_slider, &QSlider::sliderReleased, this, [this] { m_dragging = false; });

    const auto button = [](Glyph glyph, const QString& name, const QString& toolTip) {
        auto* made = new QToolButton;
        made->setIcon(glyphIcon(glyph));
        made->setAccessibleName(name);
        made->setToolTip(toolTip);
        return made;
    };
    m_halve = button(Glyph::Halve, tr("Halve the loss scale"), tr("Halve the loss scale"));
    m_double = button(Glyph::Double, tr("Double the loss scale"), tr("Double the loss scale"));
    connect(m_halve, &QToolButton::clicked, this, &ScalerPanel::halve);
    connect(m_double, &QToolButton::clicked, this, &ScalerPanel::doubleScale);

    auto* heading = new QLabel(tr("Scale now"));
    heading->setProperty("dim", true);
    heading->setBuddy(m_exact->field());
    m_exact->setMaximumWidth(116);
    auto* top = new QHBoxLayout;
    top->setSpacing(4);
    top->addWidget(heading);
    top->addStretch(1);
    top->addWidget(m_halve);
    top->addWidget(m_double);
    top->addWidget(m_exact);
    column->addLayout(top);
    column->addWidget(m_scale);
    m_sliderLow = new QLabel;
    m_sliderHigh = new QLabel;
    for (QLabel* end : {m_sliderLow, m_sliderHigh}) {
        end->setProperty("dim", true);
    }
    auto* range = new QHBoxLayout;
    range->setSpacing(8);
    range->addWidget(m_sliderLow);
    range->addWidget(m_slider, 1);
    range->addWidget(m_sliderHigh);
    column->addLayout(range);
}

void ScalerPanel::addRow(QFormLayout* form, const QString& name, SettingEditor* editor)
{
    auto* label = new QLabel(name);
    label->setBuddy(editor->field());
    form->addRow(label, editor);
}

// Two knobs that belong together, side by side.
void ScalerPanel::addPair(QFormLayout* form, const QString& name, SettingEditor* left, SettingEditor* right,
                          const QString& between)
{
    auto* label = new QLabel(name);
    label->setBuddy(left->field());
    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    row->addWidget(left, 1);
    if (!between.isEmpty()) {
        row->addWidget(new QLabel(between));
    }
    row->addWidget(right, 1);
    form->addRow(label, row);
}

void ScalerPanel::halve() { m_controller.setScale(m_controller.run().live.scaler.scale * 0.5); }
void ScalerPanel::doubleScale() { m_controller.setScale(m_controller.run().live.scaler.scale * 2.0); }

void ScalerPanel::setCopyMenu(QMenu* menu) { m_copy->setMenu(menu); }

void ScalerPanel::usePyTorchDefaults()
{
    // A preset leaves the scale in force alone, but whoever asks for the defaults means all of them.
    const SessionController::ChangeGroup group(m_controller);
    m_controller.setSetting(QStringLiteral("scaler"), QStringLiteral("pytorch"));
    m_controller.setScale(findScalerPreset("pytorch")->config.initialScale);
}

void ScalerPanel::sliderMoved(int exponent)
{
    const double scale = std::exp2(exponent);
    m_scale->setText(scaleText(scale));
    m_controller.setScale(scale, m_slider->isSliderDown() && std::exchange(m_dragging, true));
}

void ScalerPanel::updateAll()
{
    const ScalerConfig& config = m_controller.run().live.config.scaler;
    const ScalerPreset* preset = findScalerPreset(config.preset);
    const QString changes = presetChanges(config);
    const QString difference = preset != nullptr ? presetDifference(*preset) : QString();
    m_difference->setText(changes.isEmpty() ? difference : changes);
    m_difference->setDetail(changes.isEmpty() || difference.isEmpty() ? m_difference->text()
                                                                      : changes + QLatin1Char('\n') + difference);
    m_difference->setVisible(!m_difference->text().isEmpty());
    m_preset->setNote(changes.isEmpty() ? QString() : tr("changed"));
    updateEnabled();
    updateScale();
    updateProgress();
}

void ScalerPanel::updateEnabled()
{
    const LiveState& live = m_controller.run().live;
    const ScalerConfig& config = live.config.scaler;
    const bool on = config.enabled;
    const bool moves = on && config.dynamic;
    for (QWidget* widget : std::initializer_list<QWidget*>{m_scale, m_slider, m_exact, m_halve, m_double, m_initial,
                                                           m_minScale, m_maxScale}) {
        widget->setEnabled(on);
    }
    for (QWidget* widget :
         std::initializer_list<QWidget*>{m_rule, m_backoffFactor, m_hysteresis, m_hysteresisKind, m_atMinimum}) {
        widget->setEnabled(moves);
    }
    const bool grows = moves && config.rule == ScalerRule::Dynamic;
    for (QWidget* widget : std::initializer_list<QWidget*>{m_growthFactor, m_growthInterval}) {
        widget->setEnabled(grows);
    }
    for (QWidget* widget : std::initializer_list<QWidget*>{m_growthText, m_growth}) {
        widget->setVisible(grows);
    }
    m_hysteresisLeft->setVisible(moves && config.hysteresisKind != HysteresisKind::None);
    const auto all = [&](std::initializer_list<FormatId> formats) {
        return !live.plan.empty() && std::all_of(live.plan.begin(), live.plan.end(), [&](FormatId id) {
            return std::find(formats.begin(), formats.end(), id) != formats.end();
        });
    };
    m_notice->setText(!on ? tr("The scaler is off: the scale is 1.")
                      : all({FormatId::Fp32, FormatId::Tf32})
                          ? tr("All modules compute in FP32, where the scale changes nothing.")
                      : all({FormatId::Fp32, FormatId::Tf32, FormatId::Bf16})
                          ? tr("BF16 has the range of FP32: it needs no loss scale.")
                          : QString());
    m_notice->setVisible(!m_notice->text().isEmpty());
}

void ScalerPanel::updateScale()
{
    const ScalerConfig& config = m_controller.run().live.config.scaler;
    const double scale = m_controller.run().live.scaler.scale;
    const bool pending = m_controller.isPending(QStringLiteral("scale"));
    if (!(scale > 0)) {
        m_scale->setText(QStringLiteral("–"));
        return;
    }
    // While a drag goes on the label and the knob are where the hand is, not where the engine was.
    if (!pending && !m_slider->isSliderDown()) {
        m_scale->setText(scaleText(scale));
        const auto octave = [](double value) { return static_cast<int>(std::lround(std::log2(value))); };
        const QSignalBlocker quiet(m_slider);
        m_slider->setRange(std::min(octave(scale), std::max(kSliderLow, octave(lowestScale(config)))),
                           std::max(octave(scale), std::min(kSliderHigh, octave(highestScale(config)))));
        m_slider->setValue(octave(scale));
        m_sliderLow->setText(powerOfTwo(m_slider->minimum()));
        m_sliderHigh->setText(powerOfTwo(m_slider->maximum()));
    }
    if (m_scale->property("pending").toBool() != pending) {
        m_scale->setProperty("pending", pending); // the style sheet has its colour
        m_scale->style()->unpolish(m_scale);
        m_scale->style()->polish(m_scale);
    }
    m_scale->setToolTip(pending ? tr("A new scale has been asked for; it takes effect with the next step")
                                : tr("In force"));
    m_scale->setAccessibleName(tr("Loss scale now: %1").arg(m_scale->text()));
    m_halve->setEnabled(config.enabled && scale * 0.5 >= lowestScale(config));
    m_double->setEnabled(config.enabled && scale * 2.0 <= highestScale(config));
}

void ScalerPanel::updateProgress()
{
    const RunModel& run = m_controller.run();
    const ScalerConfig& config = run.live.config.scaler;
    const std::int64_t interval = stepsToGrowth(config, run.live.scaler.grown);
    const auto done = std::min<std::int64_t>(run.live.scaler.growthTracker, interval);
    const std::int64_t left = std::max<std::int64_t>(interval - done, 0);
    m_growthText->setText(
        tr("Clean steps until it grows: %1 (%2 of %3)").arg(stepText(left), stepText(done), stepText(interval)));
    // A progress bar paints itself, and what lies behind it, at once: when a run begins, some of that still has rows of
    // the run before. It has to wait for its turn.
    m_growth->setUpdatesEnabled(false);
    // The bar counts in ints; a longer interval is shown in thousandths.
    constexpr std::int64_t kFine = 1'000'000;
    if (interval <= kFine) {
        m_growth->setRange(0, static_cast<int>(std::max<std::int64_t>(interval, 1)));
        m_growth->setValue(static_cast<int>(done));
    } else {
        m_growth->setRange(0, 1000);
        m_growth->setValue(static_cast<int>(1000.0 * static_cast<double>(done) / static_cast<double>(interval)));
    }
    m_growth->setUpdatesEnabled(true);
    m_hysteresisLeft->setText(
        tr("Hysteresis left: %1 of %2").arg(stepText(run.live.scaler.hysteresisLeft), stepText(config.hysteresis)));
    m_skipRate->setText(skipRateText(run));
    m_advice->setText(adviceText(run));
    m_advice->setVisible(!m_advice->text().isEmpty());
}

void ScalerPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        QFont large = font();
        large.setPointSizeF(large.pointSizeF() * 1.45);
        large.setBold(true);
        m_scale->setFont(large);
    }
}

} // namespace halfscope
