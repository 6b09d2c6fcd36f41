// SPDX-License-Identifier: GPL-3.0-or-later
// What an optimizer's update does to weights: how large the steps are beside the weights, and how many of them are lost
// because the weight's format has no number near enough.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/numerics/float_format.h"
#include "engine/numerics/tensor_statistics.h"

namespace halfscope {

// w is a weight before the update, w' what the optimizer makes of it before it is rounded for the last time, and
// dw = w' - w, which is not rounded.
struct UpdateStatistics {
    std::uint64_t weights = 0;
    std::uint64_t unchanged = 0; // dw = 0
    std::uint64_t fromZero = 0;  // w = 0, dw != 0: no ratio
    std::uint64_t nonfinite = 0; // w or w' is not finite
    std::uint64_t lost = 0;      // dw != 0, but w and w' round to the same number
    ExponentHistogram ratios;    // floor(log2(|dw| / |w|)) of all others, lost ones included

    std::uint64_t updates() const { return weights - unchanged - nonfinite; } // finite, dw != 0
    void merge(const UpdateStatistics& other);
    bool operator==(const UpdateStatistics&) const = default;
};

// Counts n updates. `format`: in which a weight, multiplied by `factor` (a power of two), has to move.
void countUpdates(const float* before, const float* after, std::size_t n, FormatId format, float factor,
                  UpdateStatistics& statistics);

} // namespace halfscope
