// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/amp/statistical_rules.h"

namespace halfscope {

namespace {

constexpr int kPointsPerOctave = 8;

// In the order of rising magnitude.
enum Fate { Flushed, Subnormal, Normal, Overflow, kFates };

// What becomes of a positive magnitude. Multiplying, rounding and casting keep the order of magnitudes, so the fates of
// a bin's two ends bound those of all its values.
Fate fateOf(const FloatFormat& format, double magnitude, double scale)
{
    const double product = magnitude * scale;
    if (product >= floatFormat(FormatId::Fp32).overflowFrom)
        return Overflow; // infinite before it is cast
    switch (classify(format.id, static_cast<float>(product))) {
    case ValueClass::Zero: // FP32 itself cannot hold the product
    case ValueClass::Flushed:
        return Flushed;
    case ValueClass::Subnormal:
        return Subnormal;
    case ValueClass::Normal:
        return Normal;
    default:
        return Overflow;
    }
}

using Fates = std::array<Bounded, kFates>;

void addWhole(Bounded& to, double count)
{
    to.low += count;
    to.value += count;
    to.high += count;
}

// A bin of which each end has another fate. `known`: values whose fate is certain, the extremes.
void addCut(Fates& to, double count, Fate first, Fate last, const std::array<double, kFates>& known,
            const std::array<double, kFates>& below)
{
    double certain = 0.0;
    for (const double n : known)
        certain += n;
    const double rest = count - certain;
    double until = 0.0; // the part of the octave that the fates before this one take
    for (int fate = first; fate <= last; ++fate) {
        const auto i = static_cast<std::size_t>(fate);
        const double upTo = fate == last ? 1.0 : std::max(until, below[i]);
        to[i].low += known[i];
        to[i].value += known[i] + rest * (upTo - until);
        to[i].high += known[i] + rest;
        until = upTo;
    }
}

// Scales either side of the one from which a magnitude times the scale reaches `edge`.
void addJump(std::vector<double>& scales, double edge, double magnitude)
{
    const double at = edge / magnitude;
    if (std::isfinite(at) && at > 0)
        scales.insert(scales.end(), {at * (1.0 - 0x1p-20), at * (1.0 + 0x1p-20)});
}

} // namespace

Bounded& Bounded::operator+=(const Bounded& other)
{
    low += other.low;
    value += other.value;
    high += other.high;
    return *this;
}

ClassEstimate& ClassEstimate::operator+=(const ClassEstimate& other)
{
    flushed += other.flushed;
    subnormal += other.subnormal;
    normal += other.normal;
    overflow += other.overflow;
    return *this;
}

ClassEstimate estimateClasses(const TensorStatistics& statistics, const FloatFormat& format, double scale)
{
    Fates fates;
    const double shift = std::log2(scale);
    const double edges[] = {std::log2(format.flushUpTo) - shift, std::log2(format.smallestNormal) - shift,
                            std::log2(format.overflowFrom) - shift};
    const auto smallest = static_cast<double>(statistics.absMin);
    const auto largest = static_cast<double>(statistics.absMax);
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e) {
        const std::uint64_t bin = statistics.histogram.at(e);
        if (bin == 0)
            continue;
        const auto count = static_cast<double>(bin);
        const double from = std::ldexp(1.0, e);
        const double to = std::ldexp(1.0, e + 1);
        const bool hasSmallest = smallest >= from && smallest < to;
        const bool hasLargest = largest >= from && largest < to;
        const double lowest = hasSmallest ? smallest : from;
        const double highest = hasLargest ? largest : to - std::ldexp(1.0, std::max(e - 23, -149));
        const Fate first = fateOf(format, lowest, scale);
        const Fate last = fateOf(format, highest, scale);
        if (first == last) {
            addWhole(fates[static_cast<std::size_t>(first)], count);
            continue;
        }
        std::array<double, kFates> known{};
        known[static_cast<std::size_t>(first)] += hasSmallest ? 1.0 : 0.0;
        known[static_cast<std::size_t>(last)] += hasLargest ? 1.0 : 0.0;
        std::array<double, kFates> below{};
        for (std::size_t i = 0; i < 3; ++i)
            below[i] = std::clamp(edges[i] - e, 0.0, 1.0);
        addCut(fates, count, first, last, known, below);
    }
    if (statistics.unscaledToInfinity > 0) { // 2^128 or more, in no bin
        const auto count = static_cast<double>(statistics.unscaledToInfinity);
        const bool certain = fateOf(format, 0x1p128, scale) == Overflow;
        fates[Overflow] += {certain ? count : 0.0, count, count};
        if (!certain)
            for (const Fate fate : {Flushed, Subnormal, Normal})
                fates[fate].high += count;
    }
    return {fates[Flushed], fates[Subnormal], fates[Normal], fates[Overflow]};
}

ClassEstimate estimateClasses(std::span<const FormatPart> parts, double scale)
{
    ClassEstimate sum;
    for (const auto& [format, statistics] : parts)
        sum += estimateClasses(statistics, floatFormat(format), scale);
    return sum;
}

std::vector<WhatIfPoint> whatIfCurve(std::span<const FormatPart> parts, double low, double high)
{
    std::vector<double> scales;
    const double first = std::ceil(low * kPointsPerOctave);
    for (double k = first; k <= high * kPointsPerOctave; ++k)
        scales.push_back(std::exp2(k / kPointsPerOctave));
    for (const auto& [format, statistics] : parts) {
        if (!(statistics.absMax > 0.0F))
            continue;
        addJump(scales, floatFormat(format).overflowFrom, static_cast<double>(statistics.absMax));
        addJump(scales, floatFormat(format).flushUpTo, static_cast<double>(statistics.absMin));
    }
    std::erase_if(scales, [&](double scale) { return scale < std::exp2(low) || scale > std::exp2(high); });
    std::sort(scales.begin(), scales.end());
    std::vector<WhatIfPoint> points;
    points.reserve(scales.size());
    for (const double scale : scales)
        points.push_back({scale, estimateClasses(parts, scale)});
    return points;
}

StabilityBand stabilityBand(const FloatFormat& format, double gradLow, double gradMin, double gradMax)
{
    return {std::log2(format.flushUpTo) - std::log2(gradLow), std::log2(format.flushUpTo) - std::log2(gradMin),
            std::log2(format.overflowFrom) - std::log2(gradMax)};
}

std::optional<ScaleRange> scaleRange(std::span<const FormatPart> parts, double lowQuantile)
{
    GradientFacts facts;
    for (const auto& [format, statistics] : parts)
        facts.add(statistics, format);
    if (facts.narrowest == nullptr || !(facts.absMax > 0.0))
        return std::nullopt;
    return ScaleRange{
        facts.narrowest->id,
        stabilityBand(*facts.narrowest, facts.histogram.quantile(lowQuantile), facts.absMin, facts.absMax),
        highestStableScale(*facts.narrowest, facts.absMax)};
}

} // namespace halfscope
