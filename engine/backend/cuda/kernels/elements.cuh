// SPDX-License-Identifier: GPL-3.0-or-later
// Elements of every format: how they are read as FP32, exactly, and rounded to nearest, ties to even. The bits are
// those of engine/numerics for every input, NaNs included. A tensor's format is a value and not a template argument,
// because tensors of any format may meet and formats change while a run goes on; what depends on it is a template over
// the format's storage, chosen by a branch that all threads of a grid take alike.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "engine/backend/cuda/kernels/probe.cuh"

namespace halfscope::cuda {

// The pattern of the number nearest x, for a format with fewer exponent bits than FP32. `infinity` and `nan` are the
// format's patterns for them, `overflowFrom` the FP32 pattern of the smallest magnitude that becomes infinite.
template <int exponentBits, int mantissaBits>
__device__ inline unsigned encodeNarrow(float x, unsigned overflowFrom, unsigned infinity, unsigned nan)
{
    constexpr int kShift = 23 - mantissaBits;
    constexpr int kRebias = 127 - ((1 << (exponentBits - 1)) - 1); // also the FP32 exponent field below the normal ones
    const unsigned bits = __float_as_uint(x);
    const unsigned sign = bits >> (31 - exponentBits - mantissaBits) & (1U << (exponentBits + mantissaBits));
    const unsigned magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U)
        return sign | nan | (magnitude >> kShift & ((1U << mantissaBits) - 1U));
    if (magnitude >= overflowFrom)
        return sign | infinity;
    if (magnitude < (kRebias + 1U) << 23) {
        // Added to a number whose last bit is worth the smallest subnormal, the FPU rounds to multiples of it.
        const unsigned anchor = (kRebias + 1U + kShift) << 23;
        return sign | (__float_as_uint(__uint_as_float(magnitude) + __uint_as_float(anchor)) - anchor);
    }
    // Rebias the exponent and round the bits that go; a carry raises the exponent.
    const unsigned odd = magnitude >> kShift & 1U;
    return sign | (magnitude + odd + ((1U << (kShift - 1)) - 1U) - (static_cast<unsigned>(kRebias) << 23)) >> kShift;
}

// FP32 bits of which the lower ones are dropped; a NaN keeps its upper ones and becomes quiet.
template <int dropped>
__device__ inline unsigned roundBits(float x)
{
    const unsigned bits = __float_as_uint(x);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
        return (bits | 0x00400000U) >> dropped;
    return (bits + (bits >> dropped & 1U) + ((1U << (dropped - 1)) - 1U)) >> dropped;
}

__device__ inline float valueOfHalf(unsigned bits)
{
    if ((bits & 0x7FFFU) > 0x7C00U)
        return __uint_as_float((bits & 0x8000U) << 16 | 0x7FC00000U | (bits & 0x3FFU) << 13);
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

// One specialisation a format: its storage word, and the conversions.
template <FormatId format>
struct Codec;

template <>
struct Codec<FormatId::Fp32> {
    using Word = unsigned;
    static __device__ unsigned encode(float x) { return __float_as_uint(x); }
    static __device__ float decode(unsigned bits) { return __uint_as_float(bits); }
};

template <>
struct Codec<FormatId::Tf32> {
    using Word = unsigned;
    static __device__ unsigned encode(float x) { return roundBits<13>(x) << 13; }
    static __device__ float decode(unsigned bits) { return __uint_as_float(bits); }
};

template <>
struct Codec<FormatId::Fp16> {
    using Word = unsigned short;
    static __device__ unsigned encode(float x)
    {
        const unsigned bits = __float_as_uint(x);
        if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
            return (bits >> 16 & 0x8000U) | 0x7E00U | (bits >> 13 & 0x3FFU);
        return __half_as_ushort(__float2half_rn(x));
    }
    static __device__ float decode(unsigned bits) { return valueOfHalf(bits); }
};

template <>
struct Codec<FormatId::Bf16> {
    using Word = unsigned short;
    static __device__ unsigned encode(float x)
    {
        const unsigned bits = __float_as_uint(x);
        if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
            return (bits | 0x00400000U) >> 16;
        return __bfloat16_as_ushort(__float2bfloat16_rn(x));
    }
    static __device__ float decode(unsigned bits) { return __uint_as_float(bits << 16); }
};

template <>
struct Codec<FormatId::Fp8E4M3> { // no infinity: what is larger than 464 becomes NaN
    using Word = unsigned char;
    static __device__ unsigned encode(float x) { return encodeNarrow<4, 3>(x, 0x43E80001U, 0x7FU, 0x7FU); }
    static __device__ float decode(unsigned bits)
    {
        const unsigned sign = (bits & 0x80U) << 24;
        const unsigned pattern = bits & 0x7FU;
        if (pattern == 0x7FU)
            return __uint_as_float(sign | 0x7FC00000U);
        if (pattern < 8U)
            return __uint_as_float(sign | __float_as_uint(static_cast<float>(pattern) * 0.001953125F)); // 2^-9
        return __uint_as_float(sign | ((pattern << 20) + (120U << 23)));
    }
};

template <>
struct Codec<FormatId::Fp8E5M2> { // the upper byte of FP16
    using Word = unsigned char;
    static __device__ unsigned encode(float x) { return encodeNarrow<5, 2>(x, 0x47700000U, 0x7CU, 0x7EU); }
    static __device__ float decode(unsigned bits) { return valueOfHalf(bits << 8); }
};

// f(Codec<format>())
template <class F>
__device__ __forceinline__ void withCodec(FormatId format, F f)
{
    switch (format) {
    case FormatId::Fp32:
        return f(Codec<FormatId::Fp32>());
    case FormatId::Tf32:
        return f(Codec<FormatId::Tf32>());
    case FormatId::Fp16:
        return f(Codec<FormatId::Fp16>());
    case FormatId::Bf16:
        return f(Codec<FormatId::Bf16>());
    case FormatId::Fp8E4M3:
        return f(Codec<FormatId::Fp8E4M3>());
    case FormatId::Fp8E5M2:
        return f(Codec<FormatId::Fp8E5M2>());
    }
}

// Eight neighbouring words of 4 or 2 bytes in 16-byte accesses.
__device__ inline void loadEight(const unsigned* p, unsigned (&w)[8])
{
    const uint4 low = reinterpret_cast<const uint4*>(p)[0];
    const uint4 high = reinterpret_cast<const uint4*>(p)[1];
    w[0] = low.x, w[1] = low.y, w[2] = low.z, w[3] = low.w;
    w[4] = high.x, w[5] = high.y, w[6] = high.z, w[7] = high.w;
}
__device__ inline void loadEight(const unsigned short* p, unsigned (&w)[8])
{
    const uint4 all = *reinterpret_cast<const uint4*>(p);
    const unsigned pairs[4] = {all.x, all.y, all.z, all.w};
    for (int i = 0; i < 8; ++i)
        w[i] = pairs[i / 2] >> 16 * (i % 2) & 0xFFFFU;
}
__device__ inline void storeEight(unsigned* p, const unsigned (&w)[8])
{
    reinterpret_cast<uint4*>(p)[0] = {w[0], w[1], w[2], w[3]};
    reinterpret_cast<uint4*>(p)[1] = {w[4], w[5], w[6], w[7]};
}
__device__ inline void storeEight(unsigned short* p, const unsigned (&w)[8])
{
    *reinterpret_cast<uint4*>(p) = {w[0] | w[1] << 16, w[2] | w[3] << 16, w[4] | w[5] << 16, w[6] | w[7] << 16};
}
// Eight numbers, as functions that are not inlined hand them over.
struct Group {
    float v[8];
};

// Whatever is not common: incomplete groups, odd addresses, TF32 and FP8. Not inlined, because each of dozens of places
// would take its copy of every format's conversion, which takes the compiler minutes and the device registers.
inline __device__ __attribute__((noinline)) Group loadAnyGroup(Source from, long long index, int count)
{
    Group group;
    withCodec(from.format, [&](auto codec) {
        using C = decltype(codec);
        const auto* p = static_cast<const typename C::Word*>(from.data) + index;
        for (int i = 0; i < 8; ++i)
            group.v[i] = i < count ? C::decode(p[i]) : 0.0F;
    });
    return group;
}

inline __device__ __attribute__((noinline)) void storeAnyGroup(Destination to, long long index, int count, Group group)
{
    withCodec(to.format, [&](auto codec) {
        using C = decltype(codec);
        auto* p = static_cast<typename C::Word*>(to.data) + index;
        for (int i = 0; i < count; ++i)
            p[i] = static_cast<typename C::Word>(C::encode(group.v[i]));
    });
}

inline __device__ __attribute__((noinline)) float loadAnyElement(Source from, long long index)
{
    float value = 0.0F;
    withCodec(from.format, [&](auto codec) {
        using C = decltype(codec);
        value = C::decode(static_cast<const typename C::Word*>(from.data)[index]);
    });
    return value;
}

inline __device__ __attribute__((noinline)) float roundToAny(FormatId format, float x)
{
    withCodec(format, [&](auto codec) {
        using C = decltype(codec);
        x = C::decode(C::encode(x));
    });
    return x;
}

template <class C>
__device__ inline void decodeEight(const Source& from, long long index, float (&v)[8])
{
    unsigned w[8];
    loadEight(static_cast<const typename C::Word*>(from.data) + index, w);
    for (int i = 0; i < 8; ++i)
        v[i] = C::decode(w[i]);
}

template <class C>
__device__ inline void encodeEight(const Destination& to, long long index, const float (&v)[8])
{
    unsigned w[8];
    for (int i = 0; i < 8; ++i)
        w[i] = C::encode(v[i]);
    storeEight(static_cast<typename C::Word*>(to.data) + index, w);
}

// v[0 .. count) = the elements from `index` on, zeros behind them; count is at most 8.
__device__ inline void loadGroup(const Source& from, long long index, int count, float (&v)[8])
{
    if (count == 8 && index % 8 == 0) {
        if (from.format == FormatId::Fp32)
            return decodeEight<Codec<FormatId::Fp32>>(from, index, v);
        if (from.format == FormatId::Fp16)
            return decodeEight<Codec<FormatId::Fp16>>(from, index, v);
        if (from.format == FormatId::Bf16)
            return decodeEight<Codec<FormatId::Bf16>>(from, index, v);
    }
    const Group group = loadAnyGroup(from, index, count);
    for (int i = 0; i < 8; ++i)
        v[i] = group.v[i];
}

// Rounds and stores v[0 .. count).
__device__ inline void storeGroup(const Destination& to, long long index, int count, const float (&v)[8])
{
    if (count == 8 && index % 8 == 0) {
        if (to.format == FormatId::Fp32)
            return encodeEight<Codec<FormatId::Fp32>>(to, index, v);
        if (to.format == FormatId::Fp16)
            return encodeEight<Codec<FormatId::Fp16>>(to, index, v);
        if (to.format == FormatId::Bf16)
            return encodeEight<Codec<FormatId::Bf16>>(to, index, v);
    }
    Group group;
    for (int i = 0; i < 8; ++i)
        group.v[i] = v[i];
    storeAnyGroup(to, index, count, group);
}

__device__ inline float loadElement(const Source& from, long long index)
{
    if (from.format == FormatId::Fp32)
        return static_cast<const float*>(from.data)[index];
    if (from.format == FormatId::Fp16)
        return Codec<FormatId::Fp16>::decode(static_cast<const unsigned short*>(from.data)[index]);
    if (from.format == FormatId::Bf16)
        return Codec<FormatId::Bf16>::decode(static_cast<const unsigned short*>(from.data)[index]);
    return loadAnyElement(from, index);
}

// What a tensor of the format would hold.
__device__ inline float roundTo(FormatId format, float x)
{
    if (format == FormatId::Fp32)
        return x;
    if (format == FormatId::Fp16)
        return Codec<FormatId::Fp16>::decode(Codec<FormatId::Fp16>::encode(x));
    if (format == FormatId::Bf16)
        return Codec<FormatId::Bf16>::decode(Codec<FormatId::Bf16>::encode(x));
    return roundToAny(format, x);
}

// f(row, column, count) for the groups of 8 in each row of a (rows, cols) matrix, shared out over the grid. A whole
// tensor is one row.
template <class F>
__device__ __forceinline__ void forGroups(long long rows, long long cols, F f)
{
    const long long perRow = (cols + kGroup - 1) / kGroup;
    const long long step = static_cast<long long>(gridDim.x) * kThreads;
    for (long long g = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; g < rows * perRow; g += step) {
        const long long row = g / perRow;
        const long long column = (g - row * perRow) * kGroup;
        f(row, column, static_cast<int>(cols - column < kGroup ? cols - column : kGroup));
    }
}

// f(row) for the rows of a warp; all its lanes get the same ones.
template <class F>
__device__ __forceinline__ void forRows(long long rows, F f)
{
    const long long step = static_cast<long long>(gridDim.x) * kWarps;
    for (long long row = static_cast<long long>(blockIdx.x) * kWarps + threadIdx.x / kLanes; row < rows; row += step)
        f(row);
}

// f(column, count) for the groups of 8 of a row that belong to this lane.
template <class F>
__device__ __forceinline__ void forLaneGroups(long long cols, F f)
{
    for (long long column = threadIdx.x % kLanes * kGroup; column < cols; column += kLanes * kGroup)
        f(column, static_cast<int>(cols - column < kGroup ? cols - column : kGroup));
}

} // namespace halfscope::cuda
