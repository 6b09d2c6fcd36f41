// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/loss_scaler.h"

#include <algorithm>
#include <cmath>

namespace halfscope {

namespace {

double rounded(const ScalerConfig& c, double scale)
{
    return c.arithmetic == ScaleArithmetic::Fp64 ? scale : static_cast<double>(static_cast<float>(scale));
}

// The bounds as the scale meets them.
double lowest(const ScalerConfig& c) { return rounded(c, c.minScale); }
double highest(const ScalerConfig& c) { return rounded(c, c.maxScale); }

// What somebody sets is brought into the bounds, and into what FP32 can use.
double allowed(const ScalerConfig& c, double scale)
{
    return rounded(c, std::clamp(scale, lowestScale(c), highestScale(c)));
}

double times(const ScalerConfig& c, double scale, double factor)
{
    if (c.arithmetic == ScaleArithmetic::Fp32Factor)
        return static_cast<double>(static_cast<float>(scale) * static_cast<float>(factor));
    return rounded(c, scale * factor);
}

double divided(const ScalerConfig& c, double scale, double divisor)
{
    if (c.arithmetic == ScaleArithmetic::Fp32Factor)
        return static_cast<double>(static_cast<float>(scale) / static_cast<float>(divisor));
    return rounded(c, scale / divisor);
}

bool tolerates(const ScalerConfig& c) { return c.hysteresisKind != HysteresisKind::None; }

} // namespace

std::string_view scaleEventKey(ScaleEvent e)
{
    switch (e) {
    case ScaleEvent::None:
        return "";
    case ScaleEvent::Grew:
        return "growth";
    case ScaleEvent::GrowthCapped:
        return "growth-capped";
    case ScaleEvent::BackedOff:
        return "backoff";
    case ScaleEvent::Tolerated:
        return "tolerated";
    case ScaleEvent::AtMinimum:
        return "at-minimum";
    case ScaleEvent::AtThreshold:
        return "at-threshold";
    case ScaleEvent::Vanished:
        return "zero";
    case ScaleEvent::Infinite:
        return "infinite";
    case ScaleEvent::TooManyOverflows:
        return "raised";
    case ScaleEvent::Steered:
        return "steered";
    }
    return "";
}

LossScaler::LossScaler(const ScalerConfig& config) : m_config(config)
{
    m_state.scale = config.enabled ? allowed(config, config.initialScale) : 1.0;
    m_state.hysteresisLeft = config.hysteresis;
}

float LossScaler::inverseScale() const { return static_cast<float>(1.0 / static_cast<double>(scale())); }

std::int64_t stepsToGrowth(const ScalerConfig& config, bool grown)
{
    const bool oneMore =
        config.growthAfter == GrowthAfter::NPlusOne || (config.growthAfter == GrowthAfter::FirstNPlusOne && !grown);
    return config.growthInterval + (oneMore ? 1 : 0);
}

ScaleEvent LossScaler::update(bool foundInf)
{
    m_state.consecutiveOverflows = foundInf ? m_state.consecutiveOverflows + 1 : 0;
    if (!m_config.enabled || !m_config.dynamic)
        return ScaleEvent::None;
    ++m_state.stepsSinceChange;
    const ScaleEvent event = foundInf ? overflowed() : stayedClean();
    if (m_config.maxOverflows > 0 && m_state.consecutiveOverflows > m_config.maxOverflows)
        return ScaleEvent::TooManyOverflows;
    return event;
}

ScaleEvent LossScaler::overflowed()
{
    m_state.growthTracker = 0;
    m_state.grown = false;
    if (tolerates(m_config)) {
        // The last overflow of the budget backs off, and so does every further one until the budget is refilled.
        m_state.hysteresisLeft = std::max(m_state.hysteresisLeft - 1, 0);
        if (m_state.hysteresisLeft > 0)
            return ScaleEvent::Tolerated;
        if (m_config.hysteresisKind == HysteresisKind::Repeating)
            m_state.hysteresisLeft = m_config.hysteresis;
    }
    ++m_state.overflowsSinceBackoff;
    if (static_cast<double>(m_state.overflowsSinceBackoff) / static_cast<double>(m_state.stepsSinceChange) <
        m_config.tolerance)
        return ScaleEvent::Tolerated;
    m_state.overflowsSinceBackoff = 0;
    m_state.stepsSinceChange = 0;
    return backOff();
}

ScaleEvent LossScaler::backOff()
{
    // <=, not ==: a factor that is no power of two may have passed the minimum by an ulp.
    if (m_config.minTrigger == MinTrigger::Overflow && m_config.minScale > 0 && m_state.scale <= lowest(m_config)) {
        m_state.scale = lowest(m_config);
        return ScaleEvent::AtMinimum;
    }
    double next = m_config.backoffRule == BackoffRule::Divide ? divided(m_config, m_state.scale, m_config.growthFactor)
                                                              : times(m_config, m_state.scale, m_config.backoffFactor);
    bool atThreshold = false;
    if (const double threshold = rounded(m_config, m_config.threshold); next < threshold) {
        atThreshold = m_state.scale <= threshold;
        next = threshold;
    }
    if (m_config.minTrigger == MinTrigger::Reached) {
        if (next <= lowest(m_config))
            return ScaleEvent::AtMinimum;
    } else {
        next = std::max(next, lowest(m_config));
    }
    m_state.scale = next;
    return atThreshold ? ScaleEvent::AtThreshold : next == 0.0 ? ScaleEvent::Vanished : ScaleEvent::BackedOff;
}

ScaleEvent LossScaler::stayedClean()
{
    if (m_config.hysteresisKind == HysteresisKind::Consecutive || m_config.hysteresisKind == HysteresisKind::Repeating)
        m_state.hysteresisLeft = m_config.hysteresis;
    ++m_state.growthTracker;
    if (m_config.rule != ScalerRule::Dynamic || m_state.growthTracker < stepsToGrowth())
        return ScaleEvent::None;
    // The interval was reached: the counter and the budget start anew even when the growth itself is refused.
    m_state.growthTracker = 0;
    m_state.grown = true;
    m_state.hysteresisLeft = m_config.hysteresis;
    m_state.stepsSinceChange = 0;
    return grow();
}

ScaleEvent LossScaler::grow()
{
    const double grown = times(m_config, m_state.scale, m_config.growthFactor);
    if (!std::isfinite(grown) && m_config.growthCap == GrowthCap::Keep)
        return ScaleEvent::GrowthCapped;
    if (const double top = m_config.growthCap == GrowthCap::Clamp ? std::min(highest(m_config), kHighestUsableScale)
                                                                  : highest(m_config);
        grown > top) {
        m_state.scale = top;
        return ScaleEvent::GrowthCapped;
    }
    m_state.scale = grown;
    return std::isfinite(grown) ? ScaleEvent::Grew : ScaleEvent::Infinite;
}

ScaleEvent LossScaler::steer(double scale)
{
    if (!m_config.enabled || !m_config.dynamic || !(scale > 0))
        return ScaleEvent::None;
    const double wanted = allowed(m_config, scale);
    if (wanted == m_state.scale)
        return ScaleEvent::None;
    m_state.scale = wanted;
    m_state.growthTracker = 0;
    return ScaleEvent::Steered;
}

bool LossScaler::usable() const { return std::isfinite(scale()) && std::isfinite(inverseScale()); }

bool LossScaler::holdUsable()
{
    if (usable())
        return false;
    m_state.scale = std::clamp(m_state.scale, kLowestUsableScale, kHighestUsableScale);
    return true;
}

void LossScaler::reconfigure(const ScalerConfig& config)
{
    const ScalerConfig old = m_config;
    m_config = config;
    if (old.enabled != config.enabled || old.dynamic != config.dynamic)
        m_state.growthTracker = 0;
    if (!config.enabled) {
        m_state.scale = 1.0;
    } else if (!old.enabled) {
        m_state.scale = allowed(config, config.initialScale); // there is no earlier scale to go on from
    } else {
        m_state.scale = allowed(config, m_state.scale);
    }
    // What was consumed stays consumed: a budget lowered below it backs off at the next overflow.
    const int consumed = tolerates(old) && tolerates(config) ? old.hysteresis - m_state.hysteresisLeft : 0;
    m_state.hysteresisLeft = std::max(config.hysteresis - consumed, 0);
}

std::optional<ConfigProblem> LossScaler::refusal(double scale) const
{
    if (!m_config.enabled)
        return scaleProblem(scale, "left alone while the scaler is off; set scaler-mode to dynamic or static first");
    if (!std::isfinite(scale) || scale <= 0)
        return scaleProblem(scale, "a finite number greater than 0");
    return std::nullopt;
}

void LossScaler::setScale(double scale)
{
    if (refusal(scale))
        return;
    m_state.scale = allowed(m_config, scale);
    m_state.growthTracker = 0;
}

LossScaler::State LossScaler::state() const
{
    State s = m_state;
    s.config = m_config;
    return s;
}

std::optional<ConfigProblem> LossScaler::restore(const State& state)
{
    if (std::optional<ConfigProblem> problem = validateState(state))
        return problem;
    m_config = state.config;
    m_state = state;
    m_state.config = {};
    return std::nullopt;
}

} // namespace halfscope
