// SPDX-License-Identifier: GPL-3.0-or-later
// One kernel source, three builds, one choice at run time. How a kernel family uses it:
//
//   foo_kernels.h        struct FooKernels { void (*scale)(float* x, std::size_t n, float by); };
//                        HALFSCOPE_DECLARE_KERNELS(FooKernels, fooKernels)         // inside namespace halfscope
//   simd/foo_kernels.cpp namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {
//                        namespace { void scale(float* x, std::size_t n, float by) { ... } }
//                        const FooKernels fooKernels = {scale};
//                        }
//   anywhere else        fooKernels().scale(x, n, 2.0F);
//
// The kernel file is listed with halfscope_simd_sources() and so compiled once per instruction set. Functions in it
// that are not static must live in HALFSCOPE_SIMD_NAMESPACE, and it may use no inline function or template of a shared
// header that is not always_inline: the linker keeps one copy of such a function, perhaps the AVX-512 one. So a table
// speaks in pointers, numbers and plain structs, and foo_kernels.h includes nothing but headers of declarations.
#pragma once

#ifdef HALFSCOPE_SIMD_NAMESPACE

#define HALFSCOPE_DECLARE_KERNELS(Table, name)                                                                         \
    namespace HALFSCOPE_SIMD_NAMESPACE {                                                                               \
    extern const Table name;                                                                                           \
    }

#else

#include "engine/core/cpu_features.h"

#ifdef HALFSCOPE_HAVE_X86
#define HALFSCOPE_DECLARE_KERNELS(Table, name)                                                                         \
    namespace portable {                                                                                               \
    extern const Table name;                                                                                           \
    }                                                                                                                  \
    namespace avx2 {                                                                                                   \
    extern const Table name;                                                                                           \
    }                                                                                                                  \
    namespace avx512 {                                                                                                 \
    extern const Table name;                                                                                           \
    }                                                                                                                  \
    inline const Table& name()                                                                                         \
    {                                                                                                                  \
        const SimdLevel level = activeSimdLevel();                                                                     \
        return level == SimdLevel::Avx512 ? avx512::name : level == SimdLevel::Avx2 ? avx2::name : portable::name;     \
    }
#else
#define HALFSCOPE_DECLARE_KERNELS(Table, name)                                                                         \
    namespace portable {                                                                                               \
    extern const Table name;                                                                                           \
    }                                                                                                                  \
    inline const Table& name() { return portable::name; }
#endif

#endif
