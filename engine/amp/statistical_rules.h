// SPDX-License-Identifier: GPL-3.0-or-later
// Loss scales that the gradients' statistics suggest. Each rule can steer the scale (ScalerConfig::rule) and is advice
// otherwise. They look at the gradients, unscaled, that are rounded into a format of a smaller range than FP32.
#pragma once

#include <optional>

#include "engine/amp/scaler_config.h"
#include "engine/numerics/float_format.h"
#include "engine/numerics/tensor_statistics.h"

namespace halfscope {

// What one measured step says about those gradients.
struct GradientFacts {
    ExponentHistogram histogram;
    double absMin = 0.0; // over nonzero finite values; both 0: there is none
    double absMax = 0.0;
    bool nonfinite = false;
    const FloatFormat* narrowest = nullptr; // of the formats they are rounded into; null: all have the range of FP32

    void add(const TensorStatistics& statistics, FormatId format);
};

// The largest gradient of a step is taken to be log-normal; the scale keeps all but one step in a thousand below the
// limit: log2 S = log2(limit) - (m + 3.09 d), m and d running mean and deviation of log2 max|g| with bias correction
// (decays 0.99 and 0.999). After OpenSeq2Seq's LogMax, without its two defects: an overflow is entered with the size it
// had, and a step without gradients is not entered at all.
class LogNormalRule {
public:
    void observe(double log2Max);
    // log2 of the scale for a limit of 2^log2Limit; nothing before the first observation.
    std::optional<double> log2Scale(double log2Limit) const;

private:
    static constexpr double kFast = 0.99;
    static constexpr double kSlow = 0.999;
    static constexpr double kDeviations = 3.09; // 99.9 % of a normal distribution lie below
    double m_mean = 0.0;                        // each divided by 1 - decay^n when read
    double m_slowMean = 0.0;
    double m_slowSquares = 0.0;
    double m_fastWeight = 0.0; // 1 - decay^n
    double m_slowWeight = 0.0;
};

// Graphcore's automatic loss scaling: half the scale when more than one value in 10^7 lies in the three octaves below
// the limit, twice the scale otherwise. It never waits for an overflow, and swings by an octave by design.
double preventiveScale(const GradientFacts& facts, double scale);

// The largest power of two that leaves an octave between the largest gradient and the format's end. `absMax` > 0.
double highestStableScale(const FloatFormat& format, double absMax);

// Keeps the scale between eps / g_low and limit / g_max, an octave below the latter; inside, it stays. `lowQuantile`
// stands for g_low: the true minimum would leave no room at all.
double stabilityBandScale(const GradientFacts& facts, double scale, double lowQuantile);

// What each rule would set now, as powers of two within the scaler's bounds; 0: it cannot say yet.
struct ScaleAdvice {
    double logNormal = 0.0;
    double preventive = 0.0;
    double stabilityBand = 0.0;
    bool operator==(const ScaleAdvice&) const = default;
    double of(ScalerRule rule) const; // 0 for ScalerRule::Dynamic
};

class ScaleAdvisor {
public:
    // After a measured step whose scale was `scale`.
    void observe(const GradientFacts& facts, double scale, double lowQuantile, const ScalerConfig& bounds);
    const ScaleAdvice& advice() const { return m_advice; }

private:
    LogNormalRule m_logNormal;
    ScaleAdvice m_advice;
};

} // namespace halfscope
