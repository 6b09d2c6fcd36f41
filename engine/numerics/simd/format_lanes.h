// SPDX-License-Identifier: GPL-3.0-or-later
// Reading and writing 16 elements of a format known at compile time. For kernel files only.
#pragma once

#include "engine/core/simd_convert.h"
#include "engine/numerics/float_format.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {

template <FormatId id>
struct FormatLanes;

template <>
struct FormatLanes<FormatId::Fp32> {
    using Element = float;
    static HALFSCOPE_INLINE F32x16 load(const float* p) { return F32x16::load(p); }
    static HALFSCOPE_INLINE void store(F32x16 a, float* p) { a.store(p); }
};
template <>
struct FormatLanes<FormatId::Tf32> {
    using Element = float;
    static HALFSCOPE_INLINE F32x16 load(const float* p) { return F32x16::load(p); }
    static HALFSCOPE_INLINE void store(F32x16 a, float* p) { roundToTf32(a).store(p); }
};
template <>
struct FormatLanes<FormatId::Fp16> {
    using Element = std::uint16_t;
    static HALFSCOPE_INLINE F32x16 load(const std::uint16_t* p) { return loadHalf(p); }
    static HALFSCOPE_INLINE void store(F32x16 a, std::uint16_t* p) { storeHalf(a, p); }
};
template <>
struct FormatLanes<FormatId::Bf16> {
    using Element = std::uint16_t;
    static HALFSCOPE_INLINE F32x16 load(const std::uint16_t* p) { return loadBfloat(p); }
    static HALFSCOPE_INLINE void store(F32x16 a, std::uint16_t* p) { storeBfloat(a, p); }
};
template <>
struct FormatLanes<FormatId::Fp8E4M3> {
    using Element = std::uint8_t;
    static HALFSCOPE_INLINE F32x16 load(const std::uint8_t* p) { return loadFp8E4M3(p); }
    static HALFSCOPE_INLINE void store(F32x16 a, std::uint8_t* p) { storeFp8E4M3(a, p); }
};
template <>
struct FormatLanes<FormatId::Fp8E5M2> {
    using Element = std::uint8_t;
    static HALFSCOPE_INLINE F32x16 load(const std::uint8_t* p) { return loadFp8E5M2(p); }
    static HALFSCOPE_INLINE void store(F32x16 a, std::uint8_t* p) { storeFp8E5M2(a, p); }
};

template <FormatId id>
struct FormatTag {
    using Lanes = FormatLanes<id>;
    using Element = typename Lanes::Element;
};

// f(FormatTag<id>{}) for an id known at run time.
template <class F>
HALFSCOPE_INLINE auto withFormat(FormatId id, F f)
{
    switch (id) {
    case FormatId::Tf32:
        return f(FormatTag<FormatId::Tf32>{});
    case FormatId::Fp16:
        return f(FormatTag<FormatId::Fp16>{});
    case FormatId::Bf16:
        return f(FormatTag<FormatId::Bf16>{});
    case FormatId::Fp8E4M3:
        return f(FormatTag<FormatId::Fp8E4M3>{});
    case FormatId::Fp8E5M2:
        return f(FormatTag<FormatId::Fp8E5M2>{});
    case FormatId::Fp32:
        break;
    }
    return f(FormatTag<FormatId::Fp32>{});
}

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
