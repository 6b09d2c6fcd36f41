// SPDX-License-Identifier: GPL-3.0-or-later
// What the window sees of training: an engine that takes commands and hands out telemetry. TrainingThread is the real
// one; tests script another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/amp/statistical_rules.h"
#include "engine/core/memory.h"
#include "engine/data/dataset.h"
#include "engine/model/memory_estimate.h"
#include "engine/train/command.h"
#include "engine/train/evaluation.h"
#include "engine/train/run_config.h"
#include "engine/train/telemetry.h"

namespace halfscope {

enum class EngineState : std::uint8_t { Starting, Running, Paused, Finished, Failed };

// A run that went on elsewhere after its backend failed.
struct Continuation {
    std::int64_t step = 0; // the first one computed there that is told of
    // The step whose state was taken over, bit for bit. Those between were completed before the failure, and are told
    // of as they were then; their results were lost with the device, and computed again.
    std::int64_t stateAfter = 0;
    std::string from; // as RunInfo::backend, that failed
    std::string to;
    std::string failure; // why
};

// Facts of a run that do not change until it restarts, or until its head is swapped: then the sizes of the model do.
struct RunInfo {
    std::uint64_t generation = 0; // counts restarts; 0 while starting
    RunConfig config;             // as started
    TransformerConfig model;      // config.model with what the data decide
    std::vector<ModuleInfo> modules;
    std::int64_t parameterCount = 0;
    std::string backend; // "CPU · AVX2 · 2 threads (FP16 emulated, exact)"; of a run that went on elsewhere, the last
    std::string backendKey; // of `backend`: what kAutomaticBackend turned out to be
    std::string fallback;   // why it is the CPU instead of the GPU, one sentence; empty: it is what was asked for
    std::vector<Continuation> continuations; // where else it went on
    DatasetInfo data;                        // what it trains on
    std::int64_t stepsPerEpoch = 0;
    std::int64_t trainingExamples = 0;     // of an epoch
    std::int64_t heldOutExamples = 0;      // there are; how many are looked at is a setting
    double bytes = 0;                      // weights, gradients, moments, activations, counted
    MemoryUse memory;                      // the same by kind
    double bytesNeeded = 0;                // what was estimated before the start, with the FP32 shadows
    std::optional<MemoryRoom> roomAtStart; // and what was free by then
};

// What the knobs stand at now, after the last step boundary.
struct LiveState {
    EngineState state = EngineState::Starting;
    std::string failure; // "failed at step n: why"
    // After a failure: Continue goes on from the state after that step, on the CPU. 0: it begins there.
    bool canContinue = false;
    std::int64_t stateAfter = 0;
    // Completed steps that still have to be computed again before the run goes on; 0: none.
    std::int64_t stepsToCatchUp = 0;
    LossScaler::State scaler;
    ScaleAdvice advice; // after the last measured step
    PrecisionPlan plan;
    std::vector<float> moduleScales; // by module, with scale-per-module; those without one have the step's. Else empty
    float learningRate = 0.0F;
    RunConfig config;                       // with the live edits applied: what a restart begins with
    std::optional<MemoryRoom> deviceMemory; // of a device with memory of its own, about a second ago
    bool pretraining = false;               // as a language model, before SwapHead
    double shadowBytes = 0; // of the FP32 model the gradients are compared with, and of the FP32 run; 0: there is none
};

struct Telemetry {
    bool restarted = false;             // a new run began: forget the old one before reading what follows
    std::vector<StepRecord> steps;      // lossless, in order
    std::vector<Event> events;          // lossless, in order
    std::vector<SnapshotPtr> snapshots; // every measured step, in order; see Snapshot about merged ones
    // Answers to requests, all of them, and validations; of validations that wait only the newest (their figures are in
    // `steps`).
    std::vector<EvaluationPtr> evaluations;
    std::vector<ShadowPtr> shadows; // lossless, in order
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
    // Has `wake` called, from any thread, when there is something to drain and nobody has been told since the last
    // drain(), so that a reader need not look while nothing happens. It must not block nor call the engine. Set once,
    // before anything else. Returns whether this engine does so.
    virtual bool setWake(std::function<void()>) { return false; }
};

} // namespace halfscope
