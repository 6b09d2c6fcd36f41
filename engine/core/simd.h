// SPDX-License-Identifier: GPL-3.0-or-later
// Vectors for kernels that are compiled once per instruction set (see simd_dispatch.h) and must give the same bits in
// every build. A kernel works on 16 lanes at a time, whatever the registers' width: one AVX-512, two AVX2 or four
// 4-float registers. All arithmetic is IEEE single, rounded to nearest; fma rounds once, also where the CPU has none.
// The one thing that is not promised is *which* NaN an operation on a NaN returns: kernels that must keep payloads work
// on the bits.
//
// Nothing here may be included outside a kernel file. Everything is always_inline and lives in the level's namespace,
// so that no function compiled for one instruction set can end up in the code of another.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#pragma GCC diagnostic push
#ifndef __clang__ // GCC 12 takes the "undefined" vectors in its own AVX-512 header for a mistake
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#if !defined(HALFSCOPE_SIMD_NAMESPACE) || !defined(HALFSCOPE_SIMD_WIDTH)
#error "simd.h is for kernel files listed with halfscope_simd_sources()"
#endif

#define HALFSCOPE_INLINE __attribute__((always_inline)) inline
// A lambda that computes register i of a result.
#define HALFSCOPE_LANES(expression)                                                                                    \
    [&](int i) __attribute__((always_inline)) { return (expression); }

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {

inline constexpr int kWidth = HALFSCOPE_SIMD_WIDTH; // floats a register
inline constexpr int kRegisters = 16 / kWidth;      // registers for 16 lanes

using FloatRegister [[gnu::vector_size(4 * kWidth)]] = float;
using IntRegister [[gnu::vector_size(4 * kWidth)]] = std::int32_t;
using UintRegister [[gnu::vector_size(4 * kWidth)]] = std::uint32_t;
using DoubleRegister [[gnu::vector_size(4 * kWidth)]] = double;
using LongRegister [[gnu::vector_size(4 * kWidth)]] = std::int64_t;

// --- One native register. What the 16-lane types below and the matrix kernels are made of. --------------------------

template <class T>
HALFSCOPE_INLINE T loadBytes(const void* from)
{
    T value;
    __builtin_memcpy(&value, from, sizeof(T));
    return value;
}
template <class T>
HALFSCOPE_INLINE void storeBytes(void* to, T value)
{
    __builtin_memcpy(to, &value, sizeof(T));
}

#if defined(__SSE2__) && !defined(__FMA__)
// a * b + c in double for two lanes, rounded so that the following conversion to float cannot round twice: the product
// of two floats is exact, the sum's rounding error is known exactly (Knuth's two-sum), and an inexact sum is moved to
// its neighbour with an odd last bit ("round to odd"). 53 bits >= 24 + 2, so converting that to float gives the
// correctly rounded result, subnormal and overflowing results included. Infinities and NaNs have a NaN error and pass.
HALFSCOPE_INLINE __m128d fmaRoundedToOdd(__m128d a, __m128d b, __m128d c)
{
    const __m128d product = _mm_mul_pd(a, b);
    const __m128d sum = _mm_add_pd(product, c);
    const __m128d cPart = _mm_sub_pd(sum, product);
    const __m128d error = _mm_add_pd(_mm_sub_pd(product, _mm_sub_pd(sum, cPart)), _mm_sub_pd(c, cPart));
    const __m128d zero = _mm_setzero_pd();
    const __m128i inexact = _mm_castpd_si128(_mm_or_pd(_mm_cmplt_pd(error, zero), _mm_cmpgt_pd(error, zero)));
    const __m128i bits = _mm_castpd_si128(sum);
    const __m128i one = _mm_set1_epi64x(1);
    const __m128i even = _mm_andnot_si128(bits, one); // 1 where the last bit is 0
    // Away from zero if the error has the sum's sign, else towards it: +1 or -1 on the magnitude.
    const __m128i opposite = _mm_srli_epi64(_mm_xor_si128(bits, _mm_castpd_si128(error)), 63);
    const __m128i step = _mm_sub_epi64(one, _mm_add_epi64(opposite, opposite));
    const __m128i evenMask = _mm_sub_epi64(_mm_setzero_si128(), even);
    const __m128i move = _mm_and_si128(step, _mm_and_si128(inexact, evenMask));
    return _mm_castsi128_pd(_mm_add_epi64(bits, move));
}
#endif

HALFSCOPE_INLINE FloatRegister fmaRegister(FloatRegister a, FloatRegister b, FloatRegister c)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return _mm512_fmadd_ps(a, b, c);
#elif HALFSCOPE_SIMD_WIDTH == 8
    return _mm256_fmadd_ps(a, b, c);
#elif defined(__SSE2__) && !defined(__FMA__)
    const __m128d low = fmaRoundedToOdd(_mm_cvtps_pd(a), _mm_cvtps_pd(b), _mm_cvtps_pd(c));
    const __m128d high = fmaRoundedToOdd(_mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b)),
                                         _mm_cvtps_pd(_mm_movehl_ps(c, c)));
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
#else
    FloatRegister r = c;
    for (int i = 0; i < kWidth; ++i)
        r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return r;
#endif
}

HALFSCOPE_INLINE FloatRegister sqrtRegister(FloatRegister a)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return _mm512_sqrt_ps(a);
#elif HALFSCOPE_SIMD_WIDTH == 8
    return _mm256_sqrt_ps(a);
#elif defined(__SSE2__)
    return _mm_sqrt_ps(a);
#else
    for (int i = 0; i < kWidth; ++i)
        a[i] = __builtin_sqrtf(a[i]);
    return a;
#endif
}

// The lower and the upper half of the lanes as doubles.
HALFSCOPE_INLINE DoubleRegister lowDoubles(FloatRegister a)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return _mm512_cvtps_pd(_mm512_castps512_ps256(a));
#elif HALFSCOPE_SIMD_WIDTH == 8
    return _mm256_cvtps_pd(_mm256_castps256_ps128(a));
#elif defined(__SSE2__)
    return _mm_cvtps_pd(a);
#else
    return DoubleRegister{a[0], a[1]};
#endif
}

HALFSCOPE_INLINE DoubleRegister highDoubles(FloatRegister a)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1));
#elif HALFSCOPE_SIMD_WIDTH == 8
    return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
#elif defined(__SSE2__)
    return _mm_cvtps_pd(_mm_movehl_ps(a, a));
#else
    return DoubleRegister{a[2], a[3]};
#endif
}

// c + a * b where the product is exact, so that it does not matter whether it is rounded.
HALFSCOPE_INLINE DoubleRegister addExactProduct(DoubleRegister c, DoubleRegister a, DoubleRegister b)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return _mm512_fmadd_pd(a, b, c);
#elif HALFSCOPE_SIMD_WIDTH == 8
    return _mm256_fmadd_pd(a, b, c);
#else
    return c + a * b;
#endif
}

// One bit a lane, set where the lane's sign bit is.
HALFSCOPE_INLINE unsigned signBitsRegister(IntRegister a)
{
#if HALFSCOPE_SIMD_WIDTH == 16
    return _cvtmask16_u32(_mm512_movepi32_mask((__m512i)a));
#elif HALFSCOPE_SIMD_WIDTH == 8
    return static_cast<unsigned>(_mm256_movemask_ps((__m256)a));
#elif defined(__SSE2__)
    return static_cast<unsigned>(_mm_movemask_ps((__m128)a));
#else
    unsigned bits = 0;
    for (int i = 0; i < kWidth; ++i)
        bits |= static_cast<unsigned>(a[i] < 0) << i;
    return bits;
#endif
}

// kWidth floats for code that blocks in registers itself, such as a matrix product's inner kernel.
struct Vec {
    FloatRegister r;

    static HALFSCOPE_INLINE Vec zero() { return {FloatRegister{}}; }
    static HALFSCOPE_INLINE Vec broadcast(float x) { return {x - FloatRegister{}}; }
    static HALFSCOPE_INLINE Vec load(const float* p) { return {loadBytes<FloatRegister>(p)}; }
    HALFSCOPE_INLINE void store(float* p) const { storeBytes(p, r); }
    friend HALFSCOPE_INLINE Vec operator+(Vec a, Vec b) { return {a.r + b.r}; }
    friend HALFSCOPE_INLINE Vec operator-(Vec a, Vec b) { return {a.r - b.r}; }
    friend HALFSCOPE_INLINE Vec operator*(Vec a, Vec b) { return {a.r * b.r}; }
};
HALFSCOPE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {fmaRegister(a.r, b.r, c.r)}; } // a * b + c

// --- 16 lanes -------------------------------------------------------------------------------------------------------

template <class Lanes, class F>
HALFSCOPE_INLINE Lanes eachRegister(F f)
{
    if constexpr (kRegisters == 1)
        return Lanes{{f(0)}};
    else if constexpr (kRegisters == 2)
        return Lanes{{f(0), f(1)}};
    else
        return Lanes{{f(0), f(1), f(2), f(3)}};
}

// The answer of a comparison: all bits of a lane set, or none.
struct Mask16 {
    IntRegister r[kRegisters];

    friend HALFSCOPE_INLINE Mask16 operator&(Mask16 a, Mask16 b)
    {
        return eachRegister<Mask16>(HALFSCOPE_LANES(a.r[i] & b.r[i]));
    }
    friend HALFSCOPE_INLINE Mask16 operator|(Mask16 a, Mask16 b)
    {
        return eachRegister<Mask16>(HALFSCOPE_LANES(a.r[i] | b.r[i]));
    }
    friend HALFSCOPE_INLINE Mask16 operator^(Mask16 a, Mask16 b)
    {
        return eachRegister<Mask16>(HALFSCOPE_LANES(a.r[i] ^ b.r[i]));
    }
    HALFSCOPE_INLINE Mask16 operator~() const { return eachRegister<Mask16>(HALFSCOPE_LANES(~r[i])); }

    // Bit i is lane i.
    HALFSCOPE_INLINE unsigned bits() const
    {
        unsigned all = signBitsRegister(r[0]);
        for (int i = 1; i < kRegisters; ++i)
            all |= signBitsRegister(r[i]) << (i * kWidth);
        return all;
    }
    HALFSCOPE_INLINE bool any() const
    {
        IntRegister all = r[0];
        for (int i = 1; i < kRegisters; ++i)
            all |= r[i];
        return signBitsRegister(all) != 0;
    }
};

// 16 32-bit integers. Arithmetic wraps; comparisons are signed.
struct I32x16 {
    UintRegister r[kRegisters];

    static HALFSCOPE_INLINE I32x16 broadcast(std::int32_t x)
    {
        const UintRegister v = static_cast<std::uint32_t>(x) + UintRegister{};
        return eachRegister<I32x16>([&](int) __attribute__((always_inline)) { return v; });
    }
    static HALFSCOPE_INLINE I32x16 zero() { return broadcast(0); }
    static HALFSCOPE_INLINE I32x16 laneIndex() // 0, 1, ... 15
    {
        UintRegister first{};
        for (int i = 0; i < kWidth; ++i)
            first[i] = static_cast<std::uint32_t>(i);
        return eachRegister<I32x16>(HALFSCOPE_LANES(first + static_cast<std::uint32_t>(i * kWidth)));
    }
    static HALFSCOPE_INLINE I32x16 load(const std::int32_t* p)
    {
        return eachRegister<I32x16>(HALFSCOPE_LANES(loadBytes<UintRegister>(p + i * kWidth)));
    }
    HALFSCOPE_INLINE void store(std::int32_t* p) const
    {
        for (int i = 0; i < kRegisters; ++i)
            storeBytes(p + i * (kWidth), r[i]);
    }

    friend HALFSCOPE_INLINE I32x16 operator+(I32x16 a, I32x16 b)
    {
        return eachRegister<I32x16>(HALFSCOPE_LANES(a.r[i] + b.r[i]));
    }
    friend HALFSCOPE_INLINE I32x16 operator-(I32x16 a, I32x16 b)
    {
        return eachRegister<I32x16>(HALFSCOPE_LANES(a.r[i] - b.r[i]));
    }
    friend HALFSCOPE_INLINE I32x16 operator&(I32x16 a, I32x16 b)
    {
        return eachRegister<I32x16>(HALFSCOPE_LANES(a.r[i] & b.r[i]));
    }
    friend HALFSCOPE_INLINE I32x16 operator|(I32x16 a, I32x16 b)
    {
        return eachRegister<I32x16>(HALFSCOPE_LANES(a.r[i] | b.r[i]));
    }
    friend HALFSCOPE_INLINE I32x16 operator^(I32x16 a, I32x16 b)
    {
        return eachRegister<I32x16>(HALFSCOPE_LANES(a.r[i] ^ b.r[i]));
    }
    template <int n>
    HALFSCOPE_INLINE I32x16 shiftLeft() const
    {
        return eachRegister<I32x16>(HALFSCOPE_LANES(r[i] << n));
    }
    template <int n>
    HALFSCOPE_INLINE I32x16 shiftRight() const // zeros come in
    {
        return eachRegister<I32x16>(HALFSCOPE_LANES(r[i] >> n));
    }
    template <int n>
    HALFSCOPE_INLINE I32x16 shiftRightSigned() const // copies of the sign come in
    {
        return eachRegister<I32x16>(HALFSCOPE_LANES((UintRegister)((IntRegister)r[i] >> n)));
    }

    friend HALFSCOPE_INLINE Mask16 operator<(I32x16 a, I32x16 b)
    {
        return eachRegister<Mask16>(HALFSCOPE_LANES((IntRegister)((IntRegister)a.r[i] < (IntRegister)b.r[i])));
    }
    friend HALFSCOPE_INLINE Mask16 operator>(I32x16 a, I32x16 b) { return b < a; }
    friend HALFSCOPE_INLINE Mask16 operator==(I32x16 a, I32x16 b)
    {
        return eachRegister<Mask16>(HALFSCOPE_LANES((IntRegister)(a.r[i] == b.r[i])));
    }
};

HALFSCOPE_INLINE I32x16 asInt(Mask16 m) // -1 where set: subtract it to count
{
    return eachRegister<I32x16>(HALFSCOPE_LANES((UintRegister)m.r[i]));
}
HALFSCOPE_INLINE I32x16 select(Mask16 m, I32x16 yes, I32x16 no)
{
    return eachRegister<I32x16>(HALFSCOPE_LANES(m.r[i] ? yes.r[i] : no.r[i]));
}
// Written on signed registers so that compilers see the one instruction it is.
HALFSCOPE_INLINE IntRegister minRegister(IntRegister a, IntRegister b) { return a < b ? a : b; }
HALFSCOPE_INLINE IntRegister maxRegister(IntRegister a, IntRegister b) { return a > b ? a : b; }
HALFSCOPE_INLINE I32x16 minSigned(I32x16 a, I32x16 b)
{
    return eachRegister<I32x16>(HALFSCOPE_LANES((UintRegister)minRegister((IntRegister)a.r[i], (IntRegister)b.r[i])));
}
HALFSCOPE_INLINE I32x16 maxSigned(I32x16 a, I32x16 b)
{
    return eachRegister<I32x16>(HALFSCOPE_LANES((UintRegister)maxRegister((IntRegister)a.r[i], (IntRegister)b.r[i])));
}

// A mask of the first n lanes, 0 <= n <= 16.
HALFSCOPE_INLINE Mask16 firstLanes(std::size_t n)
{
    return I32x16::laneIndex() < I32x16::broadcast(static_cast<std::int32_t>(n));
}

// 16 floats.
struct F32x16 {
    FloatRegister r[kRegisters];

    static HALFSCOPE_INLINE F32x16 broadcast(float x)
    {
        const FloatRegister v = x - FloatRegister{}; // x - 0 is x, for -0 too
        return eachRegister<F32x16>([&](int) __attribute__((always_inline)) { return v; });
    }
    static HALFSCOPE_INLINE F32x16 zero()
    {
        return eachRegister<F32x16>([&](int) __attribute__((always_inline)) { return FloatRegister{}; });
    }
    static HALFSCOPE_INLINE F32x16 load(const float* p) // any alignment
    {
        return eachRegister<F32x16>(HALFSCOPE_LANES(loadBytes<FloatRegister>(p + i * kWidth)));
    }
    // The first n lanes (n <= 16) from memory, zeros in the others; touches no byte beyond.
    static HALFSCOPE_INLINE F32x16 loadFirst(const float* p, std::size_t n)
    {
#if HALFSCOPE_SIMD_WIDTH == 16
        return {{_mm512_maskz_loadu_ps(_cvtu32_mask16((1U << n) - 1U), p)}};
#elif HALFSCOPE_SIMD_WIDTH == 8
        const Mask16 m = firstLanes(n);
        return {{_mm256_maskload_ps(p, (__m256i)m.r[0]), _mm256_maskload_ps(p + 8, (__m256i)m.r[1])}};
#else
        float lanes[16] = {};
        for (std::size_t i = 0; i < n; ++i)
            lanes[i] = p[i];
        return load(lanes);
#endif
    }
    HALFSCOPE_INLINE void store(float* p) const
    {
        for (int i = 0; i < kRegisters; ++i)
            storeBytes(p + i * (kWidth), r[i]);
    }
    HALFSCOPE_INLINE void storeFirst(float* p, std::size_t n) const
    {
#if HALFSCOPE_SIMD_WIDTH == 16
        _mm512_mask_storeu_ps(p, _cvtu32_mask16((1U << n) - 1U), r[0]);
#elif HALFSCOPE_SIMD_WIDTH == 8
        const Mask16 m = firstLanes(n);
        _mm256_maskstore_ps(p, (__m256i)m.r[0], r[0]);
        _mm256_maskstore_ps(p + 8, (__m256i)m.r[1], r[1]);
#else
        float lanes[16];
        store(lanes);
        for (std::size_t i = 0; i < n; ++i)
            p[i] = lanes[i];
#endif
    }

    friend HALFSCOPE_INLINE F32x16 operator+(F32x16 a, F32x16 b)
    {
        return eachRegister<F32x16>(HALFSCOPE_LANES(a.r[i] + b.r[i]));
    }
    friend HALFSCOPE_INLINE F32x16 operator-(F32x16 a, F32x16 b)
    {
        return eachRegister<F32x16>(HALFSCOPE_LANES(a.r[i] - b.r[i]));
    }
    friend HALFSCOPE_INLINE F32x16 operator*(F32x16 a, F32x16 b)
    {
        return eachRegister<F32x16>(HALFSCOPE_LANES(a.r[i] * b.r[i]));
    }
    friend HALFSCOPE_INLINE F32x16 operator/(F32x16 a, F32x16 b)
    {
        return eachRegister<F32x16>(HALFSCOPE_LANES(a.r[i] / b.r[i]));
    }
    HALFSCOPE_INLINE F32x16 operator-() const { return eachRegister<F32x16>(HALFSCOPE_LANES(-r[i])); }

    // False where a side is NaN.
    friend HALFSCOPE_INLINE Mask16 operator<(F32x16 a, F32x16 b)
    {
        return eachRegister<Mask16>(HALFSCOPE_LANES((IntRegister)(a.r[i] < b.r[i])));
    }
    friend HALFSCOPE_INLINE Mask16 operator<=(F32x16 a, F32x16 b)
    {
        return eachRegister<Mask16>(HALFSCOPE_LANES((IntRegister)(a.r[i] <= b.r[i])));
    }
    friend HALFSCOPE_INLINE Mask16 operator>(F32x16 a, F32x16 b) { return b < a; }
    friend HALFSCOPE_INLINE Mask16 operator>=(F32x16 a, F32x16 b) { return b <= a; }
    friend HALFSCOPE_INLINE Mask16 operator==(F32x16 a, F32x16 b)
    {
        return eachRegister<Mask16>(HALFSCOPE_LANES((IntRegister)(a.r[i] == b.r[i])));
    }
};

HALFSCOPE_INLINE F32x16 fma(F32x16 a, F32x16 b, F32x16 c) // a * b + c, rounded once
{
    return eachRegister<F32x16>(HALFSCOPE_LANES(fmaRegister(a.r[i], b.r[i], c.r[i])));
}
HALFSCOPE_INLINE F32x16 sqrt(F32x16 a) { return eachRegister<F32x16>(HALFSCOPE_LANES(sqrtRegister(a.r[i]))); }
HALFSCOPE_INLINE F32x16 select(Mask16 m, F32x16 yes, F32x16 no)
{
    return eachRegister<F32x16>(HALFSCOPE_LANES(m.r[i] ? yes.r[i] : no.r[i]));
}
// b where a comparison with NaN decides, as the x86 instructions; so max(x, floor) replaces NaN, max(floor, x) keeps
// it. min(+-0, +-0) and max(+-0, +-0) are b as well.
HALFSCOPE_INLINE F32x16 min(F32x16 a, F32x16 b) { return select(a < b, a, b); }
HALFSCOPE_INLINE F32x16 max(F32x16 a, F32x16 b) { return select(b < a, a, b); }

HALFSCOPE_INLINE I32x16 bitsOf(F32x16 a) { return eachRegister<I32x16>(HALFSCOPE_LANES((UintRegister)a.r[i])); }
HALFSCOPE_INLINE F32x16 floatOf(I32x16 bits) { return eachRegister<F32x16>(HALFSCOPE_LANES((FloatRegister)bits.r[i])); }
HALFSCOPE_INLINE F32x16 toFloat(I32x16 a) // the integers' values
{
    return eachRegister<F32x16>(HALFSCOPE_LANES(__builtin_convertvector((IntRegister)a.r[i], FloatRegister)));
}
HALFSCOPE_INLINE I32x16 truncateToInt(F32x16 a) // |a| < 2^31
{
    return eachRegister<I32x16>(HALFSCOPE_LANES((UintRegister) __builtin_convertvector(a.r[i], IntRegister)));
}

HALFSCOPE_INLINE F32x16 abs(F32x16 a) { return floatOf(bitsOf(a) & I32x16::broadcast(0x7FFFFFFF)); }
HALFSCOPE_INLINE F32x16 copySign(F32x16 magnitude, F32x16 sign)
{
    const I32x16 signBit = I32x16::broadcast(INT32_MIN);
    return floatOf((bitsOf(magnitude) & I32x16::broadcast(INT32_MAX)) | (bitsOf(sign) & signBit));
}
HALFSCOPE_INLINE Mask16 isFinite(F32x16 a)
{
    return (bitsOf(a) & I32x16::broadcast(0x7FFFFFFF)) < I32x16::broadcast(0x7F800000);
}

// To the nearest integer, ties to even; keeps the sign of zero. Below 2^23 adding 2^23 leaves no bits for a fraction.
HALFSCOPE_INLINE F32x16 roundToIntegral(F32x16 a)
{
    const F32x16 magic = F32x16::broadcast(0x1p23F);
    const F32x16 magnitude = abs(a);
    return select(magnitude < magic, copySign((magnitude + magic) - magic, a), a);
}
HALFSCOPE_INLINE F32x16 floor(F32x16 a)
{
    const F32x16 r = roundToIntegral(a);
    return r - select(r > a, F32x16::broadcast(1.0F), F32x16::zero());
}

// The sum of 16 lanes as the fixed tree: lane i + lane i + 8, then + 4, + 2, + 1.
HALFSCOPE_INLINE float sumLanes(F32x16 a)
{
    using Four [[gnu::vector_size(16)]] = float;
#if HALFSCOPE_SIMD_WIDTH == 16
    const __m256 eight = _mm512_castps512_ps256(a.r[0]) + _mm512_extractf32x8_ps(a.r[0], 1);
    const Four four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);
#elif HALFSCOPE_SIMD_WIDTH == 8
    const __m256 eight = a.r[0] + a.r[1];
    const Four four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);
#else
    const Four four = (a.r[0] + a.r[2]) + (a.r[1] + a.r[3]);
#endif
    return (four[0] + four[2]) + (four[1] + four[3]);
}
// The largest lane by the same tree. Lanes must not be NaN.
HALFSCOPE_INLINE float maxLane(F32x16 a)
{
    using Four [[gnu::vector_size(16)]] = float;
#if HALFSCOPE_SIMD_WIDTH == 16
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.r[0]), _mm512_extractf32x8_ps(a.r[0], 1));
    const Four four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
#elif HALFSCOPE_SIMD_WIDTH == 8
    const __m256 eight = _mm256_max_ps(a.r[0], a.r[1]);
    const Four four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
#else
    const Four left = a.r[0] > a.r[2] ? a.r[0] : a.r[2];
    const Four right = a.r[1] > a.r[3] ? a.r[1] : a.r[3];
    const Four four = left > right ? left : right;
#endif
    const float even = four[0] > four[2] ? four[0] : four[2];
    const float odd = four[1] > four[3] ? four[1] : four[3];
    return even > odd ? even : odd;
}

// 16 doubles, to sum floats in: lane i % 16 takes element i.
struct F64x16 {
    DoubleRegister r[2 * kRegisters];

    static HALFSCOPE_INLINE F64x16 zero() { return {}; }
    static HALFSCOPE_INLINE F64x16 load(const double* p)
    {
        F64x16 v;
        for (int i = 0; i < 2 * kRegisters; ++i)
            v.r[i] = loadBytes<DoubleRegister>(p + i * (kWidth / 2));
        return v;
    }
    HALFSCOPE_INLINE void store(double* p) const
    {
        for (int i = 0; i < 2 * kRegisters; ++i)
            storeBytes(p + i * (kWidth / 2), r[i]);
    }

    HALFSCOPE_INLINE void add(F32x16 a)
    {
        for (int i = 0; i < kRegisters; ++i) {
            r[2 * i] += lowDoubles(a.r[i]);
            r[2 * i + 1] += highDoubles(a.r[i]);
        }
    }
    // + a * b; the product of two floats is exact in double.
    HALFSCOPE_INLINE void addProduct(F32x16 a, F32x16 b)
    {
        for (int i = 0; i < kRegisters; ++i) {
            r[2 * i] = addExactProduct(r[2 * i], lowDoubles(a.r[i]), lowDoubles(b.r[i]));
            r[2 * i + 1] = addExactProduct(r[2 * i + 1], highDoubles(a.r[i]), highDoubles(b.r[i]));
        }
    }
};
// The same fixed tree as sumLanes.
HALFSCOPE_INLINE double sumLanes(F64x16 a)
{
    double lanes[16];
    a.store(lanes);
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
