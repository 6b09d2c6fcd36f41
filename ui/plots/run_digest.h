// SPDX-License-Identifier: GPL-3.0-or-later
// What the plots along the step axis need of a run, kept up to date step by step: series with fast extremes, and where
// skips, growths and commands are. Shared by all plots of one StepAxisLink.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/amp/what_if.h"
#include "ui/plots/min_max_pyramid.h"
#include "ui/run_model.h"

namespace halfscope {

// The scales that keep the step's gradients representable, in the format they had then; nothing where not measured.
std::optional<StabilityBand> stableScales(const StepRecord& record);

class RunDigest {
public:
    // Takes over new steps and events; starts again when the run did. Returns whether anything changed.
    bool update(const RunModel* run);

    std::int64_t lastStep() const { return static_cast<std::int64_t>(scale.size()); }
    // Step n is element n - 1.
    MinMaxPyramid scale; // log2 of the scale in force
    MinMaxPyramid loss;  // raw
    // The stability band, log2 of scales (stableScales()); gaps: not measured.
    MinMaxPyramid bandLow;
    MinMaxPyramid bandTrueMinimum;
    MinMaxPyramid bandHigh;

    std::vector<std::int64_t> overflowSkips; // step numbers, ascending
    std::vector<std::int64_t> lossSkips;     // steps skipped for a loss that was not finite
    std::vector<std::int64_t> growths;
    std::vector<std::int64_t> commands;
    std::int64_t headSwapped = 0; // the first step as a classifier; 0: it is what it began as

    std::uint64_t version() const { return m_version; }

private:
    void clear();

    const RunModel* m_run = nullptr;
    std::uint64_t m_generation = 0;
    std::size_t m_events = 0;
    std::uint64_t m_version = 1;
};

// Marks that would overlap, merged into one that counts them, so that none ever disappears.
struct MarkCluster {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::size_t count = 0;
    double x = 0.0; // pixel, middle of first and last
};
// Of all `steps` (ascending) in [low, high], where step s lies at pixel left + (s - low) / (high - low) * width.
// Neighbours closer than `gap` pixels are merged. Costs the number of clusters times log(steps).
std::vector<MarkCluster> clusterMarks(const std::vector<std::int64_t>& steps, double low, double high, double left,
                                      double width, double gap);

} // namespace halfscope
