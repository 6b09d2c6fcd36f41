// SPDX-License-Identifier: GPL-3.0-or-later
// Between 16 FP32 lanes and 16 narrower elements in memory. To nearest, ties to even, subnormals kept. A NaN becomes a
// quiet NaN that keeps its sign and the top bits of its payload: what the x86 conversion instructions do.
#pragma once

#include "engine/core/simd.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {

// The low 16 or 8 bits of each lane, in order.
HALFSCOPE_INLINE void storeLow16(I32x16 a, std::uint16_t* p)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16((__m512i)a.r[0]));
#elif HALFSCOPE_SIMD_WIDTH == 8
    const __m256i low = _mm256_set1_epi32(0xFFFF);
    const __m256i mixed =
        _mm256_packus_epi32(_mm256_and_si256((__m256i)a.r[0], low), _mm256_and_si256((__m256i)a.r[1], low));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(mixed, 0xD8));
#elif defined(__SSE2__)
    // SSE2 packs signed numbers only, so the 16 bits are sign-extended first.
    const I32x16 s = a.shiftLeft<16>().shiftRightSigned<16>();
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packs_epi32((__m128i)s.r[0], (__m128i)s.r[1]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm_packs_epi32((__m128i)s.r[2], (__m128i)s.r[3]));
#else
    for (int i = 0; i < 16; ++i)
        p[i] = static_cast<std::uint16_t>(a.r[i / kWidth][i % kWidth]);
#endif
}

HALFSCOPE_INLINE void storeLow8(I32x16 a, std::uint8_t* p)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8((__m512i)a.r[0]));
#elif HALFSCOPE_SIMD_WIDTH == 8
    const __m256i low = _mm256_set1_epi32(0xFF);
    const __m256i words =
        _mm256_packus_epi32(_mm256_and_si256((__m256i)a.r[0], low), _mm256_and_si256((__m256i)a.r[1], low));
    // 4-element groups of the two registers alternate now: 0, 2, 1, 3.
    const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_shuffle_epi32(bytes, 0xD8));
#elif defined(__SSE2__)
    const I32x16 s = a & I32x16::broadcast(0xFF);
    const __m128i low = _mm_packs_epi32((__m128i)s.r[0], (__m128i)s.r[1]);
    const __m128i high = _mm_packs_epi32((__m128i)s.r[2], (__m128i)s.r[3]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(low, high));
#else
    for (int i = 0; i < 16; ++i)
        p[i] = static_cast<std::uint8_t>(a.r[i / kWidth][i % kWidth]);
#endif
}

HALFSCOPE_INLINE I32x16 loadUnsigned16(const std::uint16_t* p)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return {{(UintRegister)_mm512_cvtepu16_epi32(loadBytes<__m256i>(p))}};
#elif HALFSCOPE_SIMD_WIDTH == 8
    return {{(UintRegister)_mm256_cvtepu16_epi32(loadBytes<__m128i>(p)),
             (UintRegister)_mm256_cvtepu16_epi32(loadBytes<__m128i>(p + 8))}};
#elif defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128();
    const __m128i low = loadBytes<__m128i>(p);
    const __m128i high = loadBytes<__m128i>(p + 8);
    return {{(UintRegister)_mm_unpacklo_epi16(low, zero), (UintRegister)_mm_unpackhi_epi16(low, zero),
             (UintRegister)_mm_unpacklo_epi16(high, zero), (UintRegister)_mm_unpackhi_epi16(high, zero)}};
#else
    I32x16 v;
    for (int i = 0; i < 16; ++i)
        v.r[i / kWidth][i % kWidth] = p[i];
    return v;
#endif
}

HALFSCOPE_INLINE I32x16 loadUnsigned8(const std::uint8_t* p)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return {{(UintRegister)_mm512_cvtepu8_epi32(loadBytes<__m128i>(p))}};
#elif HALFSCOPE_SIMD_WIDTH == 8
    const __m128i bytes = loadBytes<__m128i>(p);
    return {{(UintRegister)_mm256_cvtepu8_epi32(bytes), (UintRegister)_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))}};
#elif defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128();
    const __m128i bytes = loadBytes<__m128i>(p);
    const __m128i low = _mm_unpacklo_epi8(bytes, zero);
    const __m128i high = _mm_unpackhi_epi8(bytes, zero);
    return {{(UintRegister)_mm_unpacklo_epi16(low, zero), (UintRegister)_mm_unpackhi_epi16(low, zero),
             (UintRegister)_mm_unpacklo_epi16(high, zero), (UintRegister)_mm_unpackhi_epi16(high, zero)}};
#else
    I32x16 v;
    for (int i = 0; i < 16; ++i)
        v.r[i / kWidth][i % kWidth] = p[i];
    return v;
#endif
}

// The pattern of the number nearest each lane, for a format with fewer exponent bits than FP32. `infinity` and `nan`
// are the format's patterns for them, `overflowFrom` the FP32 pattern of the smallest magnitude that becomes infinite.
template <int exponentBits, int mantissaBits>
HALFSCOPE_INLINE I32x16 encodeNarrow(F32x16 a, std::int32_t overflowFrom, std::int32_t infinity, std::int32_t nan)
{
    constexpr int kShift = 23 - mantissaBits;
    constexpr int kRebias = 127 - ((1 << (exponentBits - 1)) - 1); // also the FP32 exponent field below the normal ones
    const I32x16 bits = bitsOf(a);
    const I32x16 sign =
        bits.shiftRight<31 - exponentBits - mantissaBits>() & I32x16::broadcast(1 << (exponentBits + mantissaBits));
    const I32x16 magnitude = bits & I32x16::broadcast(0x7FFFFFFF);
    // Normal: rebias the exponent and round the bits that go, ties to even; a carry raises the exponent.
    const I32x16 odd = magnitude.shiftRight<kShift>() & I32x16::broadcast(1);
    const I32x16 rounding = I32x16::broadcast((1 << (kShift - 1)) - 1 - (kRebias << 23));
    const I32x16 normal = (magnitude + odd + rounding).shiftRight<kShift>();
    // Subnormal: added to a number whose last bit is worth the smallest subnormal, the FPU rounds to multiples of it.
    const I32x16 anchor = I32x16::broadcast((kRebias + 1 + kShift) << 23);
    const I32x16 subnormal = bitsOf(floatOf(magnitude) + floatOf(anchor)) - anchor;
    const I32x16 payload = magnitude.shiftRight<kShift>() & I32x16::broadcast((1 << mantissaBits) - 1);
    I32x16 result = select(magnitude < I32x16::broadcast((kRebias + 1) << 23), subnormal, normal);
    result = select(magnitude > I32x16::broadcast(overflowFrom - 1), I32x16::broadcast(infinity), result);
    result = select(magnitude > I32x16::broadcast(0x7F800000), I32x16::broadcast(nan) | payload, result);
    return sign | result;
}

// --- FP16 -----------------------------------------------------------------------------------------------------------

#if HALFSCOPE_SIMD_WIDTH == 4
HALFSCOPE_INLINE I32x16 halfBits(F32x16 a) { return encodeNarrow<5, 10>(a, 0x477FF000, 0x7C00, 0x7E00); } // from 65520

// The value of an FP16 number; only the low 16 bits of a lane may be set.
HALFSCOPE_INLINE F32x16 valueOfHalf(I32x16 half)
{
    const I32x16 sign = (half & I32x16::broadcast(0x8000)).shiftLeft<16>();
    const I32x16 magnitude = (half & I32x16::broadcast(0x7FFF)).shiftLeft<13>();
    const I32x16 normal = magnitude + I32x16::broadcast(112 << 23);
    // Subnormal or zero: with an exponent put on, the value is 2^-14 too large.
    const F32x16 bias = F32x16::broadcast(0x1p-14F);
    const I32x16 subnormal = bitsOf(floatOf(magnitude + I32x16::broadcast(113 << 23)) - bias);
    const I32x16 special = magnitude | I32x16::broadcast(0x7F800000);
    const I32x16 nan = special | I32x16::broadcast(0x00400000);
    I32x16 result = select(magnitude < I32x16::broadcast(0x400 << 13), subnormal, normal);
    result = select(magnitude > I32x16::broadcast((0x7C00 << 13) - 1), special, result);
    result = select(magnitude > I32x16::broadcast(0x7C00 << 13), nan, result);
    return floatOf(sign | result);
}
#endif

HALFSCOPE_INLINE void storeHalf(F32x16 a, std::uint16_t* p)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a.r[0], _MM_FROUND_TO_NEAREST_INT));
#elif HALFSCOPE_SIMD_WIDTH == 8
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a.r[0], _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(a.r[1], _MM_FROUND_TO_NEAREST_INT));
#else
    storeLow16(halfBits(a), p);
#endif
}

HALFSCOPE_INLINE F32x16 loadHalf(const std::uint16_t* p)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return {{_mm512_cvtph_ps(loadBytes<__m256i>(p))}};
#elif HALFSCOPE_SIMD_WIDTH == 8
    return {{_mm256_cvtph_ps(loadBytes<__m128i>(p)), _mm256_cvtph_ps(loadBytes<__m128i>(p + 8))}};
#else
    return valueOfHalf(loadUnsigned16(p));
#endif
}

// a rounded to FP16, as FP32.
HALFSCOPE_INLINE F32x16 roundToHalf(F32x16 a)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return {{_mm512_cvtph_ps(_mm512_cvtps_ph(a.r[0], _MM_FROUND_TO_NEAREST_INT))}};
#elif HALFSCOPE_SIMD_WIDTH == 8
    return {{_mm256_cvtph_ps(_mm256_cvtps_ph(a.r[0], _MM_FROUND_TO_NEAREST_INT)),
             _mm256_cvtph_ps(_mm256_cvtps_ph(a.r[1], _MM_FROUND_TO_NEAREST_INT))}};
#else
    return valueOfHalf(halfBits(a));
#endif
}

// --- BF16 -----------------------------------------------------------------------------------------------------------

// The BF16 number nearest each lane, in the upper 16 bits; the lower ones are zero.
HALFSCOPE_INLINE I32x16 bfloatBitsHigh(F32x16 a)
{
    const I32x16 bits = bitsOf(a);
    const I32x16 odd = bits.shiftRight<16>() & I32x16::broadcast(1);
    const I32x16 rounded = bits + odd + I32x16::broadcast(0x7FFF);
    const I32x16 nan = bits | I32x16::broadcast(0x00400000);
    const Mask16 isNan = (bits & I32x16::broadcast(0x7FFFFFFF)) > I32x16::broadcast(0x7F800000);
    return select(isNan, nan, rounded) & I32x16::broadcast(static_cast<std::int32_t>(0xFFFF0000U));
}
HALFSCOPE_INLINE void storeBfloat(F32x16 a, std::uint16_t* p) { storeLow16(bfloatBitsHigh(a).shiftRight<16>(), p); }
HALFSCOPE_INLINE F32x16 loadBfloat(const std::uint16_t* p) { return floatOf(loadUnsigned16(p).shiftLeft<16>()); }
HALFSCOPE_INLINE F32x16 roundToBfloat(F32x16 a) { return floatOf(bfloatBitsHigh(a)); }

// --- TF32, stored as FP32 -------------------------------------------------------------------------------------------

HALFSCOPE_INLINE F32x16 roundToTf32(F32x16 a)
{
    const I32x16 bits = bitsOf(a);
    const I32x16 odd = bits.shiftRight<13>() & I32x16::broadcast(1);
    const I32x16 rounded = bits + odd + I32x16::broadcast(0xFFF);
    const I32x16 nan = bits | I32x16::broadcast(0x00400000);
    const Mask16 isNan = (bits & I32x16::broadcast(0x7FFFFFFF)) > I32x16::broadcast(0x7F800000);
    return floatOf(select(isNan, nan, rounded) & I32x16::broadcast(~0x1FFF));
}

// --- FP8 ------------------------------------------------------------------------------------------------------------

// E4M3 has no infinity; what is larger than 464, infinity too, becomes its one NaN (of either sign).
HALFSCOPE_INLINE I32x16 fp8E4M3Bits(F32x16 a) { return encodeNarrow<4, 3>(a, 0x43E80001, 0x7F, 0x7F); }
HALFSCOPE_INLINE I32x16 fp8E5M2Bits(F32x16 a) { return encodeNarrow<5, 2>(a, 0x47700000, 0x7C, 0x7E); } // from 61440
HALFSCOPE_INLINE void storeFp8E4M3(F32x16 a, std::uint8_t* p) { storeLow8(fp8E4M3Bits(a), p); }
HALFSCOPE_INLINE void storeFp8E5M2(F32x16 a, std::uint8_t* p) { storeLow8(fp8E5M2Bits(a), p); }

HALFSCOPE_INLINE F32x16 loadFp8E4M3(const std::uint8_t* p)
{
    const I32x16 byte = loadUnsigned8(p);
    const I32x16 sign = (byte & I32x16::broadcast(0x80)).shiftLeft<24>();
    const I32x16 pattern = byte & I32x16::broadcast(0x7F);
    const I32x16 normal = pattern.shiftLeft<20>() + I32x16::broadcast(120 << 23);
    const I32x16 subnormal = bitsOf(toFloat(pattern) * F32x16::broadcast(0x1p-9F));
    I32x16 result = select(pattern < I32x16::broadcast(8), subnormal, normal);
    result = select(pattern == I32x16::broadcast(0x7F), I32x16::broadcast(0x7FC00000), result);
    return floatOf(sign | result);
}
// E5M2 is the upper byte of FP16.
HALFSCOPE_INLINE F32x16 loadFp8E5M2(const std::uint8_t* p)
{
    std::uint16_t half[16];
    storeLow16(loadUnsigned8(p).shiftLeft<8>(), half);
    return loadHalf(half);
}

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
