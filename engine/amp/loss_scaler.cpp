// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/loss_scaler.h"

#include <algorithm>
#include <cmath>

namespace halfscope {

namespace {

// The bounds as the scale, an FP32 number, meets them.
float lowest(const ScalerConfig& c) { return static_cast<float>(c.minScale); }
float highest(const ScalerConfig& c) { return static_cast<float>(c.maxScale); }

float clamped(const ScalerConfig& c, double scale)
{
    return std::clamp(static_cast<float>(std::clamp(scale, c.minScale, c.maxScale)), lowest(c), highest(c));
}

// FP32 state, factor in FP64, rounded once: what PyTorch's update kernel computes.
float times(float scale, double factor) { return static_cast<float>(static_cast<double>(scale) * factor); }

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
    }
    return "";
}

LossScaler::LossScaler(const ScalerConfig& config)
    : m_config(config),
      m_scale(config.enabled ? clamped(config, config.initialScale) : 1.0F),
      m_hysteresisLeft(config.hysteresis)
{
}

float LossScaler::inverseScale() const { return static_cast<float>(1.0 / static_cast<double>(m_scale)); }

ScaleEvent LossScaler::update(bool foundInf)
{
    m_consecutiveOverflows = foundInf ? m_consecutiveOverflows + 1 : 0;
    if (!m_config.enabled || !m_config.dynamic)
        return ScaleEvent::None;
    return foundInf ? overflowed() : stayedClean();
}

ScaleEvent LossScaler::overflowed()
{
    m_growthTracker = 0;
    if (tolerates(m_config)) {
        // The last overflow of the budget backs off, and so does every further one until the budget is refilled.
        m_hysteresisLeft = std::max(m_hysteresisLeft - 1, 0);
        if (m_hysteresisLeft > 0)
            return ScaleEvent::Tolerated;
    }
    // <=, not ==: a factor that is no power of two may have passed the minimum by an ulp.
    if (m_scale <= lowest(m_config)) {
        m_scale = lowest(m_config);
        return ScaleEvent::AtMinimum;
    }
    m_scale = std::max(times(m_scale, m_config.backoffFactor), lowest(m_config));
    return ScaleEvent::BackedOff;
}

ScaleEvent LossScaler::stayedClean()
{
    if (m_config.hysteresisKind == HysteresisKind::Consecutive)
        m_hysteresisLeft = m_config.hysteresis;
    ++m_growthTracker;
    if (m_growthTracker < m_config.growthInterval)
        return ScaleEvent::None;
    // The interval was reached: the counter and the budget start anew even when the growth itself is refused.
    m_growthTracker = 0;
    m_hysteresisLeft = m_config.hysteresis;
    const float grown = times(m_scale, m_config.growthFactor);
    if (!std::isfinite(grown))
        return ScaleEvent::GrowthCapped;
    if (grown > highest(m_config)) {
        m_scale = highest(m_config);
        return ScaleEvent::GrowthCapped;
    }
    m_scale = grown;
    return ScaleEvent::Grew;
}

void LossScaler::reconfigure(const ScalerConfig& config)
{
    const ScalerConfig old = m_config;
    m_config = config;
    if (old.enabled != config.enabled || old.dynamic != config.dynamic)
        m_growthTracker = 0;
    if (!config.enabled) {
        m_scale = 1.0F;
    } else if (!old.enabled) {
        m_scale = clamped(config, config.initialScale); // there is no earlier scale to go on from
    } else {
        m_scale = clamped(config, m_scale);
    }
    // What was consumed stays consumed: a budget lowered below it backs off at the next overflow.
    const int consumed = tolerates(old) && tolerates(config) ? old.hysteresis - m_hysteresisLeft : 0;
    m_hysteresisLeft = std::max(config.hysteresis - consumed, 0);
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
    m_scale = clamped(m_config, scale);
    m_growthTracker = 0;
}

LossScaler::State LossScaler::state() const
{
    State s;
    s.config = m_config;
    s.scale = m_scale;
    s.growthTracker = m_growthTracker;
    s.hysteresisLeft = m_hysteresisLeft;
    s.consecutiveOverflows = m_consecutiveOverflows;
    return s;
}

std::optional<ConfigProblem> LossScaler::restore(const State& state)
{
    if (std::optional<ConfigProblem> problem = validateState(state))
        return problem;
    m_config = state.config;
    m_scale = static_cast<float>(state.scale);
    m_growthTracker = state.growthTracker;
    m_hysteresisLeft = state.hysteresisLeft;
    m_consecutiveOverflows = state.consecutiveOverflows;
    return std::nullopt;
}

} // namespace halfscope
