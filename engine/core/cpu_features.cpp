// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/cpu_features.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef HALFSCOPE_HAVE_X86
#include <cpuid.h>
#endif

namespace halfscope {
namespace {

#ifdef HALFSCOPE_HAVE_X86
constexpr std::uint32_t kOsxsave = 1U << 27U; // XGETBV may be used
#endif

SimdLevel detect()
{
#ifdef HALFSCOPE_HAVE_X86
    // The compiler's query also asks the operating system (XCR0), which the plain CPUID bits do not. It has no word for
    // F16C in every compiler; that bit is read by hand, and needs no state beyond AVX's.
    __builtin_cpu_init();
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1U << 29)) != 0;
    if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return SimdLevel::Portable;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return SimdLevel::Avx512;
    return SimdLevel::Avx2;
#else
    return SimdLevel::Portable;
#endif
}

SimdLevel initialLevel()
{
    const char* wish = std::getenv("HALFSCOPE_SIMD");
    if (wish == nullptr || *wish == '\0')
        return bestSimdLevel();
    const std::string_view name(wish);
    if (name == "portable")
        return SimdLevel::Portable;
    if (name == "avx2")
        return std::min(SimdLevel::Avx2, bestSimdLevel());
    if (name == "avx512")
        return bestSimdLevel();
    std::fprintf(stderr,
                 "halfscope: HALFSCOPE_SIMD=%s is not known and is ignored; it may be portable, avx2 or avx512.\n",
                 wish);
    return bestSimdLevel();
}

std::atomic<SimdLevel>& active()
{
    static std::atomic<SimdLevel> level{initialLevel()};
    return level;
}

} // namespace

SimdLevel bestSimdLevel()
{
    static const SimdLevel level = detect();
    return level;
}

SimdLevel activeSimdLevel() { return active().load(std::memory_order_relaxed); }

void setSimdLevel(SimdLevel level) { active().store(std::min(level, bestSimdLevel()), std::memory_order_relaxed); }

std::string_view simdLevelName(SimdLevel level)
{
    switch (level) {
    case SimdLevel::Avx512:
        return "AVX-512";
    case SimdLevel::Avx2:
        return "AVX2";
    case SimdLevel::Portable:
        break;
    }
    return "portable";
}

CpuidWords cpuidWords()
{
    CpuidWords words;
#ifdef HALFSCOPE_HAVE_X86
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0)
        words.leaf1Ecx = ecx;
    if ((words.leaf1Ecx & kOsxsave) != 0) {
        unsigned low = 0;
        unsigned high = 0;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        words.xcr0 = low | (std::uint64_t{high} << 32U);
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
        words.leaf7Ebx = ebx;
        words.leaf7Edx = edx;
        if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0)
            words.leaf7Sub1Eax = eax;
    }
#endif
    return words;
}

// Bits as in the Intel 64 and IA-32 manual, volume 2A, CPUID; AMD's agree.
std::array<CpuFeature, kCpuFeatureCount> cpuFeatures(const CpuidWords& w)
{
    const auto saves = [&](std::uint64_t state) { return (w.xcr0 & state) == state; };
    const auto bit = [](std::uint32_t word, unsigned n) { return (word >> n & 1U) != 0; };
    const bool ymm = saves(0x6);  // SSE, AVX
    const bool zmm = saves(0xE6); // and the masks and both halves of AVX-512
    const bool tiles = saves(0x60000);
    return {{
        {"F16C", "converts FP16 to FP32 and back", ymm && bit(w.leaf1Ecx, 29)},
        {"FMA", "fused multiply-add in FP32", ymm && bit(w.leaf1Ecx, 12)},
        {"AVX2", "8 FP32 numbers a register", ymm && bit(w.leaf7Ebx, 5)},
        {"AVX-512", "16 FP32 numbers a register", zmm && bit(w.leaf7Ebx, 16)},
        {"AVX512-FP16", "arithmetic in FP16", zmm && bit(w.leaf7Edx, 23)},
        {"AVX512-BF16", "products of BF16 pairs, summed in FP32", zmm && bit(w.leaf7Sub1Eax, 5)},
        {"AMX-BF16", "matrix products of BF16 tiles, summed in FP32", tiles && bit(w.leaf7Edx, 22)},
        {"AMX-FP16", "matrix products of FP16 tiles, summed in FP32", tiles && bit(w.leaf7Sub1Eax, 21)},
        {"AMX-INT8", "matrix products of 8-bit integer tiles", tiles && bit(w.leaf7Edx, 25)},
    }};
}

std::string cpuName()
{
#ifdef HALFSCOPE_HAVE_X86
    std::array<unsigned, 12> words{};
    bool all = true;
    for (unsigned i = 0; i < 3; ++i)
        all = all &&
              __get_cpuid(0x80000002U + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]) != 0;
    std::array<char, sizeof words + 1> text{};
    std::memcpy(text.data(), words.data(), sizeof words);
    std::string name(text.data());
    const std::size_t first = name.find_first_not_of(' ');
    if (all && first != std::string::npos)
        return name.substr(first, name.find_last_not_of(' ') + 1 - first);
#endif
    return "unknown processor";
}

} // namespace halfscope
