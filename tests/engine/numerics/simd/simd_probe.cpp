// SPDX-License-Identifier: GPL-3.0-or-later
#include "../simd_probe.h"

#include "engine/core/simd_math.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {
namespace {

template <class F>
HALFSCOPE_INLINE void each(const float* x, float* y, std::size_t n, F f)
{
    for (std::size_t i = 0; i < n; i += 16)
        f(F32x16::load(x + i)).store(y + i);
}
template <class F>
HALFSCOPE_INLINE void each(const float* a, const float* b, float* y, std::size_t n, F f)
{
    for (std::size_t i = 0; i < n; i += 16)
        f(F32x16::load(a + i), F32x16::load(b + i)).store(y + i);
}

#define PROBE_UNARY(name, call)                                                                                        \
    void name(const float* x, float* y, std::size_t n)                                                                 \
    {                                                                                                                  \
        each(x, y, n, [](F32x16 a) { return call(a); });                                                               \
    }
#define PROBE_BINARY(name, expression)                                                                                 \
    void name(const float* x, const float* z, float* y, std::size_t n)                                                 \
    {                                                                                                                  \
        each(x, z, y, n, [](F32x16 a, F32x16 b) { return expression; });                                               \
    }
PROBE_UNARY(probeExp, exp)
PROBE_UNARY(probeLog, log)
PROBE_UNARY(probeErf, erf)
PROBE_UNARY(probeGelu, gelu)
PROBE_UNARY(probeGeluDerivative, geluDerivative)
PROBE_UNARY(probeSqrt, sqrt)
PROBE_UNARY(probeFloor, floor)
PROBE_UNARY(probeRound, roundToIntegral)
PROBE_BINARY(probeDivide, a / b)
PROBE_BINARY(probeMinimum, min(a, b))
PROBE_BINARY(probeMaximum, max(a, b))

void probeFma(const float* a, const float* b, const float* c, float* y, std::size_t n)
{
    for (std::size_t i = 0; i < n; i += 16)
        fma(F32x16::load(a + i), F32x16::load(b + i), F32x16::load(c + i)).store(y + i);
}
void probeFmaOneRegister(const float* a, const float* b, const float* c, float* y, std::size_t n)
{
    for (std::size_t i = 0; i < n; i += kWidth)
        fma(Vec::load(a + i), Vec::load(b + i), Vec::load(c + i)).store(y + i);
}
float probeSum(const float* x) { return sumLanes(F32x16::load(x)); }
float probeLargest(const float* x) { return maxLane(F32x16::load(x)); }
double probeSumDoubles(const double* x) { return sumLanes(F64x16::load(x)); }
void probeCopyFirst(const float* x, float* y, std::size_t n) { F32x16::loadFirst(x, n).storeFirst(y, n); }
unsigned probeLessBits(const float* a, const float* b)
{
    const Mask16 less = F32x16::load(a) < F32x16::load(b);
    return less.bits() | (less.any() ? 1U << 16 : 0U) | ((~less).any() ? 1U << 17 : 0U);
}
void probeIntegers(const std::int32_t* x, const std::int32_t* z, std::int32_t* y)
{
    const I32x16 a = I32x16::load(x);
    const I32x16 b = I32x16::load(z);
    (a + b).store(y);
    (a - b).store(y + 16);
    ((a & b) | (a ^ I32x16::laneIndex())).store(y + 32);
    a.shiftLeft<5>().store(y + 48);
    a.shiftRight<5>().store(y + 64);
    a.shiftRightSigned<5>().store(y + 80);
    minSigned(a, b).store(y + 96);
    maxSigned(a, b).store(y + 112);
}

} // namespace

const SimdProbe simdProbe = {
    probeExp,     probeLog,        probeErf,       probeGelu,     probeGeluDerivative, probeSqrt,           probeFloor,
    probeRound,   probeFma,        probeDivide,    probeMinimum,  probeMaximum,        probeFmaOneRegister, probeSum,
    probeLargest, probeSumDoubles, probeCopyFirst, probeLessBits, probeIntegers};

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
