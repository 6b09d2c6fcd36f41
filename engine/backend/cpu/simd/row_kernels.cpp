// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/row_kernels.h"

#include "engine/core/simd.h"
#include "engine/core/simd_math.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {

namespace {

constexpr float kLayerNormEpsilon = 1e-5F;

// Calls f(offset, lanes) for whole groups of 16 and once more for the rest, if any.
template <class F>
HALFSCOPE_INLINE void groups(std::size_t n, F f)
{
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        f(i, std::size_t{16});
    }
    if (i < n) {
        f(i, n - i);
    }
}

HALFSCOPE_INLINE F32x16 loadUpTo(const float* p, std::size_t lanes)
{
    return lanes == 16 ? F32x16::load(p) : F32x16::loadFirst(p, lanes);
}

HALFSCOPE_INLINE void storeUpTo(F32x16 v, float* p, std::size_t lanes)
{
    if (lanes == 16) {
        v.store(p);
    } else {
        v.storeFirst(p, lanes);
    }
}

HALFSCOPE_INLINE F32x16 keepFirst(F32x16 v, std::size_t lanes)
{
    return lanes == 16 ? v : select(firstLanes(lanes), v, F32x16::zero());
}

void layerNorm(const float* x, const float* gain, const float* shift, float* out, std::size_t n, float* mean,
               float* rstd)
{
    const auto count = static_cast<float>(n);
    F32x16 sum = F32x16::zero();
    groups(
        n, [&](std::size_t i, std::size_t lanes)
               __attribute__((always_inline)) { sum = sum + loadUpTo(x + i, lanes); });
    const float average = sumLanes(sum) / count;
    const F32x16 center = F32x16::broadcast(average);
    F32x16 squares = F32x16::zero();
    groups(
        n, [&](std::size_t i, std::size_t lanes) __attribute__((always_inline)) {
            const F32x16 d = keepFirst(loadUpTo(x + i, lanes) - center, lanes);
            squares = fma(d, d, squares);
        });
    const float inverse = 1.0F / __builtin_sqrtf(sumLanes(squares) / count + kLayerNormEpsilon);
    const F32x16 factor = F32x16::broadcast(inverse);
    groups(
        n, [&](std::size_t i, std::size_t lanes) __attribute__((always_inline)) {
            const F32x16 normalized = (loadUpTo(x + i, lanes) - center) * factor;
            storeUpTo(fma(normalized, loadUpTo(gain + i, lanes), loadUpTo(shift + i, lanes)), out + i, lanes);
        });
    *mean = average;
    *rstd = inverse;
}

// With h = (x - mean) * rstd and u = dOut * gain:  dx = rstd * (u - mean(u) - h * mean(u * h)).
void layerNormBackward(const LayerNormRow& row)
{
    const auto count = static_cast<float>(row.n);
    const F32x16 center = F32x16::broadcast(row.mean);
    const F32x16 factor = F32x16::broadcast(row.rstd);
    F32x16 sum = F32x16::zero();
    F32x16 product = F32x16::zero();
    groups(
        row.n, [&](std::size_t i, std::size_t lanes) __attribute__((always_inline)) {
            const F32x16 d = loadUpTo(row.dOut + i, lanes);
            const F32x16 h = keepFirst((loadUpTo(row.x + i, lanes) - center) * factor, lanes);
            const F32x16 u = d * loadUpTo(row.gain + i, lanes);
            sum = sum + u;
            product = fma(u, h, product);
            storeUpTo(fma(d, h, loadUpTo(row.dGain + i, lanes)), row.dGain + i, lanes);
            storeUpTo(loadUpTo(row.dShift + i, lanes) + d, row.dShift + i, lanes);
        });
    const F32x16 meanU = F32x16::broadcast(sumLanes(sum) / count);
    const F32x16 meanProduct = F32x16::broadcast(sumLanes(product) / count);
    groups(
        row.n, [&](std::size_t i, std::size_t lanes) __attribute__((always_inline)) {
            const F32x16 h = (loadUpTo(row.x + i, lanes) - center) * factor;
            const F32x16 u = loadUpTo(row.dOut + i, lanes) * loadUpTo(row.gain + i, lanes);
            F32x16 dx = factor * ((u - meanU) - h * meanProduct);
            if (row.residual != nullptr) {
                dx = loadUpTo(row.residual + i, lanes) + dx;
            }
            storeUpTo(dx, row.dx + i, lanes);
        });
}

// The largest of x[0..n), n > 0. What it is when there are NaNs does not matter here: subtracted from a NaN it leaves a
// NaN, and that makes the sum, and with it the whole row, NaN.
HALFSCOPE_INLINE float largest(const float* x, std::size_t n)
{
    F32x16 most = F32x16::broadcast(-__builtin_inff());
    groups(
        n, [&](std::size_t i, std::size_t lanes) __attribute__((always_inline)) {
            const F32x16 v = loadUpTo(x + i, lanes);
            most = max(lanes == 16 ? v : select(firstLanes(lanes), v, most), most);
        });
    return maxLane(most);
}

// to = exp((x - most) * scale), in whole groups; returns the sum.
HALFSCOPE_INLINE float exponentials(const float* x, float* to, std::size_t n, float most, float scale)
{
    const F32x16 shift = F32x16::broadcast(most);
    const F32x16 factor = F32x16::broadcast(scale);
    F32x16 sum = F32x16::zero();
    groups(
        n, [&](std::size_t i, std::size_t lanes) __attribute__((always_inline)) {
            const F32x16 e = exp((loadUpTo(x + i, lanes) - shift) * factor);
            sum = sum + keepFirst(e, lanes);
            if (to != nullptr) {
                e.store(to + i);
            }
        });
    return sumLanes(sum);
}

void softmax(float* x, std::size_t n, float scale)
{
    const F32x16 sum = F32x16::broadcast(exponentials(x, x, n, largest(x, n), scale));
    for (std::size_t i = 0; i < n; i += 16) {
        (F32x16::load(x + i) / sum).store(x + i);
    }
}

void softmaxBackward(const float* p, float* d, std::size_t n, float scale)
{
    F32x16 dot = F32x16::zero();
    groups(
        n, [&](std::size_t i, std::size_t lanes)
               __attribute__((always_inline)) { dot = fma(loadUpTo(p + i, lanes), loadUpTo(d + i, lanes), dot); });
    const F32x16 all = F32x16::broadcast(sumLanes(dot));
    const F32x16 factor = F32x16::broadcast(scale);
    groups(
        n, [&](std::size_t i, std::size_t lanes) __attribute__((always_inline)) {
            const F32x16 v = loadUpTo(p + i, lanes) * (loadUpTo(d + i, lanes) - all) * factor;
            v.store(d + i);
        });
}

double crossEntropy(const float* x, std::size_t n, std::size_t target, float* dx, float factor)
{
    const float most = largest(x, n);
    const float sum = exponentials(x, dx, n, most, 1.0F);
    float logarithm[16];
    log(F32x16::broadcast(sum)).store(logarithm);
    if (dx != nullptr) {
        const float hit = (dx[target] / sum - 1.0F) * factor;
        const F32x16 total = F32x16::broadcast(sum);
        const F32x16 by = F32x16::broadcast(factor);
        for (std::size_t i = 0; i < n; i += 16) {
            (F32x16::load(dx + i) / total * by).store(dx + i);
        }
        dx[target] = hit;
    }
    return static_cast<double>(logarithm[0]) - (static_cast<double>(x[target]) - static_cast<double>(most));
}

void multiplyLower(const LowerProduct& p)
{
    for (std::size_t i = 0; i < p.rows; ++i) {
        groups(
            p.cols, [&](std::size_t col, std::size_t lanes) __attribute__((always_inline)) {
                F32x16 sum = F32x16::zero();
                for (std::size_t j = 0; j <= p.first + i; ++j) {
                    const F32x16 factor = F32x16::broadcast(p.lower[i * p.lowerStride + j]);
                    sum = fma(factor, loadUpTo(p.b + j * p.bStride + col, lanes), sum);
                }
                storeUpTo(sum, p.c + i * p.cStride + col, lanes);
            });
    }
}

void addLowerTransposed(const LowerProduct& p)
{
    for (std::size_t i = 0; i < p.rows; ++i) {
        for (std::size_t j = 0; j <= p.first + i; ++j) {
            const F32x16 factor = F32x16::broadcast(p.lower[i * p.lowerStride + j]);
            float* sum = p.c + j * p.cStride;
            groups(
                p.cols, [&](std::size_t col, std::size_t lanes) __attribute__((always_inline)) {
                    const F32x16 term = loadUpTo(p.b + i * p.bStride + col, lanes);
                    storeUpTo(fma(factor, term, loadUpTo(sum + col, lanes)), sum + col, lanes);
                });
        }
    }
}

} // namespace

const RowKernels rowKernels = {layerNorm,    layerNormBackward, softmax,           softmaxBackward,
                               crossEntropy, multiplyLower,     addLowerTransposed};

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
