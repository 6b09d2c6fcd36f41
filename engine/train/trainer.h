// SPDX-License-Identifier: GPL-3.0-or-later
// One synchronous training step, and everything that may be changed between two of them. No thread in here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/backend/backend.h"
#include "engine/train/command.h"
#include "engine/train/engine.h"
#include "engine/train/run_config.h"
#include "engine/train/telemetry.h"

namespace halfscope {

class Transformer;
struct RunState;

class Trainer {
public:
    // config must be valid (settings_registry.h). Throws std::runtime_error or BackendError with one sentence.
    // `whileBuilding` is called now and then while the model is made, and may throw to give up.
    explicit Trainer(const RunConfig& config, const std::function<void()>& whileBuilding = {});
    // Goes on with a run whose backend failed, on another one; first come the steps to catch up with, if there are any.
    // Throws as above.
    Trainer(const RunState& state, const std::string& backend, const std::function<void()>& whileBuilding = {});
    ~Trainer();

    // What one step produced. Valid until the next call.
    struct StepResult {
        StepRecord record;
        SnapshotPtr snapshot;        // null when this step was not measured
        EvaluationPtr evaluation;    // null unless held-out examples were due
        ShadowPtr shadow;            // null when its gradients were not compared with FP32's
        std::vector<Event> events;   // skips, growth, injections ...; in order
        bool pauseRequested = false; // by the scaler: at its minimum, or where its scale cannot be used
        bool stopRequested = false;
        bool headSwapped = false; // before this step; info() has changed
        std::string endReason;    // of either: "the loss scale overflowed at its minimum"
    };
    const StepResult& step();

    // Applies a command that concerns the run itself (not Pause, Resume, RunSteps, Restart, Request...), as the next
    // step's opening. Returns the event to publish: kind Command or Rejected.
    Event apply(const Command& command);
    // Answers a Request... command; null for any other. Throws std::runtime_error with one sentence when there is no
    // answer.
    EvaluationPtr answer(const Command& request, std::uint64_t commandId = 0) const;

    const RunInfo& info() const;
    LiveState live() const;
    // The same into one that exists, whose memory is used again. `state` and `failure` are the thread's and stay.
    void copyLive(LiveState& live) const;
    // Of it, only what a step changes by itself; commands and events change the rest.
    void updateNumbers(LiveState& live) const;
    std::int64_t stepsDone() const;

    void noteFallback(const std::string& why); // RunInfo::fallback

    // After step(), catchUp() or apply() threw: where another backend can go on; null: nowhere. The trainer can only be
    // asked what it was before and then go. `failure` is what was thrown.
    std::unique_ptr<RunState> lastGoodState(const std::string& failure);
    // Steps that were completed before the failure and have to be computed again, and the next of them. Their records
    // are those that there are.
    std::int64_t stepsToCatchUp() const;
    void catchUp();
    // For tests and checkpoints: between two steps only.
    Transformer& model();
    Backend& backend();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace halfscope
