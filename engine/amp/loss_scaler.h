// SPDX-License-Identifier: GPL-3.0-or-later
// The loss-scale state machine. One set of named parameters expresses every framework's rule; presets fill them in.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/amp/scaler_config.h"

namespace halfscope {

enum class ScaleEvent : std::uint8_t {
    None,
    Grew,
    GrowthCapped, // the interval was reached, but max or FP32 forbade (all of) the growth
    BackedOff,
    Tolerated,        // an overflow was paid from the hysteresis budget or the tolerance; the scale stays
    AtMinimum,        // an overflow at the minimum, or one that would have reached it: the action is due
    AtThreshold,      // an overflow at the threshold, where the scale stays
    Vanished,         // backing off without a minimum made the scale 0
    Infinite,         // growth without a cap made the scale infinite
    TooManyOverflows, // more than maxOverflows in a row
    Steered,          // a statistical rule moved the scale
};
// "", "growth", "growth-capped", "backoff", "tolerated", "at-minimum", "at-threshold", "zero", "infinite", "raised",
// "steered"
std::string_view scaleEventKey(ScaleEvent e);

class LossScaler {
public:
    explicit LossScaler(const ScalerConfig& config); // config must be valid

    const ScalerConfig& config() const { return m_config; }
    float scale() const { return static_cast<float>(m_state.scale); }    // 1 when disabled
    double exactScale() const { return m_state.scale; }                  // with FP64 arithmetic more than FP32 holds
    float inverseScale() const;                                          // float(1 / double(scale()))
    std::int64_t growthTracker() const { return m_state.growthTracker; } // clean steps since the last change
    std::int64_t stepsToGrowth() const { return halfscope::stepsToGrowth(m_config, m_state.grown); }
    int hysteresisLeft() const { return m_state.hysteresisLeft; }
    std::int64_t consecutiveOverflows() const { return m_state.consecutiveOverflows; }

    // After the step: one clean or one overflowed step happened. The comparison with the interval is >=, so that it may
    // change at any time.
    ScaleEvent update(bool foundInf);
    // What update() would report, without doing it.
    ScaleEvent peek(bool foundInf) const { return LossScaler(*this).update(foundInf); }

    // A statistical rule sets the scale after the step, within the bounds. Steered, or None when it does not move.
    ScaleEvent steer(double scale);

    // Whether FP32 can multiply by the scale and by its reciprocal. Where the originals go on with 0, infinity or NaN,
    // holdUsable() brings the scale back to the nearest one that can be used; true if that was needed.
    bool usable() const;
    bool holdUsable();

    // A live edit. The scale and the counters stay, clamped into what the new configuration allows; overflows already
    // paid from the hysteresis budget stay paid. Switching between dynamic, static and off zeroes the growth tracker;
    // switching on from off starts at the initial scale. config must be valid.
    void reconfigure(const ScalerConfig& config);
    // Sets the scale now; zeroes the growth tracker. Clamped to what is allowed and usable. Does nothing when
    // refusal() has a reason.
    void setScale(double scale);
    // Why setScale(scale) would be refused: the scaler is off, or the value is no finite number above 0.
    std::optional<ConfigProblem> refusal(double scale) const;

    // The whole state, and back. Restoring refuses an incomplete, nonfinite or invalid state with the reason and leaves
    // this scaler as it was.
    struct State {
        ScalerConfig config;
        double scale = -1.0;
        std::int64_t growthTracker = 0;
        int hysteresisLeft = 0;
        std::int64_t consecutiveOverflows = 0;
        bool grown = false;                     // since the last overflow
        std::int64_t stepsSinceChange = 0;      // of the scale: what the tolerance is a share of
        std::int64_t overflowsSinceBackoff = 0; // likewise
        bool operator==(const State&) const = default;
    };
    State state() const;
    std::optional<ConfigProblem> restore(const State& state);
    // Why restore() would refuse it.
    static std::optional<ConfigProblem> validateState(const State& state);

private:
    ScaleEvent overflowed();
    ScaleEvent backOff();
    ScaleEvent stayedClean();
    ScaleEvent grow();

    ScalerConfig m_config;
    State m_state; // its config is not used
};

} // namespace halfscope
