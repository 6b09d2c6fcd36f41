// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/format_window.h"

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

double headroomOctaves(const TensorStatistics& statistics, const FormatWindow& window)
{
    if (!(statistics.absMax > 0))
        return std::numeric_limits<double>::infinity();
    return window.overflow - std::log2(static_cast<double>(statistics.absMax));
}

} // namespace halfscope
