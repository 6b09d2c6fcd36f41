// SPDX-License-Identifier: GPL-3.0-or-later
// The words that settings and files use for the scaler's choices; empty for a value that is none of them.
#include <array>

#include "engine/amp/scaler_config.h"

namespace halfscope {

namespace {

template <typename Choice, std::size_t N>
std::string_view word(Choice choice, const std::array<std::string_view, N>& words)
{
    const auto index = static_cast<std::size_t>(choice);
    return index < N ? words[index] : std::string_view();
}

} // namespace

std::string_view hysteresisKindKey(HysteresisKind kind)
{
    return word<HysteresisKind, 4>(kind, {"none", "budget", "consecutive", "repeating"});
}

std::string_view atMinimumKey(AtMinimum action)
{
    return word<AtMinimum, 4>(action, {"skip", "pause", "stop", "sanitise"});
}

std::string_view minTriggerKey(MinTrigger trigger) { return word<MinTrigger, 2>(trigger, {"overflow", "reached"}); }

std::string_view arithmeticKey(ScaleArithmetic a)
{
    return word<ScaleArithmetic, 3>(a, {"fp32", "fp32-factor", "fp64"});
}

std::string_view growthAfterKey(GrowthAfter after) { return word<GrowthAfter, 3>(after, {"n", "n+1", "first-n+1"}); }

std::string_view growthCapKey(GrowthCap cap) { return word<GrowthCap, 3>(cap, {"keep", "clamp", "none"}); }

std::string_view backoffRuleKey(BackoffRule rule) { return word<BackoffRule, 2>(rule, {"factor", "divide"}); }

std::string_view scalerRuleKey(ScalerRule rule)
{
    return word<ScalerRule, 4>(rule, {"dynamic", "log-normal", "preventive", "stability-band"});
}

} // namespace halfscope
