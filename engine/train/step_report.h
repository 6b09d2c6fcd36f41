// SPDX-License-Identifier: GPL-3.0-or-later
// From a finished step's probes to what is told about it: the culprit, the summary, the snapshot, the events.
#pragma once

#include <vector>

#include "engine/amp/statistical_rules.h"
#include "engine/model/transformer.h"
#include "engine/train/engine.h"
#include "engine/train/run_config.h"
#include "engine/train/snapshot_pool.h"
#include "engine/train/telemetry.h"

namespace halfscope {

// The first module in forward order one of whose casts saturated (or whose result was not finite to begin with); -1:
// none.
std::int16_t findForwardSaturation(const Transformer& model);
// The first module in forward order whose result is not finite, if no cast saturated before and its weights are not
// finite either; -1: none. Looks at weights only where a result is not finite.
std::int16_t findLostWeights(const Transformer& model, Backend& backend);

// The culprit: the first tap in backward order that saturated or met a nonfinite value; everything after it is only
// contaminated. When no tap did (unscaling itself overflowed), the tap of the parameter that did.
void nameCulprit(const Transformer& model, int firstParameter, StepRecord& record);

// Extremes and low quantile of the weight gradients of all modules, and of those the loss scale is for.
void summariseGradients(const Transformer& model, double lowQuantile, StepRecord& record);

// Of the gradients, weight and activation, that are rounded into a format of a smaller range than FP32 with the step's
// loss scale.
GradientFacts gradientFacts(const Transformer& model, const Transformer::StepOptions& measured);

// Takes the content of `updates` and leaves memory to be used again there.
SnapshotPtr makeSnapshot(SnapshotPool& pool, const Transformer& model, const Transformer::StepOptions& measured,
                         const StepRecord& record, std::vector<ModuleUpdates>& updates);

// What the steps of an epoch come to.
struct EpochTotals {
    std::int64_t steps = 0; // with a finite loss
    double loss = 0.0;      // sums
    double accuracy = 0.0;
    void add(const StepRecord& record);
};
// `precision` as planKey() has it; `scaler` as it is set by then.
Event epochEvent(const StepRecord& record, std::int64_t epoch, const EpochTotals& totals, const std::string& precision,
                 const ScalerConfig& scaler);
// Of the last continuation; `from` is the key of the backend that failed.
Event continuedEvent(const RunInfo& info, const std::string& from);
// Where the CPU computes instead of the GPU.
Event fallbackEvent(const RunInfo& info);
Event headSwappedEvent(std::int64_t step, const TransformerConfig& model);

// The scale became `wanted`, which FP32 cannot use; record.scaleNext is what it was held at.
Event unusableScaleEvent(const StepRecord& record, double wanted);

// What the forward pass of the step before ran into: said once, when it begins.
struct ForwardTrouble {
    bool saturated = false;
    bool weightsLost = false;
};
// `cleanSteps`: how many in a row a growth took.
void reportEvents(const Transformer& model, const StepRecord& record, bool sanitised, const RunConfig& config,
                  ForwardTrouble before, std::int64_t cleanSteps, std::vector<Event>& events);

} // namespace halfscope
