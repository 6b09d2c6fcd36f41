// SPDX-License-Identifier: GPL-3.0-or-later
// Stand-in for NVIDIA's header: __half as the device has it, rounding to nearest, ties to even. Like the device's own
// conversion it makes every NaN 0x7FFF, so that a kernel that wants to keep more of it shows in the tests.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

struct __half {
    std::uint16_t bits;
};
using half = __half;

inline unsigned short __half_as_ushort(__half h) { return h.bits; }
inline __half __ushort_as_half(unsigned short bits) { return {bits}; }

inline __half __float2half_rn(float value)
{
    const auto pattern = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = pattern >> 16 & 0x8000U;
    const std::uint32_t magnitude = pattern & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U)
        return {0x7FFF};
    if (magnitude >= 0x477FF000U) // from 65520 on
        return {static_cast<std::uint16_t>(sign | 0x7C00U)};
    if (magnitude < 0x38800000U) { // subnormal: in units of 2^-24, exactly
        const float units = std::bit_cast<float>(magnitude) * 0x1p24F;
        return {static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::nearbyint(units)))};
    }
    const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13 & 1U);
    return {static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13))};
}

inline float __half2float(__half h)
{
    const std::uint32_t sign = (h.bits & 0x8000U) << 16;
    const std::uint32_t exponent = h.bits >> 10 & 0x1FU;
    const std::uint32_t mantissa = h.bits & 0x3FFU;
    if (exponent == 0x1F)
        return std::bit_cast<float>(mantissa == 0 ? sign | 0x7F800000U : 0x7FFFFFFFU);
    if (exponent == 0) {
        const float value = static_cast<float>(mantissa) * 0x1p-24F;
        return sign != 0 ? -value : value;
    }
    return std::bit_cast<float>(sign | (exponent + 112U) << 23 | mantissa << 13);
}
