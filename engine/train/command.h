// SPDX-License-Identifier: GPL-3.0-or-later
// What may be asked of a running engine. Commands are applied at step boundaries, each acknowledged by an Event
// carrying its id: kind Command with old and new value, or Rejected with the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "engine/numerics/float_format.h"

namespace halfscope {

struct Pause {};
struct Resume {};
struct RunSteps {
    std::int64_t count = 1; // then pause; 1 is "single step"
};
// key and value exactly as in `halfscope train --set key=value`: scaler knobs, learning-rate, optimizer settings,
// precision, precision.MODULE, scaler (preset), statistics settings. See settings_registry.h for which are live.
struct SetSetting {
    std::string key;
    std::string value;
    // Of precision and precision.MODULE: as if set before this step began (0: from the start), so that what the
    // schedule has set since stands over it. Undo needs that. -1, or a step to come: from the next step on, over the
    // schedule.
    std::int64_t since = -1;
};
struct SetScale {
    double scale = 1.0; // now, for the next step
};
struct InjectSpike {
    std::string module;
    double factor = 1024.0;
    bool weightGrad = false; // false: the activation gradient
};
struct InjectBadBatch {}; // the next batch has uniformly random targets
struct InjectLearningRateJump {
    double factor = 10.0; // for one applied step
};
struct SwapHead {}; // a language model in pretraining becomes the classifier; as pretrain-steps set to the steps done
struct Restart {
    bool newSeed = false;
    std::uint64_t seed = 0; // with newSeed
};

// After a failure: the run goes on on the CPU where LiveState::canContinue says so. Restart is the other way out.
struct Continue {};

// Questions. They change nothing in the run, paused or not; each is answered by an Evaluation that carries its id, or
// Rejected.
struct RequestValidation {};
struct RequestPredictions {
    std::size_t first = 0; // of the held-out examples
    int count = 1;         // 1 to 1024; fewer where they end
};
struct RequestSample {        // text from a language model
    std::string prompt;       // UTF-8; empty: the beginning of a held-out example, chosen by the seed
    int length = 200;         // tokens to add, 1 to 4096
    double temperature = 1.0; // logits are divided by it; 0: always the likeliest token
    std::uint64_t seed = 1;
};

using Command =
    std::variant<Pause, Resume, RunSteps, SetSetting, SetScale, InjectSpike, InjectBadBatch, InjectLearningRateJump,
                 SwapHead, Restart, Continue, RequestValidation, RequestPredictions, RequestSample>;

inline bool isRequest(const Command& command)
{
    return std::holds_alternative<RequestValidation>(command) || std::holds_alternative<RequestPredictions>(command) ||
           std::holds_alternative<RequestSample>(command);
}

} // namespace halfscope
