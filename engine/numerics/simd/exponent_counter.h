// SPDX-License-Identifier: GPL-3.0-or-later
// Counts exponents held as bytes. One increment of a table per value is slow (increments of the same entry wait for
// each other), so neighbouring exponents, which are what real data has, are counted by comparing whole registers of
// bytes. For kernel files only.
#pragma once

#include "engine/core/simd.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {

inline constexpr int kBytes = 4 * kWidth; // bytes a register
using ByteRegister [[gnu::vector_size(kBytes)]] = std::uint8_t;

// 64 lanes with values 0 .. 255 to 64 bytes. Their order is of no consequence here and not kept.
HALFSCOPE_INLINE void packBytes(I32x16 a, I32x16 b, I32x16 c, I32x16 d, std::uint8_t* to)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    const __m512i low = _mm512_packus_epi32((__m512i)a.r[0], (__m512i)b.r[0]);
    const __m512i high = _mm512_packus_epi32((__m512i)c.r[0], (__m512i)d.r[0]);
    storeBytes(to, _mm512_packus_epi16(low, high));
#elif HALFSCOPE_SIMD_WIDTH == 8
    const auto pack = [to](I32x16 x, I32x16 y, int at) __attribute__((always_inline))
    {
        const __m256i low = _mm256_packus_epi32((__m256i)x.r[0], (__m256i)x.r[1]);
        const __m256i high = _mm256_packus_epi32((__m256i)y.r[0], (__m256i)y.r[1]);
        storeBytes(to + at, _mm256_packus_epi16(low, high));
    };
    pack(a, b, 0);
    pack(c, d, 32);
#elif defined(__SSE2__)
    const auto pack = [to](I32x16 x, int at) __attribute__((always_inline))
    {
        const __m128i low = _mm_packs_epi32((__m128i)x.r[0], (__m128i)x.r[1]);
        const __m128i high = _mm_packs_epi32((__m128i)x.r[2], (__m128i)x.r[3]);
        storeBytes(to + at, _mm_packus_epi16(low, high));
    };
    pack(a, 0);
    pack(b, 16);
    pack(c, 32);
    pack(d, 48);
#else
    const I32x16 all[4] = {a, b, c, d};
    for (int i = 0; i < 64; ++i)
        to[i] = static_cast<std::uint8_t>(all[i / 16].r[(i % 16) / kWidth][i % kWidth]);
#endif
}

// The sums of the bytes of four registers (each below 65536).
HALFSCOPE_INLINE void sumBytes(const ByteRegister* a, unsigned* sums)
{
#if HALFSCOPE_SIMD_WIDTH > 4 || defined(__SSE2__)
    // The instruction leaves small sums in 64-bit lanes: four registers' sums fit into one, 16 bits each.
    const auto partial = [a](int i) __attribute__((always_inline))
    {
#if HALFSCOPE_SIMD_WIDTH == 16
        return (LongRegister)_mm512_sad_epu8((__m512i)a[i], _mm512_setzero_si512());
#elif HALFSCOPE_SIMD_WIDTH == 8
        return (LongRegister)_mm256_sad_epu8((__m256i)a[i], _mm256_setzero_si256());
#else
        return (LongRegister)_mm_sad_epu8((__m128i)a[i], _mm_setzero_si128());
#endif
    };
    const LongRegister mixed = partial(0) | partial(1) << 16 | partial(2) << 32 | partial(3) << 48;
#if HALFSCOPE_SIMD_WIDTH == 16
    const __m256i four =
        _mm256_add_epi64(_mm512_castsi512_si256((__m512i)mixed), _mm512_extracti64x4_epi64((__m512i)mixed, 1));
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
#elif HALFSCOPE_SIMD_WIDTH == 8
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128((__m256i)mixed), _mm256_extracti128_si256((__m256i)mixed, 1));
#else
    const auto two = (__m128i)mixed;
#endif
    const auto all = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two))));
    for (int i = 0; i < 4; ++i)
        sums[i] = static_cast<unsigned>(all >> (16 * i)) & 0xFFFFU;
#else
    for (int i = 0; i < 4; ++i) {
        sums[i] = 0;
        for (int k = 0; k < kBytes; ++k)
            sums[i] += a[i][k];
    }
#endif
}

// Bit i is set where byte i is not zero; bytes are 0 or 255.
HALFSCOPE_INLINE std::uint64_t byteBits(ByteRegister a)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return _cvtmask64_u64(_mm512_movepi8_mask((__m512i)a));
#elif HALFSCOPE_SIMD_WIDTH == 8
    return static_cast<std::uint32_t>(_mm256_movemask_epi8((__m256i)a));
#elif defined(__SSE2__)
    return static_cast<std::uint32_t>(_mm_movemask_epi8((__m128i)a));
#else
    std::uint64_t bits = 0;
    for (int i = 0; i < kBytes; ++i)
        bits |= static_cast<std::uint64_t>(a[i] & 1U) << i;
    return bits;
#endif
}

// The number of zeros among `count` bytes (a multiple of 64, at most 2048); counts[e] is increased for every other.
// No byte other than zero is outside [lowest, highest].
HALFSCOPE_INLINE unsigned countExponents(const std::uint8_t* bytes, int count, int lowest, int highest,
                                         std::uint64_t* counts)
{
    constexpr int kAtOnce = 11;       // counters that, with one for zeros, fit into 16 registers
    constexpr int kMaximumPasses = 4; // then one by one: the data has no neighbours
    const int worthAPass = count / 64;
    unsigned zeros = 0;
    int left = count;
    for (int pass = 0;; ++pass) {
        const int low = highest - kAtOnce + 1 < 1 ? 1 : highest - kAtOnce + 1;
        ByteRegister found[kAtOnce + 1] = {};
        const ByteRegister first = static_cast<std::uint8_t>(low) - ByteRegister{};
        for (int i = 0; i < count; i += kBytes) {
            const ByteRegister e = loadBytes<ByteRegister>(bytes + i);
            const ByteRegister relative = e - first;
#pragma GCC unroll 11
            for (int k = 0; k < kAtOnce; ++k)
                found[k] -= (ByteRegister)(relative == static_cast<std::uint8_t>(k));
            found[kAtOnce] -= (ByteRegister)(e == 0);
        }
        unsigned sums[kAtOnce + 1];
        for (int k = 0; k <= kAtOnce; k += 4)
            sumBytes(found + k, sums + k);
        if (pass == 0) {
            zeros = sums[kAtOnce];
            left -= static_cast<int>(zeros);
        }
        for (int k = 0; k < kAtOnce && low + k <= highest; ++k) {
            counts[low + k] += sums[k];
            left -= static_cast<int>(sums[k]);
        }
        highest = low - 1;
        if (left == 0 || highest < lowest)
            return zeros;
        if (left < worthAPass || pass + 1 == kMaximumPasses)
            break;
    }
    const ByteRegister bound = static_cast<std::uint8_t>(highest) - ByteRegister{};
    for (int i = 0; i < count; i += kBytes) {
        const ByteRegister e = loadBytes<ByteRegister>(bytes + i);
        // 1 <= e <= bound; zeros wrap round to 255 and are left out.
        for (std::uint64_t bits = byteBits((ByteRegister)(e - 1 < bound)); bits != 0; bits &= bits - 1)
            ++counts[bytes[i + __builtin_ctzll(bits)]];
    }
    return zeros;
}

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
