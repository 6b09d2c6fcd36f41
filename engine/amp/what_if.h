// SPDX-License-Identifier: GPL-3.0-or-later
// What another loss scale would do to gradients that were measured: arithmetic on their exponent bins, on the exact
// extremes, and on the real classification of a bin's two ends.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/numerics/float_format.h"
#include "engine/numerics/tensor_statistics.h"

namespace halfscope {

// A number of values that is known to lie in [low, high].
struct Bounded {
    double low = 0.0;
    double value = 0.0; // the estimate
    double high = 0.0;

    bool exact() const { return low == high; }
    Bounded& operator+=(const Bounded& other);
};

// The nonzero finite values by what becomes of them: a value g is multiplied by the scale, rounded to FP32, and cast.
struct ClassEstimate {
    Bounded flushed;
    Bounded subnormal;
    Bounded normal;
    Bounded overflow;

    ClassEstimate& operator+=(const ClassEstimate& other);
};

// The bounds always hold. A bin that lies in one class counts whole. One whose ends fall into two is divided evenly
// over its octave for the estimate, and may be any part of it for the bounds. Where scale and edge are powers of two,
// the estimate misses only values exactly at the edge of flushing (a tie goes to zero) and those that round up to the
// smallest normal (2^-(mantissa bits + 1) of a binade). The smallest and the largest value are known exactly: whether
// anything at all is flushed or overflows is never a guess. `scale` > 0.
ClassEstimate estimateClasses(const TensorStatistics& statistics, const FloatFormat& format, double scale);

// Values by the format they are cast to, each judged by its own limits.
using FormatPart = std::pair<FormatId, TensorStatistics>;
ClassEstimate estimateClasses(std::span<const FormatPart> parts, double scale);

struct WhatIfPoint {
    double scale = 1.0;
    ClassEstimate classes;
};
// Points of rising scale from 2^low to 2^high, eight an octave (every power of two among them), and one either side of
// each scale where the first value overflows or the last one stops being flushed: the curve jumps there.
std::vector<WhatIfPoint> whatIfCurve(std::span<const FormatPart> parts, double low, double high);

// Scales, as log2, between which nothing that matters is lost.
struct StabilityBand {
    double low = 0.0;         // eps / g_low: below, more than the low quantile is flushed
    double trueMinimum = 0.0; // eps / g_min: below, something is flushed
    double high = 0.0;        // M / g_max: from here on the largest value overflows
};
// Of positive magnitudes: the low quantile, the smallest and the largest.
StabilityBand stabilityBand(const FloatFormat& format, double gradLow, double gradMin, double gradMax);

// Of the values in formats of a smaller range than FP32.
struct ScaleRange {
    FormatId format = FormatId::Fp16; // the narrowest of them
    StabilityBand band;
    double suggested = 1.0; // the largest power of two with an octave between it and the first overflow
};
// Nothing when there are none. `lowQuantile`: the share of values that may be flushed.
std::optional<ScaleRange> scaleRange(std::span<const FormatPart> parts, double lowQuantile);

} // namespace halfscope
