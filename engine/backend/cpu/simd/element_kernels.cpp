// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/element_kernels.h"

#include "engine/core/simd.h"
#include "engine/core/simd_convert.h"
#include "engine/core/simd_math.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {

namespace {

// to[i] = f(x[i]), 16 lanes at a time.
template <class F>
HALFSCOPE_INLINE void map(const float* x, float* to, std::size_t n, F f)
{
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        f(F32x16::load(x + i)).store(to + i);
    }
    if (i < n) {
        f(F32x16::loadFirst(x + i, n - i)).storeFirst(to + i, n - i);
    }
}

// to[i] = f(a[i], b[i])
template <class F>
HALFSCOPE_INLINE void map(const float* a, const float* b, float* to, std::size_t n, F f)
{
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        f(F32x16::load(a + i), F32x16::load(b + i)).store(to + i);
    }
    if (i < n) {
        f(F32x16::loadFirst(a + i, n - i), F32x16::loadFirst(b + i, n - i)).storeFirst(to + i, n - i);
    }
}

unsigned castFlags(const float* x, std::size_t n, std::uint32_t overflowBits)
{
    const I32x16 magnitudeMask = I32x16::broadcast(0x7FFFFFFF);
    const I32x16 infinity = I32x16::broadcast(0x7F800000);
    const I32x16 largest = I32x16::broadcast(static_cast<std::int32_t>(overflowBits) - 1); // that survives
    Mask16 over = infinity < infinity;
    Mask16 nonfinite = over;
    const auto look = [&](F32x16 v) __attribute__((always_inline))
    {
        const I32x16 magnitude = bitsOf(v) & magnitudeMask;
        const Mask16 finite = magnitude < infinity;
        over = over | (finite & (largest < magnitude));
        nonfinite = nonfinite | ~finite;
    };
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        look(F32x16::load(x + i));
    }
    if (i < n) {
        look(F32x16::loadFirst(x + i, n - i));
    }
    return (over.any() ? kFlagSaturated : 0U) | (nonfinite.any() ? kFlagNonfinite : 0U);
}

float largestMagnitude(const float* x, std::size_t n)
{
    const I32x16 magnitudeMask = I32x16::broadcast(0x7FFFFFFF);
    const I32x16 infinity = I32x16::broadcast(0x7F800000);
    I32x16 largest = I32x16::zero();
    const auto look = [&](F32x16 v) __attribute__((always_inline))
    {
        const I32x16 magnitude = bitsOf(v) & magnitudeMask;
        largest = maxSigned(largest, select(infinity < magnitude, infinity, magnitude));
    };
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        look(F32x16::load(x + i));
    }
    if (i < n) {
        look(F32x16::loadFirst(x + i, n - i));
    }
    std::int32_t lanes[16];
    largest.store(lanes);
    std::int32_t most = 0;
    for (const std::int32_t lane : lanes) {
        most = lane > most ? lane : most;
    }
    float result;
    __builtin_memcpy(&result, &most, sizeof result);
    return result;
}

void clamp(float* x, std::size_t n, float largest)
{
    const I32x16 magnitudeMask = I32x16::broadcast(0x7FFFFFFF);
    const I32x16 infinity = I32x16::broadcast(0x7F800000);
    const I32x16 limit = bitsOf(F32x16::broadcast(largest));
    map(
        x, x, n, [&](F32x16 v) __attribute__((always_inline)) {
            const I32x16 magnitude = bitsOf(v) & magnitudeMask;
            const I32x16 sign = bitsOf(v) & I32x16::broadcast(INT32_MIN);
            return floatOf(select((limit < magnitude) & (magnitude < infinity), sign | limit, bitsOf(v)));
        });
}

void scale(float* x, std::size_t n, float by)
{
    const F32x16 factor = F32x16::broadcast(by);
    map(
        x, x, n, [&](F32x16 v) __attribute__((always_inline)) { return v * factor; });
}

void add(const float* a, const float* b, float* to, std::size_t n)
{
    map(
        a, b, to, n, [](F32x16 v, F32x16 w) __attribute__((always_inline)) { return v + w; });
}

void gelu(const float* x, float* to, std::size_t n)
{
    map(
        x, to, n, [](F32x16 v) __attribute__((always_inline)) { return HALFSCOPE_SIMD_NAMESPACE::gelu(v); });
}

// Written so that NaN stays NaN and -0 becomes +0, as max(x, 0) does in PyTorch.
void relu(const float* x, float* to, std::size_t n)
{
    const F32x16 zero = F32x16::zero();
    map(
        x, to, n, [&](F32x16 v) __attribute__((always_inline)) { return select(v <= zero, zero, v); });
}

void geluBackward(float* gradient, const float* x, std::size_t n)
{
    map(
        gradient, x, gradient, n,
        [](F32x16 g, F32x16 v) __attribute__((always_inline)) { return g * geluDerivative(v); });
}

void reluBackward(float* gradient, const float* x, std::size_t n)
{
    const F32x16 zero = F32x16::zero();
    map(
        gradient, x, gradient,
        n, [&](F32x16 g, F32x16 v) __attribute__((always_inline)) { return select(v <= zero, zero, g); });
}

struct AdamState {
    F32x16 master;
    F32x16 moment1;
    F32x16 moment2;
};

HALFSCOPE_INLINE AdamState adamStep(const AdamWFactors& f, F32x16 gradient, AdamState s)
{
    const F32x16 g = gradient * F32x16::broadcast(f.gradientFactor);
    const F32x16 decayed = s.master * F32x16::broadcast(f.decay);
    s.moment1 = fma(g, F32x16::broadcast(f.oneMinusBeta1), s.moment1 * F32x16::broadcast(f.beta1));
    s.moment2 = fma(g * g, F32x16::broadcast(f.oneMinusBeta2), s.moment2 * F32x16::broadcast(f.beta2));
    const F32x16 root = sqrt(s.moment2) / F32x16::broadcast(f.rootCorrection2);
    const F32x16 denominator = root + F32x16::broadcast(f.epsilon);
    s.master = decayed - F32x16::broadcast(f.stepSize) * s.moment1 / denominator;
    return s;
}

// As torch's sequence of operations on half tensors: mul_, lerp_, mul_, addcmul_, sqrt, div, add_, addcdiv_, of which
// each computes in FP32 and rounds its result. The last rounding is that of the store.
template <class Round>
HALFSCOPE_INLINE AdamState adamStepRounded(const AdamWFactors& f, F32x16 gradient, AdamState s, Round round)
{
    const F32x16 g = gradient * F32x16::broadcast(f.gradientFactor);
    const F32x16 decayed = round(s.master * F32x16::broadcast(f.decay));
    const bool nearOld = f.oneMinusBeta1 < 0.5F; // lerp starts from the nearer end
    s.moment1 = round(nearOld ? fma(F32x16::broadcast(f.oneMinusBeta1), g - s.moment1, s.moment1)
                              : fma(F32x16::broadcast(f.oneMinusBeta1 - 1.0F), g - s.moment1, g));
    s.moment2 = round(s.moment2 * F32x16::broadcast(f.beta2));
    s.moment2 = round(s.moment2 + F32x16::broadcast(f.oneMinusBeta2) * g * g);
    const F32x16 root = round(round(sqrt(s.moment2)) / F32x16::broadcast(f.rootCorrection2));
    const F32x16 denominator = round(root + F32x16::broadcast(f.epsilon));
    s.master = decayed - F32x16::broadcast(f.stepSize) * s.moment1 / denominator;
    return s;
}

template <class Step>
HALFSCOPE_INLINE void adamSteps(const float* gradient, float* master, float* moment1, float* moment2, std::size_t n,
                                Step step)
{
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const AdamState next =
            step(F32x16::load(gradient + i),
                 AdamState{F32x16::load(master + i), F32x16::load(moment1 + i), F32x16::load(moment2 + i)});
        next.master.store(master + i);
        next.moment1.store(moment1 + i);
        next.moment2.store(moment2 + i);
    }
    if (i < n) {
        const std::size_t rest = n - i;
        const AdamState next = step(F32x16::loadFirst(gradient + i, rest),
                                    AdamState{F32x16::loadFirst(master + i, rest), F32x16::loadFirst(moment1 + i, rest),
                                              F32x16::loadFirst(moment2 + i, rest)});
        next.master.storeFirst(master + i, rest);
        next.moment1.storeFirst(moment1 + i, rest);
        next.moment2.storeFirst(moment2 + i, rest);
    }
}

void adamw(const AdamWFactors& f, const float* gradient, float* master, float* moment1, float* moment2, std::size_t n)
{
    if (f.every == FormatId::Fp16) {
        adamSteps(
            gradient, master, moment1, moment2, n, [&](F32x16 g, const AdamState& s) __attribute__((always_inline)) {
                return adamStepRounded(
                    f, g, s, [](F32x16 v) __attribute__((always_inline)) { return roundToHalf(v); });
            });
    } else if (f.every == FormatId::Bf16) {
        adamSteps(
            gradient, master, moment1, moment2, n, [&](F32x16 g, const AdamState& s) __attribute__((always_inline)) {
                return adamStepRounded(
                    f, g, s, [](F32x16 v) __attribute__((always_inline)) { return roundToBfloat(v); });
            });
    } else {
        adamSteps(
            gradient, master, moment1, moment2,
            n, [&](F32x16 g, const AdamState& s) __attribute__((always_inline)) { return adamStep(f, g, s); });
    }
}

} // namespace

const ElementKernels elementKernels = {castFlags, largestMagnitude, clamp,        scale, add, gelu,
                                       relu,      geluBackward,     reluBackward, adamw};

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
