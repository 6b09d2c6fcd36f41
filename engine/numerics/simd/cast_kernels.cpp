// SPDX-License-Identifier: GPL-3.0-or-later
// Casts between FP32 and the other formats, and the unscaling pass.
#include "engine/numerics/cast_kernels.h"

#include "engine/numerics/simd/format_lanes.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {
namespace {

// f(from, to) for every 16 elements. The last, incomplete ones pass through a buffer filled up with zeros, so that they
// take the same way as all others.
template <class From, class To, class F>
HALFSCOPE_INLINE void forSixteens(const From* src, To* dst, std::size_t n, F f)
{
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16)
        f(src + i, dst + i);
    if (i < n) {
        From from[16] = {};
        To to[16];
        __builtin_memcpy(from, src + i, (n - i) * sizeof(From));
        f(from, to);
        __builtin_memcpy(dst + i, to, (n - i) * sizeof(To));
    }
}

void cast(FormatId format, const float* src, void* dst, std::size_t n)
{
    withFormat(format, [=](auto tag) {
        using Lanes = typename decltype(tag)::Lanes;
        using Element = typename decltype(tag)::Element;
        forSixteens(src, static_cast<Element*>(dst), n,
                    [](const float* from, Element* to) { Lanes::store(F32x16::load(from), to); });
    });
}

void widen(FormatId format, const void* src, float* dst, std::size_t n)
{
    withFormat(format, [=](auto tag) {
        using Lanes = typename decltype(tag)::Lanes;
        using Element = typename decltype(tag)::Element;
        forSixteens(static_cast<const Element*>(src), dst, n,
                    [](const Element* from, float* to) { Lanes::load(from).store(to); });
    });
}

bool unscale(FormatId format, const void* src, float* dst, std::size_t n, float inverseScale, double* sumSquares)
{
    const F32x16 factor = F32x16::broadcast(inverseScale);
    F64x16 squares = F64x16::zero();
    I32x16 largest = I32x16::zero();
    withFormat(format, [&](auto tag) {
        using Lanes = typename decltype(tag)::Lanes;
        using Element = typename decltype(tag)::Element;
        forSixteens(static_cast<const Element*>(src), dst, n, [&](const Element* from, float* to) {
            const F32x16 value = Lanes::load(from) * factor;
            value.store(to);
            squares.addProduct(value, value);
            largest = maxSigned(largest, bitsOf(value) & I32x16::broadcast(0x7FFFFFFF));
        });
    });
    *sumSquares = sumLanes(squares);
    // What is not finite before the multiplication is not finite after it either.
    return (largest > I32x16::broadcast(0x7F7FFFFF)).any();
}

} // namespace

const CastKernels castKernels = {cast, widen, unscale};

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
