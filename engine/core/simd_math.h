// SPDX-License-Identifier: GPL-3.0-or-later
// Elementary functions of 16 lanes from + - * / fma alone, so that every instruction set gives the same bits (a C
// library's functions differ between machines). The polynomials are minimax fits made for this file. Errors stated
// below are bounds that a test holds against double precision for every FP32 input, in units of the last place of the
// result.
#pragma once

#include "engine/core/simd.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {

// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule.
template <int n>
HALFSCOPE_INLINE F32x16 polynomial(F32x16 x, const float (&c)[n])
{
    F32x16 sum = F32x16::broadcast(c[n - 1]);
    for (int i = n - 2; i >= 0; --i)
        sum = fma(sum, x, F32x16::broadcast(c[i]));
    return sum;
}

// e^x, error below 0.9. NaN stays NaN, exp(-inf) = 0, exp(inf) = inf; subnormal results are rounded like others.
HALFSCOPE_INLINE F32x16 exp(F32x16 x)
{
    // Beyond these bounds the result is 0 or infinity anyway. (min and max keep their second argument when it is NaN.)
    x = min(F32x16::broadcast(104.0F), max(F32x16::broadcast(-104.0F), x));
    // x = k ln 2 + r with an integer k; adding 1.5 * 2^23 rounds, and leaves k in the low bits.
    const F32x16 magic = F32x16::broadcast(0x1.8p23F);
    const F32x16 shifted = fma(x, F32x16::broadcast(0x1.715476p+0F), magic);
    const F32x16 k = shifted - magic;
    F32x16 r = fma(k, F32x16::broadcast(-0x1.62e430p-1F), x); // ln 2 in two parts; this step is exact
    r = fma(k, F32x16::broadcast(0x1.05c610p-29F), r);
    constexpr float kCoefficients[] = {0x1.fffffcp-2F, 0x1.555492p-3F, 0x1.5558bcp-5F, 0x1.1239c6p-7F, 0x1.6a4154p-10F};
    const F32x16 one = F32x16::broadcast(1.0F);
    const F32x16 p = fma(fma(polynomial(r, kCoefficients), r, one), r, one);
    // Times 2^k in two exact halves, since 2^k itself may not be a normal number (-150 <= k <= 150).
    const I32x16 exponent = bitsOf(shifted) - bitsOf(magic);
    const I32x16 first = exponent.shiftRightSigned<1>();
    const I32x16 second = exponent - first;
    const I32x16 bias = I32x16::broadcast(127);
    return (p * floatOf((first + bias).shiftLeft<23>())) * floatOf((second + bias).shiftLeft<23>());
}

// ln x, error below 0.9. log(+-0) = -inf, log(inf) = inf, log of a negative number or NaN is NaN.
HALFSCOPE_INLINE F32x16 log(F32x16 x)
{
    const F32x16 one = F32x16::broadcast(1.0F);
    const Mask16 tiny = x < F32x16::broadcast(0x1p-126F);
    const F32x16 scaled = select(tiny, x * F32x16::broadcast(0x1p23F), x);
    // x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
    const I32x16 offset = bitsOf(scaled) - I32x16::broadcast(0x3F3504F3);
    const I32x16 exponent = offset.shiftRightSigned<23>();
    const F32x16 f = floatOf(bitsOf(scaled) - exponent.shiftLeft<23>()) - one;
    const F32x16 k = toFloat(exponent - select(tiny, I32x16::broadcast(23), I32x16::zero()));
    constexpr float kCoefficients[] = {0x1.555554p-2F, -0x1.000226p-2F, 0x1.99a01cp-3F, -0x1.54728ap-3F,
                                       0x1.22d932p-3F, -0x1.0d824ap-3F, 0x1.055e92p-3F, -0x1.38c8f4p-4F};
    const F32x16 square = f * f;
    F32x16 tail = polynomial(f, kCoefficients) * (square * f);
    tail = fma(k, F32x16::broadcast(-0x1.bd0106p-13F), tail); // ln 2 in two parts: the upper one has few enough bits
    tail = fma(square, F32x16::broadcast(-0.5F), tail);       // for its product with k to be exact
    const F32x16 result = fma(k, F32x16::broadcast(0x1.63p-1F), f + tail);
    const F32x16 infinity = F32x16::broadcast(__builtin_inff());
    const F32x16 special = select(x == F32x16::zero(), -infinity, select(x == infinity, infinity, x - x));
    const F32x16 nan = F32x16::broadcast(__builtin_nanf(""));
    return select((x > F32x16::zero()) & (x < infinity), result, select(x < F32x16::zero(), nan, special));
}

// The error function, error below 1.2. erf(+-0) = +-0, erf(+-inf) = +-1.
HALFSCOPE_INLINE F32x16 erf(F32x16 x)
{
    constexpr float kSmall[] = {0x1.06eba8p-3F,  -0x1.812728p-2F, 0x1.ce25e8p-4F,
                                -0x1.b73f58p-6F, 0x1.4bbc48p-8F,  -0x1.4e3b52p-11F};
    const F32x16 small = fma(polynomial(x * x, kSmall), x, x);
    // 1 - exp(-q(|x|)), q a fit of -ln(erfc) on [0.84, 4]; beyond 3.92 erf rounds to 1.
    constexpr float kTail[] = {0x1.9a48a0p-14F, 0x1.20ca84p+0F, 0x1.45df10p-1F,  0x1.ac54fap-4F,
                               -0x1.7157b0p-6F, 0x1.997b28p-9F, -0x1.ac886ep-13F};
    const F32x16 magnitude = min(F32x16::broadcast(4.0F), abs(x));
    const F32x16 tail = F32x16::broadcast(1.0F) - exp(-polynomial(magnitude, kTail));
    return select(magnitude < F32x16::broadcast(0.84375F), small, copySign(tail, x));
}

// GELU with the error function, as torch.nn.GELU(): x Phi(x), Phi the normal distribution.
HALFSCOPE_INLINE F32x16 normalDistribution(F32x16 x)
{
    const F32x16 half = F32x16::broadcast(0.5F);
    return fma(half, erf(x * F32x16::broadcast(0x1.6a09e6p-1F)), half);
}
HALFSCOPE_INLINE F32x16 gelu(F32x16 x) { return x * normalDistribution(x); }
// Phi(x) + x phi(x), phi the normal density.
HALFSCOPE_INLINE F32x16 geluDerivative(F32x16 x)
{
    const F32x16 density = F32x16::broadcast(0x1.988454p-2F) * exp(x * x * F32x16::broadcast(-0.5F));
    return fma(x, density, normalDistribution(x));
}

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
