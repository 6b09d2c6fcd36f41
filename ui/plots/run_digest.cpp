// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/run_digest.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halfscope {

namespace {

// NaN, a gap, for what has no logarithm.
float log2OrGap(float value)
{
    return value > 0 && std::isfinite(value) ? std::log2(value) : std::numeric_limits<float>::quiet_NaN();
}

} // namespace

std::optional<StabilityBand> stableScales(const StepRecord& record)
{
    if (!(record.bandAbsMax > 0) || !(record.bandLowQuantile > 0) || !(record.bandAbsMin > 0))
        return std::nullopt;
    return stabilityBand(floatFormat(record.bandFormat), static_cast<double>(record.bandLowQuantile),
                         static_cast<double>(record.bandAbsMin), static_cast<double>(record.bandAbsMax));
}

void RunDigest::clear()
{
    for (MinMaxPyramid* series : {&scale, &loss, &bandLow, &bandTrueMinimum, &bandHigh})
        series->clear();
    for (std::vector<std::int64_t>* marks : {&overflowSkips, &lossSkips, &growths, &commands})
        marks->clear();
    headSwapped = 0;
    m_events = 0;
}

bool RunDigest::update(const RunModel* run)
{
    bool changed = false;
    if (run != m_run || (run != nullptr && (run->info.generation != m_generation || run->steps.size() < scale.size() ||
                                            run->events.size() < m_events))) {
        clear();
        m_run = run;
        changed = true;
    }
    if (run != nullptr) {
        m_generation = run->info.generation;
        for (std::size_t i = scale.size(); i < run->steps.size(); ++i) {
            const StepRecord step = run->steps[i];
            scale.append(log2OrGap(step.scale));
            loss.append(static_cast<float>(step.loss));
            constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
            const StabilityBand band = stableScales(step).value_or(StabilityBand{kGap, kGap, kGap});
            bandLow.append(static_cast<float>(band.low));
            bandTrueMinimum.append(static_cast<float>(band.trueMinimum));
            bandHigh.append(static_cast<float>(band.high));
            changed = true;
            if (step.step != static_cast<std::int64_t>(i) + 1) // thinned away; another one stands for it
                continue;
            if (step.outcome == StepOutcome::SkippedOverflow)
                overflowSkips.push_back(step.step);
            else if (step.outcome == StepOutcome::SkippedNonfiniteLoss)
                lossSkips.push_back(step.step);
            if (step.scaleEvent == ScaleEvent::Grew)
                growths.push_back(step.step);
        }
        for (; m_events < run->events.size(); ++m_events) {
            const Event& event = run->events[m_events];
            if (event.kind == EventKind::Command || event.kind == EventKind::Injected) {
                commands.push_back(std::max<std::int64_t>(event.step, commands.empty() ? 0 : commands.back()));
                changed = true;
            } else if (event.kind == EventKind::HeadSwapped) {
                headSwapped = event.step;
                changed = true;
            }
        }
    }
    if (changed)
        ++m_version;
    return changed;
}

std::vector<MarkCluster> clusterMarks(const std::vector<std::int64_t>& steps, double low, double high, double left,
                                      double width, double gap)
{
    std::vector<MarkCluster> clusters;
    if (!(high > low) || !(width > 0))
        return clusters;
    const double stepsPerPixel = (high - low) / width;
    // Cells on a grid that does not move when the view is panned, so that marks do not flicker while it scrolls.
    const double cell = std::max(1.0, gap * stepsPerPixel);
    auto it = std::lower_bound(steps.begin(), steps.end(), static_cast<std::int64_t>(std::ceil(low)));
    const auto end = std::upper_bound(it, steps.end(), static_cast<std::int64_t>(std::floor(high)));
    while (it != end) {
        const double cellEnd = (std::floor(static_cast<double>(*it) / cell) + 1.0) * cell;
        const auto next = std::lower_bound(it, end, static_cast<std::int64_t>(std::ceil(cellEnd)));
        MarkCluster cluster;
        cluster.first = *it;
        cluster.last = *(next - 1);
        cluster.count = static_cast<std::size_t>(next - it);
        const double middle = 0.5 * (static_cast<double>(cluster.first) + static_cast<double>(cluster.last));
        cluster.x = left + (middle - low) / stepsPerPixel;
        // Two marks on either side of a cell's border can still touch.
        if (!clusters.empty() && cluster.x - clusters.back().x < 0.5 * gap) {
            MarkCluster& previous = clusters.back();
            previous.last = cluster.last;
            previous.count += cluster.count;
        } else {
            clusters.push_back(cluster);
        }
        it = next;
    }
    return clusters;
}

} // namespace halfscope
