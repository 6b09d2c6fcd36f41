// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/numerics/update_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/numerics/cast.h"

namespace halfscope {
namespace {

constexpr std::size_t kPiece = 1024;

// The values as the format holds them, widened again.
void roundPiece(FormatId format, const float* from, float factor, std::size_t n, float* to)
{
    std::array<std::uint32_t, kPiece> stored; // room for any format
    std::transform(from, from + n, to, [factor](float x) { return x * factor; });
    castArray(format, to, stored.data(), n);
    widenArray(format, stored.data(), to, n);
}

// Both are finite floats, dw and w nonzero. The quotient of two numbers of at most 25 bits never rounds up to a power
// of two that it does not reach, so that its exponent as a double is exact.
int ratioExponent(double dw, double w) { return std::ilogb(dw / w); }

} // namespace

void UpdateStatistics::merge(const UpdateStatistics& other)
{
    weights += other.weights;
    unchanged += other.unchanged;
    fromZero += other.fromZero;
    nonfinite += other.nonfinite;
    lost += other.lost;
    for (std::size_t i = 0; i < ratios.bins.size(); ++i)
        ratios.bins[i] += other.ratios.bins[i];
}

void countUpdates(const float* before, const float* after, std::size_t n, FormatId format, float factor,
                  UpdateStatistics& statistics)
{
    std::array<float, kPiece> roundedBefore;
    std::array<float, kPiece> roundedAfter;
    for (std::size_t first = 0; first < n; first += kPiece) {
        const std::size_t count = std::min(kPiece, n - first);
        roundPiece(format, before + first, factor, count, roundedBefore.data());
        roundPiece(format, after + first, factor, count, roundedAfter.data());
        for (std::size_t i = 0; i < count; ++i) {
            const float w = before[first + i];
            const float next = after[first + i];
            ++statistics.weights;
            if (!std::isfinite(w) || !std::isfinite(next)) {
                ++statistics.nonfinite;
                continue;
            }
            if (w == next) {
                ++statistics.unchanged;
                continue;
            }
            statistics.lost += roundedBefore[i] == roundedAfter[i] ? 1 : 0;
            if (w == 0.0F) {
                ++statistics.fromZero;
                continue;
            }
            const int exponent = ratioExponent(static_cast<double>(next) - static_cast<double>(w), w);
            ++statistics.ratios.at(
                std::clamp(exponent, ExponentHistogram::kMinExponent, ExponentHistogram::kMaxExponent));
        }
    }
}

} // namespace halfscope
