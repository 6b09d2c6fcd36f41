// SPDX-License-Identifier: GPL-3.0-or-later
// What the runs of a comparison come to: a row a format, and curves over the seeds.
#pragma once

#include "engine/compare/comparison.h"

namespace halfscope {

// Of the values that are finite.
struct Spread {
    int count = 0;
    double mean = ComparedRun::kNone;
    double min = ComparedRun::kNone;
    double max = ComparedRun::kNone;
    double deviation = ComparedRun::kNone; // of the sample: over count - 1; nan below two values
};
Spread spreadOf(const std::vector<double>& values);

struct FormatSummary {
    std::string format; // key
    std::string name;   // "Mixed FP16"
    std::string scaler; // preset that its runs had; empty: none is done
    std::optional<Computed> computed;
    const FormatSpeed* speed = nullptr; // null: no claim
    std::optional<MemoryUse> bytes;     // of its first run
    int done = 0;
    int completed = 0;
    int wanted = 0;
    // Of the runs that completed. Values that are not finite are left out, and counted: `diverged`.
    Spread finalLoss;
    Spread finalAccuracy;
    Spread heldOutLoss;
    Spread heldOutAccuracy;
    Spread skipped;
    Spread finalScale;
    int diverged = 0;    // completed, with a final loss that is not finite
    std::string problem; // of the first run that did not complete: "seed 2 failed at step 1: why"
};
// In the order of the plan. Valid while the comparison lives and is not changed.
std::vector<FormatSummary> summarise(const Comparison& comparison);

enum class Quantity : std::uint8_t { Loss, Accuracy, HeldOutLoss, HeldOutAccuracy };

// Mean and range over the seeds that have got that far, each run smoothed first.
struct CurveBand {
    std::vector<std::int64_t> step;
    std::vector<float> mean;
    std::vector<float> low;
    std::vector<float> high;
};
// smoothing: weight of the past in a moving average of each step's value, 0 (off) to below 1; held-out values are not
// smoothed. `underWay`: a run that is not done yet, or null. Values that are not finite are gaps.
CurveBand curveOf(const Comparison& comparison, std::size_t format, Quantity quantity, double smoothing,
                  const ComparedRun* underWay = nullptr);

} // namespace halfscope
