// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/numerics/tensor_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace halfscope {

std::uint64_t ClassCounts::total() const { return std::accumulate(of.begin(), of.end(), std::uint64_t{0}); }

std::uint64_t ExponentHistogram::total() const { return std::accumulate(bins.begin(), bins.end(), std::uint64_t{0}); }

double ExponentHistogram::quantile(double share) const
{
    const auto count = static_cast<double>(total());
    double below = 0;
    for (int e = kMinExponent; count > 0 && e <= kMaxExponent; ++e) {
        below += static_cast<double>(at(e));
        if (below > 0 && below >= share * count)
            return std::ldexp(1.0, e);
    }
    return 0.0;
}

std::uint64_t TensorStatistics::finiteCount() const
{
    return count() - classes[ValueClass::Inf] - classes[ValueClass::NaN] - unscaledToInfinity;
}

bool TensorStatistics::nonfinite() const { return classes[ValueClass::Inf] + classes[ValueClass::NaN] != 0; }

bool TensorStatistics::saturated() const { return classes[ValueClass::Saturating] != 0; }

double TensorStatistics::mean() const
{
    const std::uint64_t n = finiteCount();
    return n == 0 ? 0.0 : sum / static_cast<double>(n);
}

double TensorStatistics::rms() const
{
    const std::uint64_t n = finiteCount();
    return n == 0 ? 0.0 : std::sqrt(sumSquares / static_cast<double>(n));
}

double TensorStatistics::standardDeviation() const
{
    const std::uint64_t n = finiteCount();
    if (n == 0)
        return 0.0;
    const double m = mean();
    // Rounding can make this slightly negative when all values are nearly equal.
    return std::sqrt(std::max(0.0, sumSquares / static_cast<double>(n) - m * m));
}

void TensorStatistics::merge(const TensorStatistics& other)
{
    for (std::size_t i = 0; i < classes.of.size(); ++i)
        classes.of[i] += other.classes.of[i];
    for (std::size_t i = 0; i < histogram.bins.size(); ++i)
        histogram.bins[i] += other.histogram.bins[i];
    if (other.absMax > 0.0F) {
        absMin = absMax > 0.0F ? std::min(absMin, other.absMin) : other.absMin;
        absMax = std::max(absMax, other.absMax);
    }
    sum += other.sum;
    sumSquares += other.sumSquares;
    unscaledToInfinity += other.unscaledToInfinity;
}

} // namespace halfscope
