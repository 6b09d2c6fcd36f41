// SPDX-License-Identifier: GPL-3.0-or-later
// The tables of kernels behind cast.h, one for each instruction set. Plain data only: see simd_dispatch.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/simd_dispatch.h"
#include "engine/numerics/float_format.h"

namespace halfscope {

struct CastKernels {
    void (*cast)(FormatId format, const float* src, void* dst, std::size_t n);
    void (*widen)(FormatId format, const void* src, float* dst, std::size_t n);
    // Returns whether a product was not finite.
    bool (*unscale)(FormatId format, const void* src, float* dst, std::size_t n, float inverseScale,
                    double* sumSquares);
};

// Bounds between the classes, as FP32 bit patterns of magnitudes (which order as integers).
struct ClassBounds {
    std::int32_t flushUpTo = 0;      // 1 to this: flushed
    std::int32_t normalFrom = 0;     // from here the result is normal
    std::int32_t saturatingFrom = 0; // from here, below infinity: saturating
};
const ClassBounds& classBounds(FormatId id);

// Where a measuring kernel adds its counts.
struct MeasureTotals {
    std::uint64_t* bins = nullptr;    // of ExponentHistogram
    std::uint64_t* classes = nullptr; // of ClassCounts
    float minimum = 0.0F;             // nonzero finite unscaled magnitudes so far; both 0: none yet
    float maximum = 0.0F;
    double sum = 0.0; // of this call alone
    double sumSquares = 0.0;
    std::uint64_t unscaledToInfinity = 0; // of this call alone
};

struct MeasureKernels {
    // dst may be null.
    void (*measure)(FormatId format, const float* src, void* dst, std::size_t n, float inverseScale,
                    const ClassBounds& bounds, MeasureTotals& totals);
};

HALFSCOPE_DECLARE_KERNELS(CastKernels, castKernels)
HALFSCOPE_DECLARE_KERNELS(MeasureKernels, measureKernels)

} // namespace halfscope
