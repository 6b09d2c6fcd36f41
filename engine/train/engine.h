// SPDX-License-Identifier: GPL-3.0-or-later
// What the window sees of training: an engine that takes commands and hands out telemetry. TrainingThread is the real
// one; tests script another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/amp/statistical_rules.h"
#include "engine/train/command.h"
#include "engine/train/run_config.h"
#include "engine/train/telemetry.h"

namespace halfscope {

enum class EngineState : std::uint8_t { Starting, Running, Paused, Finished, Failed };

// Facts of a run that do not change until it restarts.
struct RunInfo {
    std::uint64_t generation = 0; // counts restarts; 0 while starting
    RunConfig config;             // as started
    std::vector<ModuleInfo> modules;
    std::int64_t parameterCount = 0;
    std::string backend;   // "CPU · AVX2 · 2 threads (FP16 emulated, exact)"
    std::string textTitle; // "The Adventures of Sherlock Holmes + Tom Sawyer"
    bool generatedText = false;
    std::string textNotice;     // why it is not the text one would expect; empty if it is
    std::uint64_t textHash = 0; // TextDataset::contentHash()
    int vocabulary = 0;
    double bytes = 0; // weights, gradients, moments, activations, counted
};

// What the knobs stand at now, after the last step boundary.
struct LiveState {
    EngineState state = EngineState::Starting;
    std::string failure; // "failed at step n: why"
    LossScaler::State scaler;
    ScaleAdvice advice; // after the last measured step
    PrecisionPlan plan;
    float learningRate = 0.0F;
    RunConfig config; // with the live edits applied
};

struct Telemetry {
    bool restarted = false;             // a new run began: forget the old one before reading what follows
    std::vector<StepRecord> steps;      // lossless, in order
    std::vector<Event> events;          // lossless, in order
    std::vector<SnapshotPtr> snapshots; // every measured step, in order; see Snapshot about merged ones
};

class Engine {
public:
    virtual ~Engine() = default;

    // Any thread. Returns the command's id (never 0). Drags coalesce: a SetSetting or SetScale that is still waiting is
    // replaced by a newer one of the same key, and its id is then never acknowledged; the newer one's is.
    virtual std::uint64_t post(Command command) = 0;
    // One reader. Moves everything since the last call into `out`; never waits for a step.
    virtual void drain(Telemetry& out) = 0;
    virtual RunInfo info() const = 0;
    virtual LiveState live() const = 0;
};

} // namespace halfscope
