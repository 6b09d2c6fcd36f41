// SPDX-License-Identifier: GPL-3.0-or-later
// The loss-scale state machine. One set of named parameters expresses every framework's rule; presets fill them in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halfscope {

enum class HysteresisKind : std::uint8_t {
    None,        // every overflow backs off
    Budget,      // overflows are paid from a budget that only growth refills (Megatron, DeepSpeed)
    Consecutive, // the budget is refilled by every clean step
};

enum class AtMinimum : std::uint8_t {
    Skip,     // stay there and keep skipping
    Pause,    // pause the run and say so
    Stop,     // end the run and say so
    Sanitise, // replace nonfinite gradients by zero and apply the step
};

struct ScalerConfig {
    std::string preset = "pytorch"; // label only: the parameters below are what counts
    bool enabled = true;            // off: scale 1, nonfinite steps are still skipped
    bool dynamic = true;            // false: static scale, nonfinite steps are skipped, the scale never moves
    double initialScale = 65536.0;
    double growthFactor = 2.0;
    double backoffFactor = 0.5;
    std::int64_t growthInterval = 2000;
    double minScale = 1.1754943508222875e-38; // 2^-126: below it 1/S is not finite in FP32
    double maxScale = 3.4028234663852886e38;  // FLT_MAX
    int hysteresis = 1;
    HysteresisKind hysteresisKind = HysteresisKind::None;
    AtMinimum atMinimum = AtMinimum::Skip;

    bool operator==(const ScalerConfig&) const = default;
};

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

// The words of settings and files: "none", "budget", "consecutive"; "skip", "pause", "stop", "sanitise".
std::string_view hysteresisKindKey(HysteresisKind kind);
std::string_view atMinimumKey(AtMinimum action);

enum class ScaleEvent : std::uint8_t {
    None,
    Grew,
    GrowthCapped, // the interval was reached, but max or FP32 forbade (all of) the growth
    BackedOff,
    Tolerated, // an overflow was paid from the hysteresis budget; the scale stays
    AtMinimum, // an overflow at the minimum
};
std::string_view scaleEventKey(ScaleEvent e); // "", "growth", "growth-capped", "backoff", "tolerated", "at-minimum"

class LossScaler {
public:
    explicit LossScaler(const ScalerConfig& config); // config must be valid

    const ScalerConfig& config() const { return m_config; }
    float scale() const { return m_scale; }                        // 1 when disabled
    float inverseScale() const;                                    // float(1 / double(scale))
    std::int64_t growthTracker() const { return m_growthTracker; } // clean steps since the last change
    int hysteresisLeft() const { return m_hysteresisLeft; }
    std::int64_t consecutiveOverflows() const { return m_consecutiveOverflows; }

    // After the step: one clean or one overflowed step happened. Factors are applied as PyTorch does:
    // float(double(scale) * factor). The comparison with the interval is >=, so that it may change at any time.
    ScaleEvent update(bool foundInf);
    // What update() would report, without doing it.
    ScaleEvent peek(bool foundInf) const { return LossScaler(*this).update(foundInf); }

    // A live edit. The scale and the counters stay, clamped into what the new configuration allows; overflows already
    // paid from the hysteresis budget stay paid. Switching between dynamic, static and off zeroes the growth tracker;
    // switching on from off starts at the initial scale. config must be valid.
    void reconfigure(const ScalerConfig& config);
    // Sets the scale now; zeroes the growth tracker. Clamped to [min, max]. Does nothing when refusal() has a reason.
    void setScale(double scale);
    // Why setScale(scale) would be refused: the scaler is off, or the value is no finite number above 0.
    std::optional<ConfigProblem> refusal(double scale) const;

    // The whole state, and back. Restoring refuses an incomplete, nonfinite or invalid state with the reason and leaves
    // this scaler as it was.
    struct State {
        ScalerConfig config;
        double scale = 0.0;
        std::int64_t growthTracker = 0;
        int hysteresisLeft = 0;
        std::int64_t consecutiveOverflows = 0;
        bool operator==(const State&) const = default;
    };
    State state() const;
    std::optional<ConfigProblem> restore(const State& state);
    // Why restore() would refuse it.
    static std::optional<ConfigProblem> validateState(const State& state);

private:
    ScaleEvent overflowed();
    ScaleEvent stayedClean();

    ScalerConfig m_config;
    float m_scale = 1.0F;
    std::int64_t m_growthTracker = 0;
    int m_hysteresisLeft = 1;
    std::int64_t m_consecutiveOverflows = 0;
};

} // namespace halfscope
