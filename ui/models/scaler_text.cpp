// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/scaler_text.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <string>

#include "engine/train/settings_registry.h"
#include "ui/models/setting_labels.h"
#include "ui/number_text.h"

namespace halfscope {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("Scaler", text); }
QString translated(std::string_view text) { return tr(std::string(text).c_str()); }

} // namespace

QString presetName(const ScalerPreset& preset) { return translated(preset.name); }
QString presetDifference(const ScalerPreset& preset) { return translated(preset.difference); }

QString presetChanges(const ScalerConfig& config)
{
    const ScalerPreset* preset = findScalerPreset(config.preset);
    if (preset == nullptr || preset->config == config) {
        return {};
    }
    RunConfig now;
    RunConfig then;
    now.scaler = config;
    then.scaler = preset->config;
    QStringList changes;
    for (const SettingInfo& info : settings()) {
        const std::string value = info.group == "scaler" ? settingValue(now, info.key) : std::string();
        if (info.group == "scaler" && value != settingValue(then, info.key)) {
            const QString key = QString::fromUtf8(info.key.data(), static_cast<qsizetype>(info.key.size()));
            QString label = settingLabel(key);
            label[0] = label.at(0).toLower();
            changes << tr("%1 %2").arg(label, settingValueText(key, value));
        }
    }
    return tr("Changed: %1").arg(changes.join(QStringLiteral(", ")));
}

QString adviceText(const RunModel& run)
{
    const ScaleAdvice& advice = run.live.advice;
    const ScalerConfig& config = run.live.config.scaler;
    if (!config.enabled || !config.dynamic || advice == ScaleAdvice{}) {
        return {};
    }
    const auto scale = [](double value) { return value > 0 ? shortScaleText(value) : QStringLiteral("–"); };
    return tr("The statistics suggest: log-normal %1, preventive %2, band %3.")
        .arg(scale(advice.logNormal), scale(advice.preventive), scale(advice.stabilityBand));
}

QString skipRateText(const RunModel& run)
{
    if (run.steps.empty()) {
        return tr("No steps yet");
    }
    const ScalerConfig& config = run.live.config.scaler;
    // A scaler that has found its limit grows into it, skips one step, and begins anew.
    const std::int64_t cycle = stepsToGrowth(config, false) + 1;
    // Long enough to hold several probes of the limit, short enough to be about now.
    const auto window = static_cast<std::size_t>(std::clamp<std::int64_t>(4 * cycle, 1000, 100'000));
    const std::size_t count = std::min(window, run.steps.size());
    const std::int64_t before = count < run.steps.size() ? run.steps[run.steps.size() - count - 1].skippedSteps : 0;
    const std::int64_t skipped = run.steps.back().skippedSteps - before;
    const QString share = shareText(static_cast<double>(skipped), static_cast<double>(count));
    QString text =
        count == run.steps.size()
            ? tr("Skipped %1 of %2 steps (%3).").arg(stepText(skipped), stepText(static_cast<qint64>(count)), share)
            : tr("Skipped %1 of the last %2 steps (%3).")
                  .arg(stepText(skipped), stepText(static_cast<qint64>(count)), share);
    if (!config.enabled || !config.dynamic) {
        return text;
    }
    const double normal = 1.0 / static_cast<double>(cycle);
    const double rate = static_cast<double>(skipped) / static_cast<double>(count);
    text += QLatin1Char(' ') +
            tr("Up to %1 (1 in %2) is normal.").arg(shareText(1.0, static_cast<double>(cycle)), stepText(cycle));
    // Twice the normal rate, and not merely the first search for the limit.
    if (rate > 2.0 * normal && skipped >= 3) {
        text += QLatin1Char(' ') + tr("This is more.");
    }
    return text;
}

} // namespace halfscope
