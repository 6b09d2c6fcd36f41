// SPDX-License-Identifier: GPL-3.0-or-later
// What a scaler's configuration and saved state may be. The command line, files, live edits and restoring all end here.
#include <algorithm>
#include <cmath>

#include "engine/amp/loss_scaler.h"
#include "engine/core/number_text.h"

namespace halfscope {

namespace {

// The nearest factors to 1 that move every FP32 scale: the growth by an ulp of 1, the backoff by an ulp below it.
constexpr double kSmallestGrowth = 1.0 + 0x1p-23;
constexpr double kLargestBackoff = 1.0 - 0x1p-24;

bool within(double value, double low, double high) { return value >= low && value <= high; } // false for NaN

bool isUsable(double scale) { return within(scale, kLowestUsableScale, kHighestUsableScale); }

void checkScales(const ScalerConfig& c, std::vector<ConfigProblem>& problems)
{
    const bool minValid = c.minScale == kNoMinimum || isUsable(c.minScale);
    const bool maxValid = c.maxScale == kNoMaximum || isUsable(c.maxScale);
    if (!minValid)
        problems.push_back({"min-scale", numberText(c.minScale),
                            "0 (no minimum) or a number from 2^-126 (1.1754943508222875e-38, where "
                            "1/scale is still finite) to 3.4028234663852886e+38"});
    if (!maxValid)
        problems.push_back({"max-scale", numberText(c.maxScale),
                            "inf (no maximum) or a number from 2^-126 to 3.4028234663852886e+38, the largest FP32 "
                            "number"});
    if (minValid && maxValid && c.minScale > c.maxScale) {
        problems.push_back(
            {"min-scale", numberText(c.minScale), "a number not above max-scale, which is " + numberText(c.maxScale)});
        return;
    }
    const double low = minValid ? lowestScale(c) : kLowestUsableScale;
    const double high = maxValid ? highestScale(c) : kHighestUsableScale;
    if (!within(c.initialScale, low, high))
        problems.push_back(
            {"initial-scale", numberText(c.initialScale),
             "a number from min-scale to max-scale, here " + numberText(low) + " to " + numberText(high)});
    if (!(c.threshold == 0 || isUsable(c.threshold)))
        problems.push_back({"threshold", numberText(c.threshold),
                            "0 (none) or a number from 2^-126 to "
                            "3.4028234663852886e+38"});
}

void checkChoices(const ScalerConfig& c, std::vector<ConfigProblem>& problems)
{
    const auto check = [&](const char* field, std::string_view word, const char* words) {
        if (word.empty())
            problems.push_back({field, "unknown", words});
    };
    check("scaler-rule", scalerRuleKey(c.rule), "dynamic, log-normal, preventive or stability-band");
    check("hysteresis-kind", hysteresisKindKey(c.hysteresisKind), "none, budget, consecutive or repeating");
    check("at-min", atMinimumKey(c.atMinimum), "skip, pause, stop or sanitise");
    check("min-trigger", minTriggerKey(c.minTrigger), "overflow or reached");
    check("scale-arithmetic", arithmeticKey(c.arithmetic), "fp32, fp32-factor or fp64");
    check("growth-after", growthAfterKey(c.growthAfter), "n, n+1 or first-n+1");
    check("growth-cap", growthCapKey(c.growthCap), "keep, clamp or none");
    check("backoff-rule", backoffRuleKey(c.backoffRule), "factor or divide");
}

} // namespace

double lowestScale(const ScalerConfig& config) { return std::max(config.minScale, kLowestUsableScale); }
double highestScale(const ScalerConfig& config) { return std::min(config.maxScale, kHighestUsableScale); }

bool adaptInitialScale(ScalerConfig& config, std::string_view editedKey)
{
    if ((editedKey != "min-scale" && editedKey != "max-scale") || config.minScale > config.maxScale)
        return false;
    const double before = config.initialScale;
    config.initialScale = std::clamp(before, lowestScale(config), highestScale(config));
    return config.initialScale != before;
}

std::string ConfigProblem::message() const
{
    return field + " = " + value + " is not allowed: it must be " + allowed + ".";
}

ConfigProblem scaleProblem(double scale, std::string allowed)
{
    return {"scale", numberText(scale), std::move(allowed)};
}

std::vector<ConfigProblem> validate(const ScalerConfig& c)
{
    std::vector<ConfigProblem> problems;
    checkScales(c, problems);
    if (!(std::isfinite(c.growthFactor) && c.growthFactor >= kSmallestGrowth))
        problems.push_back({"growth-factor", numberText(c.growthFactor),
                            "a finite number greater than 1 (at least 1 + 2^-23, or FP32 would not show it); for a "
                            "scale that never grows use scaler = static"});
    if (!(c.backoffFactor > 0 && c.backoffFactor <= kLargestBackoff))
        problems.push_back({"backoff-factor", numberText(c.backoffFactor),
                            "a number greater than 0 and less than 1 (at most 1 - 2^-24, or FP32 would not show it)"});
    if (c.growthInterval < 1)
        problems.push_back({"growth-interval", numberText(c.growthInterval), "a whole number of steps, at least 1"});
    if (c.hysteresis < 1)
        problems.push_back({"hysteresis", numberText(static_cast<std::int64_t>(c.hysteresis)),
                            "a whole number, at least 1 (1: every overflow backs off)"});
    if (!within(c.tolerance, 0.0, 1.0))
        problems.push_back({"tolerance", numberText(c.tolerance),
                            "a share from 0 (every overflow backs off) to 1 (only if all steps overflow)"});
    if (c.maxOverflows < 0)
        problems.push_back({"max-overflows", numberText(c.maxOverflows), "a whole number of steps, 0 for no limit"});
    checkChoices(c, problems);
    return problems;
}

std::optional<ConfigProblem> LossScaler::validateState(const State& s)
{
    const std::vector<ConfigProblem> problems = validate(s.config);
    if (!problems.empty())
        return problems.front();
    if (!s.config.enabled) {
        if (s.scale != 1.0)
            return scaleProblem(s.scale, "1 while the scaler is off");
    } else {
        const bool fp32 = s.config.arithmetic != ScaleArithmetic::Fp64;
        const auto bound = [&](double b) { return fp32 ? static_cast<double>(static_cast<float>(b)) : b; };
        // Without a minimum or a maximum the scale may have vanished or become infinite.
        const double low = bound(s.config.minScale);
        const double high = bound(s.config.maxScale);
        if (!within(s.scale, low, high))
            return scaleProblem(s.scale, "a number from min-scale to max-scale, here " + numberText(low) + " to " +
                                             numberText(high));
        if (fp32 && static_cast<double>(static_cast<float>(s.scale)) != s.scale)
            return scaleProblem(s.scale, "an FP32 number");
    }
    if (s.growthTracker < 0)
        return ConfigProblem{"growth-tracker", numberText(s.growthTracker), "a number of steps, at least 0"};
    if (s.hysteresisLeft < 0 || s.hysteresisLeft > s.config.hysteresis)
        return ConfigProblem{"hysteresis-left", numberText(static_cast<std::int64_t>(s.hysteresisLeft)),
                             "a number from 0 to hysteresis, which is " +
                                 numberText(static_cast<std::int64_t>(s.config.hysteresis))};
    if (s.consecutiveOverflows < 0)
        return ConfigProblem{"consecutive-overflows", numberText(s.consecutiveOverflows), "a count, at least 0"};
    if (s.stepsSinceChange < 0)
        return ConfigProblem{"steps-since-change", numberText(s.stepsSinceChange), "a number of steps, at least 0"};
    if (s.overflowsSinceBackoff < 0)
        return ConfigProblem{"overflows-since-backoff", numberText(s.overflowsSinceBackoff), "a count, at least 0"};
    return std::nullopt;
}

} // namespace halfscope
