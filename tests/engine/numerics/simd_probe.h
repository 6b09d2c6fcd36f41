// SPDX-License-Identifier: GPL-3.0-or-later
// The vector types' operations as functions of arrays, compiled for each instruction set so that tests can call them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/simd_dispatch.h"

namespace halfscope {

struct SimdProbe {
    using Unary = void (*)(const float* x, float* y, std::size_t n); // n a multiple of 16, as below
    Unary exp;
    Unary log;
    Unary erf;
    Unary gelu;
    Unary geluDerivative;
    Unary sqrt;
    Unary floor;
    Unary round;
    void (*fma)(const float* a, const float* b, const float* c, float* y, std::size_t n);
    void (*divide)(const float* a, const float* b, float* y, std::size_t n);
    void (*minimum)(const float* a, const float* b, float* y, std::size_t n);
    void (*maximum)(const float* a, const float* b, float* y, std::size_t n);
    void (*fmaOneRegister)(const float* a, const float* b, const float* c, float* y, std::size_t n);
    float (*sum)(const float* x);                               // of 16
    float (*largest)(const float* x);                           // of 16
    double (*sumDoubles)(const double* x);                      // of 16
    void (*copyFirst)(const float* x, float* y, std::size_t n); // n <= 16, through partial load and store
    unsigned (*lessBits)(const float* a, const float* b);       // of 16: bit i is a[i] < b[i]
    void (*integers)(const std::int32_t* a, const std::int32_t* b, std::int32_t* y); // of 16; y takes 8 * 16 results
};

HALFSCOPE_DECLARE_KERNELS(SimdProbe, simdProbe)

} // namespace halfscope
