// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/numerics/float_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>

namespace halfscope {
namespace {

constexpr double powerOfTwo(int exponent)
{
    double value = 1.0;
    for (; exponent > 0; --exponent)
        value *= 2.0;
    for (; exponent < 0; ++exponent)
        value *= 0.5;
    return value;
}

// Everything else follows from the layout.
constexpr FloatFormat makeFormat(FormatId id, std::string_view key, std::string_view name, int exponentBits,
                                 int mantissaBits, int storageBytes, bool hasInfinity)
{
    FloatFormat f{};
    f.id = id;
    f.key = key;
    f.name = name;
    f.exponentBits = exponentBits;
    f.mantissaBits = mantissaBits;
    f.exponentBias = (1 << (exponentBits - 1)) - 1;
    f.hasInfinity = hasInfinity;
    f.storageBytes = storageBytes;
    f.encodingBits = 1 + exponentBits + mantissaBits;
    f.epsilon = powerOfTwo(-mantissaBits);
    f.smallestNormal = powerOfTwo(1 - f.exponentBias);
    f.smallestSubnormal = f.smallestNormal * f.epsilon;
    // The tie goes to the even neighbour, which is zero.
    f.flushUpTo = f.smallestSubnormal / 2.0;
    if (hasInfinity) {
        // The top exponent belongs to infinity. The largest number has an odd mantissa, so the tie above it overflows.
        const double top = powerOfTwo(f.exponentBias);
        f.largest = top * (2.0 - f.epsilon);
        f.overflowFrom = top * (2.0 - f.epsilon / 2.0);
    } else {
        // Only the pattern of all ones is NaN: the largest number ends in ...110, an even mantissa, and the tie above
        // it comes back to it. What overflows begins at the next FP32 number.
        const double top = powerOfTwo(f.exponentBias + 1);
        f.largest = top * (2.0 - 2.0 * f.epsilon);
        f.overflowFrom = top * (2.0 - 1.5 * f.epsilon + powerOfTwo(-23));
    }
    return f;
}

constexpr std::array<FloatFormat, 6> kFormats = {
    makeFormat(FormatId::Fp32, "fp32", "FP32", 8, 23, 4, true),
    makeFormat(FormatId::Tf32, "tf32", "TF32", 8, 10, 4, true),
    makeFormat(FormatId::Fp16, "fp16", "FP16", 5, 10, 2, true),
    makeFormat(FormatId::Bf16, "bf16", "BF16", 8, 7, 2, true),
    makeFormat(FormatId::Fp8E4M3, "fp8-e4m3", "FP8 E4M3", 4, 3, 1, false),
    makeFormat(FormatId::Fp8E5M2, "fp8-e5m2", "FP8 E5M2", 5, 2, 1, true),
};

constexpr std::uint32_t kFloatInfinity = 0x7F800000U;

std::uint32_t magnitudeBits(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU; }

// The pattern (without sign) above which there are no finite numbers.
std::uint32_t largestPattern(const FloatFormat& f)
{
    const std::uint32_t allOnes = (1U << (f.exponentBits + f.mantissaBits)) - 1U;
    return f.hasInfinity ? allOnes - (1U << f.mantissaBits) : allOnes - 1U;
}

// The pattern (without sign) of the number nearest a finite magnitude, given as FP32 bits; beyond largestPattern() when
// it overflows.
std::uint32_t encodeFinite(const FloatFormat& f, std::uint32_t magnitude)
{
    const int exponentField = static_cast<int>(magnitude >> 23);
    // magnitude = significand * 2^unit
    const std::uint32_t significand = (magnitude & 0x7FFFFFU) | (exponentField != 0 ? 0x800000U : 0U);
    const int unit = std::max(exponentField, 1) - 150;
    // The format's numbers near it are multiples of 2^quantum.
    const int smallestQuantum = 1 - f.exponentBias - f.mantissaBits;
    const int quantum = std::max(unit + 23 - f.mantissaBits, smallestQuantum);
    const int shift = quantum - unit;
    std::uint32_t multiple = significand;
    if (shift > 25) {
        multiple = 0;
    } else if (shift > 0) {
        multiple = significand >> shift;
        const std::uint32_t rest = significand & ((1U << shift) - 1U);
        const std::uint32_t half = 1U << (shift - 1);
        if (rest > half || (rest == half && (multiple & 1U) != 0))
            ++multiple;
    }
    // Exponent field and mantissa in one: the hidden bit, where there is one, and a carry raise the exponent by one.
    const auto binade = static_cast<std::uint32_t>(quantum - smallestQuantum);
    return (binade << f.mantissaBits) + multiple;
}

} // namespace

std::string_view valueClassKey(ValueClass c)
{
    static constexpr std::array<std::string_view, kValueClassCount> kKeys = {
        "zero", "flushed", "subnormal", "normal", "saturating", "inf", "nan"};
    return kKeys[static_cast<std::size_t>(c)];
}

const FloatFormat& floatFormat(FormatId id) { return kFormats[static_cast<std::size_t>(id)]; }

std::span<const FloatFormat> floatFormats() { return kFormats; }

bool hasWideRange(FormatId id) { return id == FormatId::Fp32 || id == FormatId::Tf32; }

std::optional<FormatId> narrowerOf(std::optional<FormatId> known, FormatId other)
{
    const auto octaves = [](FormatId id) {
        return std::log2(floatFormat(id).overflowFrom) - std::log2(floatFormat(id).flushUpTo);
    };
    if (hasWideRange(other) || (known && octaves(*known) <= octaves(other)))
        return known;
    return other;
}

std::optional<FormatId> parseFormat(std::string_view key)
{
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    for (const FloatFormat& f : kFormats)
        if (std::equal(key.begin(), key.end(), f.key.begin(), f.key.end(), same))
            return f.id;
    return std::nullopt;
}

std::uint32_t encode(FormatId id, float value)
{
    const FloatFormat& f = floatFormat(id);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 31) << (f.encodingBits - 1);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    const std::uint32_t allOnes = (1U << (f.exponentBits + f.mantissaBits)) - 1U;
    if (magnitude > kFloatInfinity) {
        if (!f.hasInfinity)
            return sign | allOnes;
        const std::uint32_t quiet = 1U << (f.mantissaBits - 1);
        const std::uint32_t payload = (magnitude & 0x7FFFFFU) >> (23 - f.mantissaBits);
        return sign | (largestPattern(f) + 1U) | quiet | payload;
    }
    // The pattern of infinity, or of E4M3's NaN, is the one after the largest number.
    if (magnitude == kFloatInfinity)
        return sign | (largestPattern(f) + 1U);
    return sign | std::min(encodeFinite(f, magnitude), largestPattern(f) + 1U);
}

float decode(FormatId id, std::uint32_t bits)
{
    const FloatFormat& f = floatFormat(id);
    // FP32's own upper bits: nothing to convert, and no NaN to quiet.
    if (f.exponentBits == 8)
        return std::bit_cast<float>(bits << (32 - f.encodingBits));
    const std::uint32_t pattern = bits & ((1U << (f.encodingBits - 1)) - 1U);
    const std::uint32_t sign = (bits >> (f.encodingBits - 1)) << 31;
    const std::uint32_t mantissa = pattern & ((1U << f.mantissaBits) - 1U);
    if (pattern > largestPattern(f)) {
        const bool infinite = f.hasInfinity && mantissa == 0;
        const std::uint32_t nan = 0x00400000U | (f.hasInfinity ? mantissa << (23 - f.mantissaBits) : 0U);
        return std::bit_cast<float>(sign | kFloatInfinity | (infinite ? 0U : nan));
    }
    const int exponentField = static_cast<int>(pattern >> f.mantissaBits);
    const std::uint32_t significand = mantissa | (exponentField != 0 ? 1U << f.mantissaBits : 0U);
    const int unit = std::max(exponentField, 1) - f.exponentBias - f.mantissaBits;
    const float magnitude = std::ldexp(static_cast<float>(significand), unit);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

float roundTo(FormatId id, float value) { return id == FormatId::Fp32 ? value : decode(id, encode(id, value)); }

ValueClass classify(FormatId id, float value)
{
    const FloatFormat& f = floatFormat(id);
    const std::uint32_t magnitude = magnitudeBits(value);
    if (magnitude == 0)
        return ValueClass::Zero;
    if (magnitude > kFloatInfinity)
        return ValueClass::NaN;
    if (magnitude == kFloatInfinity)
        return ValueClass::Inf;
    const std::uint32_t pattern = encodeFinite(f, magnitude);
    if (pattern == 0)
        return ValueClass::Flushed;
    if (pattern > largestPattern(f))
        return ValueClass::Saturating;
    return pattern < (1U << f.mantissaBits) ? ValueClass::Subnormal : ValueClass::Normal;
}

} // namespace halfscope
