// SPDX-License-Identifier: GPL-3.0-or-later
// The one table of floating-point formats. Casts, the shading of plots, axis marks and the number inspector all read
// it, so a format is added here and nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/numerics/format_id.h"

namespace halfscope {

// The seven exclusive classes of a value that is about to be cast. Their counts add up to the number of values.
enum class ValueClass : std::uint8_t {
    Zero,      // +-0 before the cast
    Flushed,   // nonzero before, +-0 after
    Subnormal, // the result is subnormal
    Normal,
    Saturating, // finite before; after: infinite, or NaN where the format has no infinity
    Inf,        // infinite before
    NaN,        // NaN before
};
inline constexpr int kValueClassCount = 7;
std::string_view valueClassKey(ValueClass c); // "zero", "flushed", ... as in the CSV files

// Rounding is to nearest, ties to even, subnormals kept, for every format, on every backend.
// FP8 E4M3 (OCP "E4M3FN") has no infinity: a finite value that rounds beyond 448 becomes NaN (the non-saturating
// conversion), and so does an infinity. TF32 keeps 10 of FP32's 23 mantissa bits, rounded to nearest even, in 4 bytes.
// A NaN keeps its sign and the upper bits of its payload and becomes quiet, as x86's FP16 conversion does it; E4M3 has
// one NaN pattern, so only the sign is kept. Reading FP16 or FP8 gives a quiet NaN as well; BF16, TF32 and FP32
// patterns are the upper bits of FP32's and are read as they are.
struct FloatFormat {
    FormatId id;
    std::string_view key;  // "fp16": command line, CSV, configuration
    std::string_view name; // "FP16": what people read
    int exponentBits;
    int mantissaBits;
    int exponentBias;
    bool hasInfinity;
    int storageBytes; // of one element in memory
    int encodingBits; // of the pattern encode() returns: 32, 19, 16, 16, 8, 8
    double largest;   // largest finite value
    double smallestNormal;
    double smallestSubnormal;
    double overflowFrom; // the smallest magnitude that no longer rounds to a finite value (FP16: 65520; E4M3, whose
                         // tie at 464 still rounds to 448: the FP32 number after it)
    double flushUpTo;    // the largest magnitude that rounds to zero (FP16: 2^-25)
    double epsilon;      // distance from 1 to the next value
};

const FloatFormat& floatFormat(FormatId id);
std::span<const FloatFormat> floatFormats();
std::optional<FormatId> parseFormat(std::string_view key); // by key, case-insensitive
// Whether it has all of FP32's range, subnormals included (but for TF32's last bits): no loss scale is ever needed.
bool hasWideRange(FormatId id);
// Of the formats without FP32's range, the one that holds the fewest octaves.
std::optional<FormatId> narrowerOf(std::optional<FormatId> known, FormatId other);

// Scalar reference conversions. `bits` hold the format's own encoding (TF32: 19 bits, right-aligned).
std::uint32_t encode(FormatId id, float value);
float decode(FormatId id, std::uint32_t bits);
float roundTo(FormatId id, float value); // decode(encode(value)); FP32: the value itself
ValueClass classify(FormatId id, float value);

} // namespace halfscope
