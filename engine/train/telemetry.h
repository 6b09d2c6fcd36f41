// SPDX-License-Identifier: GPL-3.0-or-later
// What a run tells the world: one small record a step, events, and snapshots of the statistics.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/amp/loss_scaler.h"
#include "engine/model/precision_plan.h"
#include "engine/numerics/tensor_statistics.h"
#include "engine/numerics/update_statistics.h"

namespace halfscope {

enum class StepOutcome : std::uint8_t { Applied, SkippedOverflow, SkippedNonfiniteLoss };
std::string_view outcomeKey(StepOutcome o); // "applied", "skipped-overflow", "skipped-nonfinite-loss"

enum class Tap : std::uint8_t {
    WeightGrad,     // gradients of the module's parameters (weights and biases together)
    ActivationGrad, // gradient with respect to the module's output (torch: grad_output of a full backward hook)
    Activation,     // the module's output in the forward pass; off by default
};
inline constexpr int kTapCount = 3;
std::string_view tapKey(Tap t); // "weight_grad", "activation_grad", "activation"

struct StepRecord {
    std::int64_t step = 0; // 1 is the first
    StepOutcome outcome = StepOutcome::Applied;
    ScaleEvent scaleEvent = ScaleEvent::None;
    bool foundInf = false;
    std::int16_t overflowModule = -1;         // module id of the culprit; -1: none
    std::int8_t overflowTap = -1;             // its Tap; -1: none
    std::int16_t forwardSaturatedModule = -1; // first module in forward order with a saturated forward cast; -1: none
    std::int16_t lostWeightsModule = -1; // first in forward order whose output and weights are not finite; -1: none
    double loss = 0.0;                   // unscaled, FP32 mean cross-entropy; may be nan or inf
    float scale = 1.0F;                  // in force during this step
    float scaleNext = 1.0F;
    std::int64_t growthTracker = 0; // after the update
    std::int32_t hysteresisLeft = 0;
    double gradNorm = 0.0; // global norm of the unscaled gradients before clipping; nan when found_inf
    float learningRate = 0.0F;
    std::int64_t appliedSteps = 0;
    std::int64_t skippedSteps = 0;
    // Shares of targets predicted right; nan where not measured. The first is of the step's own batch, before the
    // update; the other two are of held-out examples, after it.
    double accuracy = std::numeric_limits<double>::quiet_NaN();
    double validationLoss = std::numeric_limits<double>::quiet_NaN();
    double validationAccuracy = std::numeric_limits<double>::quiet_NaN();
    float gradAbsMin = 0.0F; // over all weight gradients, unscaled, nonzero finite; 0: none, or not measured this step
    float gradAbsMax = 0.0F;
    float gradLowQuantile =
        0.0F; // lower edge of the bin holding the 1 % quantile of nonzero weight gradients (estimate)
    // The same of those weight gradients alone that the step's loss scale keeps representable: all that are rounded
    // into a format narrower than FP32 with it, judged by the narrowest. Where there is none: of all, judged as FP16.
    FormatId bandFormat = FormatId::Fp16;
    float bandAbsMin = 0.0F;
    float bandAbsMax = 0.0F;
    float bandLowQuantile = 0.0F;
    double shadowLoss = std::numeric_limits<double>::quiet_NaN(); // of the FP32 run alongside (shadow-run); nan: none
    // Wall time, milliseconds; these alone differ from run to run.
    float stepMs = 0.0F;
    float forwardMs = 0.0F;
    float backwardMs = 0.0F;
    float optimizerMs = 0.0F; // on a GPU of the step before, for nobody waits for it
    float statisticsMs = 0.0F;
    float shadowMs = 0.0F; // the FP32 gradients and the FP32 run; part of stepMs
};

enum class EventKind : std::uint8_t {
    Start,
    Command,  // a command was applied
    Rejected, // a command was refused; text says why
    Overflow, // a skipped step
    NonfiniteLoss,
    Growth,
    GrowthCapped,
    Steered,   // a statistical rule moved the scale
    Scheduled, // the precision schedule changed a format; key, old and new as of the setting
    AtMinimum,
    TooManyOverflows,
    UnusableScale, // 0, infinite or without a finite reciprocal; held at the nearest that can be used
    ForwardSaturated,
    WeightsLost, // weights were found that are not finite
    Injected,
    Epoch,       // as many examples as the training part has were trained on once more
    HeadSwapped, // the language model became a classifier
    Paused,
    Finished,
    Failed,
    Continued, // on another backend: from `old` to `new`; since: the step whose state it took over
    Note,
};
std::string_view eventKindKey(EventKind k); // "start", "command", "rejected", "overflow", ...

struct Event {
    std::int64_t step = 0;
    EventKind kind = EventKind::Note;
    std::string text; // one English sentence; the window composes its own, translatable text from the fields
    std::string key;  // setting or tensor concerned: "growth-interval", "h1.mlp.fc/weight_grad"
    std::string oldValue;
    std::string newValue;
    std::uint64_t commandId = 0; // of the command that caused it, 0: none
    // Overflow only: what the culprit saw.
    std::int16_t module = -1;
    std::int8_t tap = -1;
    std::uint64_t count = 0; // values that saturated or were not finite; of an Epoch: its number, from 1
    float largest = 0.0F;    // largest finite magnitude before the cast, scaled units
    float scale = 0.0F;
    float scaleNext = 0.0F;
    std::int64_t since = -1; // Command: SetSetting::since, where it counted; Continued
};

// Statistics of one tap of one module at one step.
struct TapStatistics {
    std::int16_t module = 0;
    Tap tap = Tap::WeightGrad;
    FormatId format = FormatId::Fp32; // the values were rounded into it
    TensorStatistics statistics;
    // What this tensor's values were multiplied by before they were rounded, where that is not the step's loss scale
    // (an FP8 tensor's scale, a module's own loss scale); else 0.
    float ownScale = 0.0F;
};

// What a step's update did to the weights of one module.
struct ModuleUpdates {
    std::int16_t module = 0;
    FormatId format = FormatId::Fp32; // in which a weight has to move
    UpdateStatistics statistics;
};

// All taps of one measured step. Immutable once published. When the reader falls far behind, waiting snapshots are
// merged by exact addition; `measuredSteps` then says of how many steps this one is the sum.
struct Snapshot {
    std::int64_t step = 0;      // the last one
    std::int64_t firstStep = 0; // the first one; equal to step unless merged
    std::int64_t measuredSteps = 1;
    std::int64_t skippedSteps = 0; // of them
    float scale = 1.0F;            // of the last step
    float minScale = 1.0F;
    float maxScale = 1.0F;
    StepOutcome outcome = StepOutcome::Applied; // of the last step
    std::vector<TapStatistics> taps;            // backward order: first is next to the loss
    std::vector<ModuleUpdates> updates;         // forward order; empty where they were not measured or none was made
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

// A gradient g of one step against g32, that of the same batch, master weights and dropout computed in FP32 without a
// loss scale. All sums in double. NaN where it is not defined: a gradient that is not finite, or all zero.
struct GradientComparison {
    double cosine = std::numeric_limits<double>::quiet_NaN();        // g · g32 / (|g| |g32|)
    double relativeError = std::numeric_limits<double>::quiet_NaN(); // |g - g32| / |g32|
    double norm = 0.0;                                               // |g|, unscaled; nan or inf where g is
    double shadowNorm = 0.0;                                         // |g32|
};

// The comparison of one step, before clipping.
struct ShadowReport {
    struct Module {
        std::int16_t module = 0;
        GradientComparison gradient; // of the module's parameters, weights and biases together
    };
    std::int64_t step = 0;
    double loss = 0.0;           // in FP32, of the same batch and weights
    GradientComparison total;    // all parameters as one vector
    std::vector<Module> modules; // those with parameters, in forward order
};
using ShadowPtr = std::shared_ptr<const ShadowReport>;

// The sum of two neighbouring snapshots of one run, `earlier` first.
Snapshot merged(const Snapshot& earlier, const Snapshot& later);

} // namespace halfscope
