// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/delayed_scaling.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace halfscope {

namespace {

constexpr int kMostOctaves = 100; // so that products with the loss scale, and their reciprocals, stay in FP32

} // namespace

float fp8Scale(FormatId format, float amax, int margin)
{
    // A quotient of two FP32 numbers never rounds up to a power of two that it does not reach.
    const int exponent = std::ilogb(floatFormat(format).largest / static_cast<double>(amax)) - margin;
    return std::ldexp(1.0F, std::clamp(exponent, -kMostOctaves, kMostOctaves));
}

void DelayedScale::observe(float amax) { m_current = std::max(m_current, amax); }

void DelayedScale::advance(const Fp8Scaling& recipe, FormatId format)
{
    if (!recipe.delayed) {
        *this = {};
        return;
    }
    const auto length = static_cast<std::size_t>(recipe.history);
    m_history.reserve(length + 1); // so that no later step takes memory
    if (!(m_current > 0))
        return;
    m_history.insert(m_history.begin(), std::exchange(m_current, 0.0F));
    m_history.resize(std::min(m_history.size(), length));
    const float amax = *std::max_element(m_history.begin(), m_history.end());
    if (std::isfinite(amax))
        m_scale = fp8Scale(format, amax, recipe.margin);
}

} // namespace halfscope
