// SPDX-License-Identifier: GPL-3.0-or-later
// Which of the three builds of the numeric kernels runs.
#pragma once

#include <string_view>

namespace halfscope {

enum class SimdLevel { Portable, Avx2, Avx512 }; // Avx2 means AVX2+FMA+F16C, Avx512 means F+BW+DQ+VL as well

SimdLevel bestSimdLevel();   // what this CPU and the operating system support
SimdLevel activeSimdLevel(); // bestSimdLevel(), or less if HALFSCOPE_SIMD=portable|avx2|avx512 or setSimdLevel() say so
void setSimdLevel(SimdLevel level); // for tests and benchmarks; clamped to bestSimdLevel(). Not while kernels run.
std::string_view simdLevelName(SimdLevel level); // "AVX-512", "AVX2", "portable"

} // namespace halfscope
