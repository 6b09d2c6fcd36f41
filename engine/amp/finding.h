// SPDX-License-Identifier: GPL-3.0-or-later
// What the advisor has to say: what is wrong (or only looks wrong), since when, why, and what can be done about it. The
// fields are for views that compose their own text; findingText() gives an English one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/command.h"
#include "engine/train/engine.h"

namespace halfscope {

// In brackets: what the fields of Finding hold besides modules (worst first), tap and steps.
enum class FindingKind : std::uint8_t {
    WeightsLost,          // a step with nonfinite gradients was applied [count: such steps], or weights were found that
                          // are not finite [count 0; modules: the first; value: epsilon, where it is the cause; else 0]
    NonfiniteLoss,        // without an overflow in the forward pass [count: such steps of the last `of`]
    ForwardOverflow,      // no loss scale mends it [count: such steps of the last `of`; lossLost]
    AtFloor,              // an overflow at the smallest scale, or below 1 where there is none [count: skips in a row;
                          // scale; limit: the smallest scale, 0: none]
    ZeroGradients,        // all of the modules' gradients are zero [share: of their values that were flushed; whole]
    BackoffStreak,        // skips in a row [count; scaleFrom; scale: now; atStart: no step has been applied yet;
                          // injected: the user had raised the scale]
    TensorOverflow,       // most skips have the same culprit [count: its skips of `of` in the last `window` steps;
                          // values and largest of the newest; scale]
    ZeroOutputs,          // the modules' outputs are all zero, or the loss that of constant outputs [whole]
    UpdatesLost,          // updates too small to move a weight [share: of the worst module's updates]
    EpsilonLost,          // Adam's epsilon is zero in the moments' format [value: epsilon; limit: the largest lost one]
    LossJump,             // [value: loss before; largest: loss then; injected]
    Flushing,             // gradients become zero [share: of the worst module's; scale; limit: the scale that mends
                          // it, 0: none does; count: of the modules that compute in FP32 themselves]
    ShadowDeviates,       // gradients differ from FP32's [value: the worst cosine; share: its relative error]
    IntervalUnreached,    // skips keep the scale from growing [count: skips in `window` steps; of: the interval; value:
                          // the longest run of clean steps]
    ValidationFluctuates, // [count: changes of direction in the last `of` looks; value, largest: their lowest and
                          // highest accuracy]
    GrowthCapped,         // [scale; value: octaves between the largest gradient and overflow, nan: unknown; limit:
                          // max-scale, 0: FP32's range]
    ProbeOverflow, // skips that are part of how the scale is found [count of all skips in the last `window` steps;
                   // of: one in so many is normal]
    ScalerUseless, // no module needs a loss scale [scale]
};
inline constexpr int kFindingKindCount = 18;
std::string_view findingKey(FindingKind kind); // "weights-lost", ...

enum class Severity : std::uint8_t { Note, Advice, Warning, Error };
std::string_view severityKey(Severity severity); // "note", "advice", "warning", "error"

enum class RemedyKind : std::uint8_t {
    SetScale,           // value
    HalveScale,         // value: the new one
    LiftMaxScale,       // no largest scale any more
    CapScale,           // value: the largest scale
    LowerMinScale,      // value: the smallest scale
    GrowthInterval,     // value
    ModulesToFp32,      // modules
    ModulesToBf16,      // modules
    SensitiveToFp32,    // embeddings, norms and head: modules
    AllFp32,            // mixed precision off
    AllBf16,            // mixed BF16
    ScalerOn,           // PyTorch's
    ScalerOff,          //
    SkipNonfinite,      //
    LearningRate,       // value
    ClipNorm,           // value
    Epsilon,            // value
    MasterWeights,      //
    MeasureActivations, //
    Restart,            // with the same seed
};

// A button: commands to post, in this order.
struct Remedy {
    RemedyKind kind = RemedyKind::SetScale;
    double value = 0.0;
    std::vector<std::int16_t> modules;
    std::vector<Command> commands;
};
// Whether they are the same button; the commands follow from the rest.
bool sameRemedy(const Remedy& a, const Remedy& b);

struct Finding {
    int id = 0; // what it is about: of findings with the same id at most one stands
    FindingKind kind = FindingKind::ProbeOverflow;
    Severity severity = Severity::Note;
    std::int64_t firstStep = 0; // at which it was first seen
    std::int64_t lastStep = 0;  // at which it was last seen
    bool ended = false;
    std::vector<std::int16_t> modules;
    std::int8_t tap = -1; // -1: none
    double share = 0.0;
    double value = 0.0;
    double limit = 0.0;
    double largest = 0.0;
    double scale = 0.0;
    double scaleFrom = 0.0;
    std::int64_t count = 0;
    std::int64_t of = 0;
    std::int64_t window = 0;
    std::uint64_t values = 0;
    bool atStart = false;
    bool injected = false;
    bool lossLost = false;
    bool whole = false;
    std::vector<Remedy> remedies; // the likeliest first
};

// "h0.mlp.fc, h1.mlp.fc and 3 more"
std::string moduleList(const std::vector<std::int16_t>& modules, const std::vector<ModuleInfo>& names);
// Two English sentences or three: what is seen, with its numbers, and why.
std::string findingText(const Finding& finding, const std::vector<ModuleInfo>& names);
std::string remedyText(const Remedy& remedy, const std::vector<ModuleInfo>& names); // "Set the scale to 2^14"

} // namespace halfscope
