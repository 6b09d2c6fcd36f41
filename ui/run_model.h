// SPDX-License-Identifier: GPL-3.0-or-later
// Everything the window shows of one run. Lives in the window's thread; filled by SessionController, read by all views.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/train/engine.h"
#include "engine/train/histogram_history.h"
#include "engine/train/step_history.h"
#include "engine/train/update_history.h"

namespace halfscope {

// Which gradients the spectrum, the waterfall and their read-outs are about.
struct TapSelection {
    std::vector<int> modules; // module ids; empty: all modules
    Tap tap = Tap::WeightGrad;
    std::string name = {}; // the pattern that selected them; empty: one by one
    bool operator==(const TapSelection&) const = default;
};

struct RunModel {
    RunInfo info;
    LiveState live;
    StepHistory steps; // steps[i].step == i + 1, except that those of old steps are thinned
    std::vector<Event> events;
    std::vector<std::int64_t> spikedSteps; // those a gradient spike was injected into, rising
    HistogramHistory history;
    UpdateHistory updates;          // of the weights, as far as they were measured
    SnapshotPtr latest;             // newest snapshot; null before the first
    std::vector<ShadowPtr> shadows; // every comparison with FP32's gradients; few, for each costs a step
    EvaluationPtr validation;       // the newest look at the held-out examples; null before the first
    TapSelection selection;
    double stepsPerSecond = 0.0;

    // Sum over the selected modules of one tap; nullopt when nothing of it was measured. `only`: of the modules in that
    // format alone.
    std::optional<TensorStatistics> selected(const Snapshot& snapshot, std::optional<FormatId> only = {}) const;
    std::optional<SparseHistogram> selected(const HistoryRow& row, std::optional<FormatId> only = {}) const;
    std::optional<SparseHistogram> selectedAt(std::size_t row, std::optional<FormatId> only = {}) const; // of `history`
    const TapStatistics* tapOf(const Snapshot& snapshot, int module, Tap tap) const;
    // The loss scale multiplies gradients; activations are cast as they are.
    bool selectionIsScaled() const { return selection.tap != Tap::Activation; }
    // The narrowest format that a selection is held in with the run's loss scale, FP32 apart: the one whose limits
    // matter. Nullopt when all of it is in FP32 or has scales of its own, or nothing was measured.
    std::optional<FormatId> narrowFormat() const { return narrowFormat(selection); }
    std::optional<FormatId> narrowFormat(const TapSelection& of) const;
    // The format whose window is drawn: the narrow one, or FP16 for comparison when there is none.
    FormatId windowFormat() const { return narrowFormat().value_or(FormatId::Fp16); }
    bool windowIsComparison() const; // something is held, and all of it in FP32
    bool isSpiked(std::int64_t step) const;
    int moduleId(const std::string& name) const; // -1: none
};

} // namespace halfscope
