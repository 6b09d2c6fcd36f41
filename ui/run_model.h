// SPDX-License-Identifier: GPL-3.0-or-later
// Everything the window shows of one run. Lives in the window's thread; filled by SessionController, read by all views.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/train/engine.h"
#include "engine/train/histogram_history.h"

namespace halfscope {

// Which gradients the spectrum, the waterfall and their read-outs are about.
struct TapSelection {
    std::vector<int> modules; // module ids; empty: all modules
    Tap tap = Tap::WeightGrad;
    bool operator==(const TapSelection&) const = default;
};

struct RunModel {
    RunInfo info;
    LiveState live;
    std::vector<StepRecord> steps; // steps[i].step == i + 1
    std::vector<Event> events;
    std::vector<std::int64_t> spikedSteps; // those a gradient spike was injected into, rising
    HistogramHistory history;
    SnapshotPtr latest; // newest snapshot; null before the first
    TapSelection selection;
    double stepsPerSecond = 0.0;

    // Sum over the selected modules of one tap; nullopt when nothing of it was measured.
    std::optional<TensorStatistics> selected(const Snapshot& snapshot) const;
    std::optional<SparseHistogram> selected(const HistoryRow& row) const;
    const TapStatistics* tapOf(const Snapshot& snapshot, int module, Tap tap) const;
    // The format whose window is drawn for the selection: that of the tap when it is the same for all selected modules
    // and narrower than FP32; FP16 otherwise.
    FormatId windowFormat() const;
    bool isSpiked(std::int64_t step) const;
    int moduleId(const std::string& name) const; // -1: none
};

} // namespace halfscope
