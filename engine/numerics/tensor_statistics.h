// SPDX-License-Identifier: GPL-3.0-or-later
// What HalfScope measures of a tensor at the point where it is cast: exact counts, exact extremes, two sums.
#pragma once

#include <array>
#include <cstdint>

#include "engine/numerics/float_format.h"

namespace halfscope {

struct ClassCounts {
    std::array<std::uint64_t, kValueClassCount> of{};

    std::uint64_t& operator[](ValueClass c) { return of[static_cast<std::size_t>(c)]; }
    std::uint64_t operator[](ValueClass c) const { return of[static_cast<std::size_t>(c)]; }
    std::uint64_t total() const;
    bool operator==(const ClassCounts&) const = default;
};

// One bin per power of two: bin i counts the values with floor(log2|x|) == kMinExponent + i, x the *unscaled* value as
// FP32. Covers all of FP32, its subnormals included, so nothing is ever out of range. Zero, infinite and NaN values are
// counted in the classes, not here.
struct ExponentHistogram {
    static constexpr int kMinExponent = -149;
    static constexpr int kMaxExponent = 127;
    static constexpr int kBinCount = kMaxExponent - kMinExponent + 1;

    std::array<std::uint64_t, kBinCount> bins{};

    std::uint64_t& at(int exponent) { return bins[static_cast<std::size_t>(exponent - kMinExponent)]; }
    std::uint64_t at(int exponent) const { return bins[static_cast<std::size_t>(exponent - kMinExponent)]; }
    std::uint64_t total() const;
    // Lower edge of the bin that holds the quantile (an estimate: at most an octave below it); 0: all bins are empty.
    double quantile(double share) const;
    bool operator==(const ExponentHistogram&) const = default;
};

// Statistics of a stream of values. The classes judge the *scaled* value (the one that is cast); histogram, extremes
// and sums are of the unscaled one, value * inverseScale in FP32.
struct TensorStatistics {
    ClassCounts classes;
    ExponentHistogram histogram;
    float absMin = 0.0F; // smallest and largest magnitude over nonzero finite unscaled values; both 0 if there is none
    float absMax = 0.0F;
    double sum = 0.0; // over finite unscaled values
    double sumSquares = 0.0;
    // Finite nonzero scaled values that unscaling by a scale below 1 made infinite: part of no bin, extreme or sum.
    std::uint64_t unscaledToInfinity = 0;

    std::uint64_t count() const { return classes.total(); }
    std::uint64_t finiteCount() const; // finite unscaled values: those that were summed
    bool nonfinite() const;            // any inf or NaN before the cast
    bool saturated() const;            // any finite value that did not survive the cast as finite
    double mean() const;               // over finite unscaled values; 0 if there is none
    double rms() const;
    double standardDeviation() const; // population

    // Exact for counts and extremes. The sums are added, so merge in a fixed order where bits matter.
    void merge(const TensorStatistics& other);
    void reset() { *this = {}; }
};

} // namespace halfscope
