// SPDX-License-Identifier: GPL-3.0-or-later
// Where a run stands between two steps, and what it takes for another backend to go on from there bit for bit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/amp/statistical_rules.h"
#include "engine/backend/backend_registry.h"
#include "engine/core/rng.h"
#include "engine/data/dataset.h"
#include "engine/model/precision_in_force.h"
#include "engine/model/transformer.h"
#include "engine/train/command.h"
#include "engine/train/engine.h"
#include "engine/train/module_scalers.h"
#include "engine/train/step_report.h"

namespace halfscope {

// All that a step changes, but for the model and the optimizer.
struct RunPosition {
    explicit RunPosition(const RunConfig& config); // of a run that begins

    // With all edits. What is not live takes effect at the next restart: the model keeps its configuration, the random
    // numbers the seed that the run began with.
    RunConfig config;
    std::int64_t step = 0; // the last one
    std::int64_t applied = 0;
    std::int64_t skipped = 0;
    LossScaler scaler;
    ModuleScalers moduleScalers;
    PrecisionInForce precision; // the schedule leaves the configuration, which a restart begins with, alone
    ScaleAdvisor advisor;
    Rng batchRng;
    Rng badBatchRng;
    EpochTotals epoch;
    bool badBatchPending = false;
    double learningRateFactor = 1.0; // an injected jump, for the next applied step
    float learningRate = 0.0F;
    ForwardTrouble before; // of the last step
};

// The position with what the host holds of the models. Copying it costs next to nothing.
struct RunMark {
    RunPosition at;
    TransformerConfig model; // with what the data and pretraining made of it
    Transformer::HostState host;
    std::int64_t updates = 0; // Adam's t
    std::int64_t shadowUpdates = 0;
    std::int64_t shadowApplied = 0;
};

// What is in the backend's memory: master weights and moments.
struct RunValues {
    Transformer::Values model;
    Transformer::Values shadow; // of the FP32 run alongside; empty: there is none
};

struct LaterCommand {
    std::int64_t step = 0; // the last one before it was applied
    Command command;
};

// Where a run whose backend failed can go on.
struct RunState {
    RunMark mark;
    RunValues values;
    std::vector<LaterCommand> later; // applied since
    std::int64_t lastStep = 0;       // completed; those since the mark have to be computed again
    std::string failure;             // why it stopped
    RunInfo info;                    // of the run so far
    std::shared_ptr<const Dataset> data;
};

} // namespace halfscope
