// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/cpu_features.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#ifdef HALFSCOPE_HAVE_X86
#include <cpuid.h>
#endif

namespace halfscope {
namespace {

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

} // namespace halfscope
