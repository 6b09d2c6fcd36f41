// SPDX-License-Identifier: GPL-3.0-or-later
// What a Trainer is made of, for the files that implement it.
#pragma once

#include "engine/train/trainer.h"

#include <optional>

#include "engine/train/evaluator.h"
#include "engine/train/gradient_shadow.h"
#include "engine/train/optimizer.h"
#include "engine/train/run_keeper.h"
#include "engine/train/run_state.h"
#include "engine/train/shadow_run.h"

namespace halfscope {

// Streams of random numbers, each its own so that none shifts another.
enum RandomStream : std::uint64_t { InitStream = 1, BatchStream, DropoutStream, BadBatchStream, HeadStream };

// Whether weights and moments are FP32 whatever the modules' formats are, so that a change of these leaves them alone.
inline bool keepsMasters(const RunConfig& config) { return config.weightStorage == WeightStorage{}; }

// What does not fit into memory is refused: the system would end the program.
void requireMemory(const Backend& backend, double wanted, const std::string& what, const std::string& remedy);

struct Trainer::Impl : RunPosition {
    std::unique_ptr<Backend> backend;
    std::shared_ptr<const Dataset> data;
    RunInfo info;
    Transformer model;
    Optimizer optimizer;
    std::unique_ptr<GradientShadow> shadow; // while shadow-interval is not 0
    std::unique_ptr<ShadowRun> shadowRun;   // with shadow-run
    std::optional<RunKeeper> keeper;        // where the backend can fail and the CPU go on

    Examples examples;                 // of this step
    std::vector<std::int32_t> columns; // what was predicted for them
    SnapshotPool snapshots;
    std::vector<float> spikes;          // of this step, in backward order
    std::vector<ModuleUpdates> updates; // of this step; empty where they were not measured
    float optimizerMs = 0.0F;           // of this step, or of the one before where the device is not waited for
    StepResult result;
    std::vector<LaterCommand> later; // to be applied on the way to catchUpTo
    std::int64_t catchUpTo = 0;

    Impl(const RunConfig& c, const std::string& backendKey, const std::function<void()>& whileBuilding);
    Impl(const RunState& state, const std::string& backendKey, const std::function<void()>& whileBuilding);

    void setUp();      // what both have in common, once there is a model
    void applyLater(); // what was applied after this step
    void weightsChange()
    {
        if (keeper)
            keeper->weightsChange();
    }
    Event applyCommand(const Command& command);
    void describeModel();
    void runStep();
    Transformer::Batch nextBatch();
    void swapHead();
    void look();
    void stepShadows(const Transformer::Batch& batch, StepRecord& record);
    std::optional<std::string> setShadow(int interval);
    void followSchedule();
    std::string lostEpsilon() const;
    ScaleEvent updateScalers(bool foundInf);
    Transformer::StepOptions options(bool measure) const;
    void requestEnd(ScaleEvent event, bool held);
    Event set(const SetSetting& setting);
    Event inject(const InjectSpike& spike);
    EvaluationPtr answer(const Command& request, std::uint64_t commandId) const;
    Event commandEvent(std::string key, std::string oldValue, std::string newValue) const;
};

} // namespace halfscope
