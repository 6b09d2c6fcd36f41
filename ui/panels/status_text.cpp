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
        if (run.live.stepsToCatchUp > 0) {
            return tr("Catching up: %1 steps").arg(stepText(run.live.stepsToCatchUp));
        }
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

StepTime recentStepTime(const RunModel& run)
{
    const std::size_t count = std::min(kCostSteps, run.steps.size());
    StepTime mean;
    for (std::size_t i = run.steps.size() - count; i < run.steps.size(); ++i) {
        const StepRecord record = run.steps[i];
        mean.whole += record.stepMs;
        mean.forward += record.forwardMs;
        mean.backward += record.backwardMs;
        mean.optimizer += record.optimizerMs;
        mean.statistics += record.statisticsMs;
        mean.shadow += record.shadowMs;
    }
    for (double* ms : {&mean.whole, &mean.forward, &mean.backward, &mean.optimizer, &mean.statistics, &mean.shadow}) {
        *ms /= std::max(1.0, static_cast<double>(count));
    }
    return mean;
}

QString stepTimeText(const StepTime& time)
{
    if (!(time.whole > 0.0)) {
        return {};
    }
    const auto ms = [](double value) { return roundedText(value, 3); };
    const QString parts =
        tr("step %1 ms: forward %2, backward %3, optimizer %4, statistics %5")
            .arg(ms(time.whole), ms(time.forward), ms(time.backward), ms(time.optimizer), ms(time.statistics));
    return time.shadow > 0.0 ? tr("%1, FP32 shadow %2").arg(parts, ms(time.shadow)) : parts;
}

QString briefStepTimeText(const StepTime& time)
{
    return time.whole > 0.0
               ? tr("step %1 ms, statistics %2").arg(roundedText(time.whole, 3), shareText(time.statistics, time.whole))
               : QString();
}

QString stepTimeDetail(const StepTime& time)
{
    QStringList lines = {tr("Where the time of a step goes, on average over the last %1").arg(kCostSteps)};
    const auto add = [&](const QString& what, double ms) {
        lines << tr("%1: %2 ms, %3").arg(what, roundedText(ms, 3), shareText(ms, time.whole));
    };
    if (time.whole > 0.0) {
        add(tr("Forward pass"), time.forward);
        add(tr("Backward pass"), time.backward);
        add(tr("Optimizer"), time.optimizer);
        add(tr("Statistics"), time.statistics);
        if (time.shadow > 0.0) {
            add(tr("FP32 shadow"), time.shadow);
        }
        const double rest = time.whole - time.forward - time.backward - time.optimizer - time.statistics - time.shadow;
        add(tr("All else"), std::max(rest, 0.0));
    }
    return lines.join(QLatin1Char('\n'));
}

QString byteText(double bytes)
{
    return QLocale().formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeSIFormat);
}

QString memoryText(const RunModel& run, const std::optional<MemoryRoom>& room)
{
    if (!(run.info.bytes > 0.0)) {
        return {};
    }
    const QString model = tr("model %1").arg(byteText(run.info.bytes + run.live.shadowBytes));
    if (!room) {
        return model;
    }
    const QString used = byteText(room->total - room->free);
    return run.live.deviceMemory ? tr("%1, GPU %2 of %3").arg(model, used, byteText(room->total))
                                 : tr("%1, memory %2 of %3").arg(model, used, byteText(room->total));
}

QString memoryDetail(const RunModel& run, const std::optional<MemoryRoom>& room)
{
    const MemoryUse& use = run.info.memory;
    QStringList lines = {
        tr("Weights %1, gradients %2, moments %3, activations %4")
            .arg(byteText(use.weights), byteText(use.gradients), byteText(use.moments), byteText(use.activations))};
    if (run.live.shadowBytes > 0.0) {
        lines << tr("FP32 shadow %1").arg(byteText(run.live.shadowBytes));
    }
    if (run.info.roomAtStart) {
        lines << tr("Before the start: %1 needed, %2 of %3 free")
                     .arg(byteText(run.info.bytesNeeded), byteText(run.info.roomAtStart->free),
                          byteText(run.info.roomAtStart->total));
    }
    if (room) {
        const QString used = byteText(room->total - room->free);
        lines << (run.live.deviceMemory ? tr("Used on the GPU now, by all programs: %1 of %2")
                                        : tr("Used on this machine now, by all programs: %1 of %2"))
                     .arg(used, byteText(room->total));
    }
    const double records = static_cast<double>(run.steps.bytes());
    lines << tr("History kept by the window: %1")
                 .arg(byteText(static_cast<double>(run.history.bytes() + run.updates.bytes()) + records));
    return lines.join(QLatin1Char('\n'));
}

} // namespace halfscope
