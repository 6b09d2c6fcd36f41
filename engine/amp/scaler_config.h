// SPDX-License-Identifier: GPL-3.0-or-later
// The parameters of the loss-scale state machine, what they may be, and the presets that make it another system's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halfscope {

enum class HysteresisKind : std::uint8_t {
    None,        // every overflow backs off
    Budget,      // overflows are paid from a budget that only growth refills (Megatron, DeepSpeed)
    Consecutive, // the budget is refilled by every clean step (DeepSpeed's consecutive_hysteresis)
    Repeating,   // by every clean step and by backing off: each n overflows in a row back off once (Paddle)
};

enum class AtMinimum : std::uint8_t {
    Skip,     // stay there and keep skipping
    Pause,    // pause the run and say so
    Stop,     // end the run and say so; what raises in the original
    Sanitise, // replace nonfinite gradients by zero and apply the step
};

// When the action at the minimum is due.
enum class MinTrigger : std::uint8_t {
    Overflow, // an overflow at the minimum
    Reached,  // backing off would reach the minimum; the scale stays where it is (fairseq)
};

// What the scale is kept in, and how a factor is applied.
enum class ScaleArithmetic : std::uint8_t {
    Fp32,       // FP32; the product is formed in FP64 and rounded once (PyTorch)
    Fp32Factor, // FP32; the factor is rounded to FP32 first (tensors times tensors: Megatron, JAX, Keras)
    Fp64,       // FP64, as a Python number (DeepSpeed, Apex, fairseq)
};

// How many clean steps in a row it takes to grow, N being the growth interval.
enum class GrowthAfter : std::uint8_t {
    N,
    NPlusOne,      // (Flax)
    FirstNPlusOne, // at the start and after an overflow; from growth to growth N (DeepSpeed)
};

// What happens to a growth that the format of the scale cannot hold.
enum class GrowthCap : std::uint8_t {
    Keep,  // the scale stays (PyTorch, JMP)
    Clamp, // the scale becomes the maximum (Flax, Apex)
    None,  // the scale becomes infinite (Keras, Megatron)
};

enum class BackoffRule : std::uint8_t {
    Factor, // times backoff-factor
    Divide, // divided by growth-factor: systems with one factor for both (JMP, fairseq)
};

// What moves the scale when nothing overflows. An overflow always skips the step and backs off.
enum class ScalerRule : std::uint8_t {
    Dynamic,   // growth after clean steps
    LogNormal, // the rules of statistical_rules.h, at every measured step
    Preventive,
    StabilityBand,
};

inline constexpr double kLowestUsableScale = 0x1p-126;               // below 2^-127 1/scale is not finite in FP32
inline constexpr double kHighestUsableScale = 3.4028234663852886e38; // FLT_MAX
inline constexpr double kNoMinimum = 0.0;
inline constexpr double kNoMaximum = __builtin_huge_val();

// The defaults are torch.amp.GradScaler's.
struct ScalerConfig {
    std::string preset = "pytorch"; // label only: the parameters below are what counts
    bool enabled = true;            // off: scale 1, nonfinite steps are still skipped
    bool dynamic = true;            // false: static scale, nonfinite steps are skipped, the scale never moves
    ScalerRule rule = ScalerRule::Dynamic;
    bool skipNonfinite = true; // false: steps with nonfinite gradients are applied (Apex's static scaler)
    double initialScale = 65536.0;
    double growthFactor = 2.0;
    double backoffFactor = 0.5;
    BackoffRule backoffRule = BackoffRule::Factor;
    std::int64_t growthInterval = 2000;
    GrowthAfter growthAfter = GrowthAfter::N;
    GrowthCap growthCap = GrowthCap::Keep;
    double minScale = kNoMinimum; // kNoMinimum: the scale may fall until it vanishes
    double maxScale = kNoMaximum; // a growth beyond it stops there; kNoMaximum: growthCap alone decides
    int hysteresis = 1;
    HysteresisKind hysteresisKind = HysteresisKind::None;
    AtMinimum atMinimum = AtMinimum::Skip;
    MinTrigger minTrigger = MinTrigger::Overflow;
    ScaleArithmetic arithmetic = ScaleArithmetic::Fp32;
    double tolerance =
        0.0; // an overflow backs off only if so large a share of the steps since the last change overflowed
    double threshold = 0.0;        // backing off stops here without minding; 0: none (fairseq)
    std::int64_t maxOverflows = 0; // more overflows in a row than this end the run; 0: never (MindSpore)

    bool operator==(const ScalerConfig&) const = default;
};

// The scales a run may be set to: the bounds, and what FP32 can multiply and divide by.
double lowestScale(const ScalerConfig& config);
double highestScale(const ScalerConfig& config);

// After a live edit of "min-scale" or "max-scale": the initial scale, which only counts at a restart, follows into the
// new bounds instead of forbidding them. True if it moved.
bool adaptInitialScale(ScalerConfig& config, std::string_view editedKey);

// Clean steps in a row that growth takes; `grown`: it has grown since the last overflow.
std::int64_t stepsToGrowth(const ScalerConfig& config, bool grown);

struct ConfigProblem {
    std::string field;           // settings key: "growth-factor"
    std::string value;           // as given
    std::string allowed;         // "a finite number greater than 1"
    std::string message() const; // one sentence
};
ConfigProblem scaleProblem(double scale, std::string allowed); // of the setting "scale"

// All problems of the configuration as a whole; empty means valid.
std::vector<ConfigProblem> validate(const ScalerConfig& config);

struct ScalerPreset {
    std::string_view key;        // "pytorch", "static"
    std::string_view name;       // "PyTorch GradScaler"
    std::string_view difference; // one line: how it differs from PyTorch's
    ScalerConfig config;
};
const std::vector<ScalerPreset>& scalerPresets();
const ScalerPreset* findScalerPreset(std::string_view key);
// The preset whose parameters these are, or "custom"; the label in config.preset is not looked at.
std::string_view scalerPresetKey(const ScalerConfig& config);

// The words of settings and files.
std::string_view hysteresisKindKey(HysteresisKind kind); // "none", "budget", "consecutive", "repeating"
std::string_view atMinimumKey(AtMinimum action);         // "skip", "pause", "stop", "sanitise"
std::string_view minTriggerKey(MinTrigger trigger);      // "overflow", "reached"
std::string_view arithmeticKey(ScaleArithmetic a);       // "fp32", "fp32-factor", "fp64"
std::string_view growthAfterKey(GrowthAfter after);      // "n", "n+1", "first-n+1"
std::string_view growthCapKey(GrowthCap cap);            // "keep", "clamp", "none"
std::string_view backoffRuleKey(BackoffRule rule);       // "factor", "divide"
std::string_view scalerRuleKey(ScalerRule rule);         // "dynamic", "log-normal", "preventive", "stability-band"

} // namespace halfscope
