// SPDX-License-Identifier: GPL-3.0-or-later
// Vectorised casts and the fused measuring cast. The instruction set is chosen at run time (see cpu_features.h);
// AVX-512, AVX2 and portable give the same bits for every input, length and alignment.
#pragma once

#include <cstddef>

#include "engine/numerics/float_format.h"
#include "engine/numerics/tensor_statistics.h"

namespace halfscope {

// dst[i] = src[i] rounded to `format`, in the format's storage (floatFormat(format).storageBytes an element; TF32 is
// stored as FP32). FP32 copies. src == dst is allowed when the storage sizes are equal.
void castArray(FormatId format, const float* src, void* dst, std::size_t n);

// dst[i] = the exact FP32 value of the stored element src[i].
void widenArray(FormatId format, const void* src, float* dst, std::size_t n);

// castArray that counts each value before it is rounded, and adds to `statistics`. `dst` may be null: count only.
// The sums are accumulated in 16 interleaved double lanes (element i in lane i % 16), reduced pairwise in a fixed tree
// at the end of the call: the result depends on how the caller splits the data into calls, and on nothing else.
void castAndMeasure(FormatId format, const float* src, void* dst, std::size_t n, float inverseScale,
                    TensorStatistics& statistics);

// The pass after the backward pass: dst[i] = float(src[i]) * inverseScale, src stored in `format`.
struct UnscaleResult {
    bool foundInf = false;   // a value was not finite before or after the multiplication
    double sumSquares = 0.0; // of dst, same fixed order as above; not finite if foundInf
};
UnscaleResult unscaleArray(FormatId format, const void* src, float* dst, std::size_t n, float inverseScale);

} // namespace halfscope
