// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/numerics/cast.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "engine/numerics/cast_kernels.h"

namespace halfscope {
namespace {

std::int32_t pattern(double value) { return std::bit_cast<std::int32_t>(static_cast<float>(value)); }

ClassBounds makeBounds(const FloatFormat& f)
{
    if (f.id == FormatId::Fp32)
        return {0, pattern(f.smallestNormal), 0x7F800000};
    // Halfway below the smallest normal number the tie goes up to it, its mantissa being even.
    return {pattern(f.flushUpTo), pattern(f.smallestNormal - f.smallestSubnormal / 2.0), pattern(f.overflowFrom)};
}

} // namespace

const ClassBounds& classBounds(FormatId id)
{
    static const auto kBounds = [] {
        std::array<ClassBounds, 6> all;
        for (const FloatFormat& f : floatFormats())
            all[static_cast<std::size_t>(f.id)] = makeBounds(f);
        return all;
    }();
    return kBounds[static_cast<std::size_t>(id)];
}

void castArray(FormatId format, const float* src, void* dst, std::size_t n)
{
    if (n == 0)
        return;
    if (format == FormatId::Fp32)
        std::memmove(dst, src, n * sizeof(float));
    else
        castKernels().cast(format, src, dst, n);
}

void widenArray(FormatId format, const void* src, float* dst, std::size_t n)
{
    if (n == 0)
        return;
    if (floatFormat(format).storageBytes == sizeof(float))
        std::memmove(dst, src, n * sizeof(float));
    else
        castKernels().widen(format, src, dst, n);
}

void castAndMeasure(FormatId format, const float* src, void* dst, std::size_t n, float inverseScale,
                    TensorStatistics& statistics)
{
    MeasureTotals totals;
    totals.bins = statistics.histogram.bins.data();
    totals.classes = statistics.classes.of.data();
    totals.minimum = statistics.absMin;
    totals.maximum = statistics.absMax;
    measureKernels().measure(format, src, dst, n, inverseScale, classBounds(format), totals);
    statistics.absMin = totals.minimum;
    statistics.absMax = totals.maximum;
    statistics.sum += totals.sum;
    statistics.sumSquares += totals.sumSquares;
    statistics.unscaledToInfinity += totals.unscaledToInfinity;
}

UnscaleResult unscaleArray(FormatId format, const void* src, float* dst, std::size_t n, float inverseScale)
{
    UnscaleResult result;
    result.foundInf = castKernels().unscale(format, src, dst, n, inverseScale, &result.sumSquares);
    return result;
}

} // namespace halfscope
