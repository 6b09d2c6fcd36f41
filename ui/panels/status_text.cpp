// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/status_text.h"

#include <QCoreApplication>
#include <QLocale>
#include <algorithm>

#include "ui/number_text.h"

namespace halfscope {

namespace {

constexpr std::size_t kCostSteps = 200; // recent steps the cost is averaged over

QString tr(const char* text) { return QCoreApplication::translate("Status", text); }

} // namespace

QString stateText(const RunModel& run)
{
    switch (run.live.state) {
    case EngineState::Starting:
        return tr("Starting…");
    case EngineState::Running:
        return tr("Training, seed %1").arg(run.info.config.seed);
    case EngineState::Paused:
        return tr("Paused, seed %1").arg(run.info.config.seed);
    case EngineState::Finished:
        return tr("Ended");
    case EngineState::Failed:
        return tr("Failed");
    }
    return {};
}

QString statisticsCostText(const RunModel& run)
{
    const std::size_t count = std::min(kCostSteps, run.steps.size());
    double statistics = 0.0;
    double shadow = 0.0;
    double total = 0.0;
    for (std::size_t i = run.steps.size() - count; i < run.steps.size(); ++i) {
        const StepRecord record = run.steps[i];
        statistics += record.statisticsMs;
        shadow += record.shadowMs;
        total += record.stepMs;
    }
    if (!(total > 0.0)) {
        return {};
    }
    if (shadow > 0.0) {
        return tr("statistics %1, FP32 shadow %2 of a step")
            .arg(shareText(statistics, total), shareText(shadow, total));
    }
    return tr("statistics %1 of a step").arg(shareText(statistics, total));
}

QString byteText(double bytes)
{
    return QLocale().formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeSIFormat);
}

QString memoryText(const RunModel& run)
{
    if (!(run.info.bytes > 0.0)) {
        return {};
    }
    const double records = static_cast<double>(run.steps.bytes());
    const QString history = byteText(static_cast<double>(run.history.bytes() + run.updates.bytes()) + records);
    if (run.live.shadowBytes > 0.0) {
        return tr("model %1, FP32 shadow %2, history %3")
            .arg(byteText(run.info.bytes), byteText(run.live.shadowBytes), history);
    }
    return tr("model %1, history %2").arg(byteText(run.info.bytes), history);
}

} // namespace halfscope
