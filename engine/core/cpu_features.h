// SPDX-License-Identifier: GPL-3.0-or-later
// Which of the three builds of the numeric kernels runs, and what the processor has beyond what they use.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace halfscope {

enum class SimdLevel { Portable, Avx2, Avx512 }; // Avx2 means AVX2+FMA+F16C, Avx512 means F+BW+DQ+VL as well

SimdLevel bestSimdLevel();   // what this CPU and the operating system support
SimdLevel activeSimdLevel(); // bestSimdLevel(), or less if HALFSCOPE_SIMD=portable|avx2|avx512 or setSimdLevel() say so
void setSimdLevel(SimdLevel level); // for tests and benchmarks; clamped to bestSimdLevel(). Not while kernels run.
std::string_view simdLevelName(SimdLevel level); // "AVX-512", "AVX2", "portable"

// What CPUID says, for the instructions that matter to 16-bit and 8-bit numbers. All zero where there is no CPUID.
struct CpuidWords {
    std::uint32_t leaf1Ecx = 0;
    std::uint32_t leaf7Ebx = 0;
    std::uint32_t leaf7Edx = 0;
    std::uint32_t leaf7Sub1Eax = 0;
    std::uint64_t xcr0 = 0; // the registers that the operating system saves
};
CpuidWords cpuidWords();

struct CpuFeature {
    std::string_view name;    // "AVX512-BF16"
    std::string_view meaning; // one clause
    bool present = false;     // in the processor, and switched on by the operating system
};
inline constexpr int kCpuFeatureCount = 9;
std::array<CpuFeature, kCpuFeatureCount> cpuFeatures(const CpuidWords& words = cpuidWords());

std::string cpuName(); // as the processor calls itself; "unknown processor" where it does not say

} // namespace halfscope
