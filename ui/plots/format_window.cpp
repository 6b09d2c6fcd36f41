// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/format_window.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halfscope {

ValueClass FormatWindow::classAt(double log2Magnitude) const
{
    if (log2Magnitude < flush)
        return ValueClass::Flushed;
    if (log2Magnitude < subnormal)
        return ValueClass::Subnormal;
    return log2Magnitude < overflow ? ValueClass::Normal : ValueClass::Saturating;
}

FormatWindow formatWindow(const FloatFormat& format, double scale)
{
    const double shift = scale > 0 && std::isfinite(scale) ? std::log2(scale) : 0.0;
    return {std::log2(format.flushUpTo) - shift, std::log2(format.smallestNormal) - shift,
            std::log2(format.overflowFrom) - shift};
}

ClassEstimate estimateClasses(const TensorStatistics& statistics, const FormatWindow& window)
{
    ClassEstimate estimate;
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e) {
        const auto count = static_cast<double>(statistics.histogram.at(e));
        if (count == 0)
            continue;
        const auto below = [&](double edge) { return std::clamp(edge - e, 0.0, 1.0); };
        const double flushed = below(window.flush);
        const double subnormal = below(window.subnormal);
        const double finite = below(window.overflow);
        estimate.flushed += count * flushed;
        estimate.subnormal += count * (subnormal - flushed);
        estimate.normal += count * (finite - subnormal);
        estimate.overflow += count * (1.0 - finite);
    }
    if (statistics.absMax > 0 && std::log2(static_cast<double>(statistics.absMax)) < window.overflow) {
        estimate.normal += estimate.overflow;
        estimate.overflow = 0;
    }
    return estimate;
}

double headroomOctaves(const TensorStatistics& statistics, const FormatWindow& window)
{
    if (!(statistics.absMax > 0))
        return std::numeric_limits<double>::infinity();
    return window.overflow - std::log2(static_cast<double>(statistics.absMax));
}

} // namespace halfscope
