// SPDX-License-Identifier: GPL-3.0-or-later
// Where a format's range lies among unscaled gradients at a given loss scale.
#pragma once

#include "engine/numerics/float_format.h"
#include "engine/numerics/tensor_statistics.h"

namespace halfscope {

// Edges as log2 of the unscaled magnitude: limit of the format divided by the scale.
struct FormatWindow {
    double flush = 0.0;     // up to here a value becomes zero
    double subnormal = 0.0; // below, it loses precision
    double overflow = 0.0;  // from here on it is no longer finite

    // The class of a nonzero finite value of this log2 magnitude.
    ValueClass classAt(double log2Magnitude) const;
};

FormatWindow formatWindow(const FloatFormat& format, double scale);

// Octaves between the largest magnitude and the first one that overflows; infinite when there is no value.
double headroomOctaves(const TensorStatistics& statistics, const FormatWindow& window);

} // namespace halfscope
