// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/event_text.h"

#include <QCoreApplication>

#include "ui/models/setting_choices.h"
#include "ui/models/setting_labels.h"
#include "ui/number_text.h"

namespace halfscope {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("Event", text); }
QString fromEngine(const std::string& text) { return QString::fromStdString(text); }

QString tensorName(const Event& event, const RunModel& run)
{
    const auto module = static_cast<std::size_t>(event.module);
    if (event.module < 0 || module >= run.info.modules.size()) {
        return event.key.empty() ? tr("a tensor") : fromEngine(event.key);
    }
    const QString name = fromEngine(run.info.modules[module].name);
    return event.tap < 0 ? name : tr("%1 %2").arg(name, moduleTapLabel(event.tap));
}

// "2¹⁶", "10"
QString factorText(double factor)
{
    return isPowerOfTwo(factor) && (factor >= 32 || factor < 0.25) ? shortScaleText(factor) : valueText(factor);
}

QString scaleMove(const Event& event)
{
    if (event.scaleNext == event.scale) {
        return tr("scale stays %1").arg(shortScaleText(event.scale));
    }
    return tr("scale %1 → %2").arg(shortScaleText(event.scale), shortScaleText(event.scaleNext));
}

QString overflowText(const Event& event, const RunModel& run)
{
    const QString tensor = tensorName(event, run);
    QString what = tr("%1 overflowed").arg(tensor);
    if (event.count == 1) {
        what = tr("%1: 1 value overflowed").arg(tensor);
    } else if (event.count > 1) {
        what = tr("%1: %2 values overflowed").arg(tensor, countText(event.count));
    }
    const QString skipped = run.isSpiked(event.step) ? tr("Skipped (injected), %1").arg(scaleMove(event))
                                                     : tr("Skipped, %1").arg(scaleMove(event));
    if (event.largest > 0.0F) {
        return tr("%1. %2, largest %3").arg(skipped, what, roundedText(event.largest, 4));
    }
    return tr("%1. %2").arg(skipped, what);
}

QString injectionText(const Event& event, const RunModel& run)
{
    bool ok = false;
    const double factor = fromEngine(event.newValue).toDouble(&ok);
    const QString times = ok ? factorText(factor) : fromEngine(event.newValue);
    if (event.module >= 0) {
        return tr("You: %1 × %2 in step %3").arg(tensorName(event, run), times, stepText(event.step));
    }
    if (event.key == "inject.bad-batch") {
        return tr("You: random targets in step %1").arg(stepText(event.step));
    }
    if (event.key == "inject.learning-rate") {
        return tr("You: learning rate × %1 for one applied step").arg(times);
    }
    return tr("You: %1").arg(fromEngine(event.text));
}

} // namespace

EventGroup eventGroup(const Event& event)
{
    switch (event.kind) {
    case EventKind::Overflow:
    case EventKind::NonfiniteLoss:
    case EventKind::AtMinimum:
    case EventKind::TooManyOverflows:
    case EventKind::UnusableScale:
        return EventGroup::Skips;
    case EventKind::Growth:
    case EventKind::GrowthCapped:
    case EventKind::Steered:
        return EventGroup::Scale;
    case EventKind::Scheduled:
        return EventGroup::Notes;
    case EventKind::Command:
    case EventKind::Rejected:
    case EventKind::Injected:
        return EventGroup::You;
    case EventKind::Start:
    case EventKind::Epoch:
    case EventKind::HeadSwapped:
    case EventKind::ForwardSaturated:
    case EventKind::WeightsLost:
    case EventKind::Paused:
    case EventKind::Finished:
    case EventKind::Failed:
    case EventKind::Continued:
    case EventKind::Note:
        return EventGroup::Notes;
    }
    return EventGroup::Notes;
}

QString eventGroupLabel(EventGroup group)
{
    switch (group) {
    case EventGroup::Skips:
        return tr("Skips");
    case EventGroup::Scale:
        return tr("Scale");
    case EventGroup::You:
        return tr("You");
    case EventGroup::Notes:
        return tr("Notes");
    }
    return {};
}

QString changeText(const Event& command)
{
    const QString key = fromEngine(command.key);
    const QString newValue = fromEngine(command.newValue);
    if (key == QLatin1String("scale")) {
        return tr("loss scale %1 → %2")
            .arg(shortScaleText(fromEngine(command.oldValue).toDouble()), shortScaleText(newValue.toDouble()));
    }
    if (key.isEmpty()) {
        return fromEngine(command.text);
    }
    if (key == QLatin1String("scaler") && command.oldValue == command.newValue) {
        return tr("every knob as in %1").arg(choiceText(key, newValue));
    }
    if (command.oldValue.empty()) {
        return newValue.isEmpty() ? settingLabel(key)
                                  : tr("%1 %2").arg(settingLabel(key), settingValueText(key, command.newValue));
    }
    return tr("%1 %2 → %3")
        .arg(settingLabel(key), settingValueText(key, command.oldValue), settingValueText(key, command.newValue));
}

QString eventText(const Event& event, const RunModel& run)
{
    switch (event.kind) {
    case EventKind::Overflow:
        return overflowText(event, run);
    case EventKind::NonfiniteLoss:
        return event.module >= 0 ? tr("Skipped. The loss is not finite: %1 overflowed in the forward pass")
                                       .arg(tensorName(event, run))
                                 : tr("Skipped. The loss is not finite; no loss scale mends that");
    case EventKind::AtMinimum:
        return tr("Overflow at the smallest scale %1").arg(shortScaleText(event.scale));
    case EventKind::TooManyOverflows:
        return tr("More than %1 steps in a row overflowed").arg(stepText(static_cast<qint64>(event.count)));
    case EventKind::UnusableScale:
        return tr("The scale became %1, by which FP32 cannot divide; it is held at %2")
            .arg(fromEngine(event.newValue), shortScaleText(event.scaleNext));
    case EventKind::Growth:
        return tr("Growth: %1").arg(scaleMove(event));
    case EventKind::Steered:
        return tr("Rule “%1”: %2").arg(fromEngine(event.key), scaleMove(event));
    case EventKind::Scheduled:
        return tr("Schedule: %1 %2 → %3")
            .arg(settingLabel(fromEngine(event.key)), settingValueText(fromEngine(event.key), event.oldValue),
                 settingValueText(fromEngine(event.key), event.newValue));
    case EventKind::GrowthCapped:
        return tr("The scale may not grow beyond %1").arg(shortScaleText(event.scaleNext));
    case EventKind::Command:
        return event.since >= 0 ? tr("You: %1, beneath the schedule").arg(changeText(event))
                                : tr("You: %1").arg(changeText(event));
    case EventKind::Rejected:
        return tr("Refused: %1").arg(fromEngine(event.text));
    case EventKind::Start:
        return tr("Run started");
    case EventKind::Epoch:
        return tr("Epoch %1 done").arg(countText(event.count));
    case EventKind::HeadSwapped:
        return tr("The language model became a classifier: its head was swapped");
    case EventKind::WeightsLost:
        return tr("The weights of %1 are not finite; only a restart brings them back").arg(tensorName(event, run));
    case EventKind::ForwardSaturated:
        return tr("%1 overflowed in the forward pass").arg(tensorName(event, run));
    case EventKind::Paused:
        return tr("Paused");
    case EventKind::Finished:
        return tr("Run ended");
    case EventKind::Injected:
        return injectionText(event, run);
    case EventKind::Continued:
        return event.step - 1 > event.since
                   ? tr("Goes on on the CPU from the state after step %1; the steps since then are computed again")
                         .arg(stepText(event.since))
                   : tr("Goes on on the CPU from the state after step %1").arg(stepText(event.since));
    case EventKind::Failed:
        break;
    case EventKind::Note:
        if (event.key == "backend") {
            return tr("On the CPU: %1").arg(fromEngine(run.info.fallback));
        }
        break;
    }
    return fromEngine(event.text);
}

QString eventDetail(const Event& event, const RunModel& run)
{
    QString text = tr("Step %1: %2").arg(stepText(event.step), eventText(event, run));
    if (event.kind == EventKind::Overflow) {
        if (run.isSpiked(event.step)) {
            text += QLatin1Char('\n') + tr("A gradient spike was injected into this step.");
        }
        text += QLatin1Char('\n') + tr("Tensor: %1").arg(tensorName(event, run));
        text += QLatin1Char('\n') + tr("Values that overflowed or were not finite: %1").arg(countText(event.count));
        text += QLatin1Char('\n') +
                tr("Largest finite magnitude before the cast, scaled: %1").arg(valueText(event.largest));
        text +=
            QLatin1Char('\n') + tr("Scale: %1, next step: %2").arg(scaleText(event.scale), scaleText(event.scaleNext));
    } else if (!event.text.empty() && event.kind != EventKind::Injected) {
        text += QLatin1Char('\n') + fromEngine(event.text);
    }
    return text;
}

} // namespace halfscope
