// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/statistical_rules.h"

#include <algorithm>
#include <cmath>

namespace halfscope {

namespace {

constexpr double kTopShare = 1e-7;
constexpr int kTopOctaves = 3; // 65504 / 8 and above

double powerOfTwoBelow(double scale) { return std::exp2(std::floor(std::log2(scale))); }
double powerOfTwoAbove(double scale) { return std::exp2(std::ceil(std::log2(scale))); }

double withinBounds(const ScalerConfig& config, double scale)
{
    return std::clamp(scale, lowestScale(config), highestScale(config));
}

} // namespace

void GradientFacts::add(const TensorStatistics& statistics, FormatId format)
{
    const FloatFormat& f = floatFormat(format);
    if (f.exponentBits >= floatFormat(FormatId::Fp32).exponentBits)
        return; // has FP32's range, as BF16, and needs no scale
    if (narrowest == nullptr || f.overflowFrom < narrowest->overflowFrom)
        narrowest = &f;
    for (std::size_t i = 0; i < histogram.bins.size(); ++i)
        histogram.bins[i] += statistics.histogram.bins[i];
    if (statistics.absMax > 0.0F) {
        const auto smallest = static_cast<double>(statistics.absMin);
        absMin = absMin > 0.0 ? std::min(absMin, smallest) : smallest;
        absMax = std::max(absMax, static_cast<double>(statistics.absMax));
    }
    nonfinite |= statistics.nonfinite();
}

void LogNormalRule::observe(double log2Max)
{
    const auto average = [](double& mean, double decay, double value) { mean = decay * mean + (1.0 - decay) * value; };
    average(m_mean, kFast, log2Max);
    average(m_fastWeight, kFast, 1.0);
    average(m_slowMean, kSlow, log2Max);
    average(m_slowSquares, kSlow, log2Max * log2Max);
    average(m_slowWeight, kSlow, 1.0);
}

std::optional<double> LogNormalRule::log2Scale(double log2Limit) const
{
    if (m_fastWeight == 0.0)
        return std::nullopt;
    const double slowMean = m_slowMean / m_slowWeight;
    const double deviation = std::sqrt(std::max(0.0, m_slowSquares / m_slowWeight - slowMean * slowMean));
    return log2Limit - (m_mean / m_fastWeight + kDeviations * deviation);
}

double preventiveScale(const GradientFacts& facts, double scale)
{
    if (facts.narrowest == nullptr)
        return scale;
    // |g| S >= limit / 8, in whole bins: exact for a scale that is a power of two.
    const double from = std::log2(facts.narrowest->overflowFrom / scale) - kTopOctaves;
    std::uint64_t top = 0;
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e)
        top += e + 1 > from + 1e-3 ? facts.histogram.at(e) : 0; // 65520 is a hair below 2^16
    const bool crowded =
        facts.nonfinite || static_cast<double>(top) > kTopShare * static_cast<double>(facts.histogram.total());
    return crowded ? scale / 2.0 : scale * 2.0;
}

double highestStableScale(const FloatFormat& format, double absMax)
{
    return powerOfTwoBelow(format.largest / absMax / 2.0);
}

double stabilityBandScale(const GradientFacts& facts, double scale, double lowQuantile)
{
    if (facts.narrowest == nullptr || facts.absMax == 0.0)
        return scale;
    const double top = facts.narrowest->largest / facts.absMax;
    const double bottom = facts.narrowest->smallestSubnormal / facts.histogram.quantile(lowQuantile);
    const double highest = highestStableScale(*facts.narrowest, facts.absMax);
    if (scale > top || facts.nonfinite)
        return std::min(highest, scale);
    if (scale < bottom)
        return std::max(scale, std::min(powerOfTwoAbove(bottom), highest));
    return scale;
}

double ScaleAdvice::of(ScalerRule rule) const
{
    switch (rule) {
    case ScalerRule::Dynamic:
        return 0.0;
    case ScalerRule::LogNormal:
        return logNormal;
    case ScalerRule::Preventive:
        return preventive;
    case ScalerRule::StabilityBand:
        return stabilityBand;
    }
    return 0.0;
}

void ScaleAdvisor::observe(const GradientFacts& facts, double scale, double lowQuantile, const ScalerConfig& bounds)
{
    m_advice = {};
    if (facts.narrowest == nullptr || !(scale > 0))
        return;
    const double log2Limit = std::log2(facts.narrowest->overflowFrom);
    if (facts.absMax > 0.0) {
        // What became infinite before it was measured was at least as large as the limit.
        const double seen = std::log2(facts.absMax);
        m_logNormal.observe(facts.nonfinite ? std::max(seen, log2Limit - std::log2(scale)) : seen);
    }
    if (const std::optional<double> log2Scale = m_logNormal.log2Scale(log2Limit))
        m_advice.logNormal = withinBounds(bounds, std::exp2(std::floor(std::clamp(*log2Scale, -126.0, 127.0))));
    m_advice.preventive = withinBounds(bounds, preventiveScale(facts, scale));
    m_advice.stabilityBand = withinBounds(bounds, stabilityBandScale(facts, scale, lowQuantile));
}

} // namespace halfscope
