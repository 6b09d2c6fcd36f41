// SPDX-License-Identifier: GPL-3.0-or-later
// Stand-in for NVIDIA's header: __nv_bfloat16, rounding to nearest, ties to even; every NaN becomes 0x7FFF.
#pragma once

#include <bit>
#include <cstdint>

struct __nv_bfloat16 {
    std::uint16_t bits;
};

inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 b) { return b.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return {bits}; }

inline __nv_bfloat16 __float2bfloat16_rn(float value)
{
    const auto pattern = std::bit_cast<std::uint32_t>(value);
    if ((pattern & 0x7FFFFFFFU) > 0x7F800000U)
        return {0x7FFF};
    return {static_cast<std::uint16_t>((pattern + 0x7FFFU + (pattern >> 16 & 1U)) >> 16)};
}

inline float __bfloat162float(__nv_bfloat16 b)
{
    return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16);
}
