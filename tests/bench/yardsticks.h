// SPDX-License-Identifier: GPL-3.0-or-later
// What benchmarks hold the program against, measured in the same run because machines drift.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <vector>

#include <benchmark/benchmark.h>

#include "engine/core/cpu_features.h"
#include "engine/core/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace halfscope {

// Seconds. On one thread its processor time, which does not count the time that other processes take.
inline double now(int threads)
{
    if (threads == 1) {
        timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Fused multiply-adds of one thread in a loop without memory, `rounds` times 16 registers. Returns flops.
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) inline double multiplyAdds256(long rounds)
{
    __m256 sum[12];
    for (__m256& s : sum)
        s = _mm256_set1_ps(1.0F);
    __m256 a = _mm256_set1_ps(0.999F);
    for (long i = 0; i < rounds; ++i)
#pragma GCC unroll 12
        for (int j = 0; j < 12; ++j)
            sum[j] = _mm256_fmadd_ps(sum[j], a, a);
    for (__m256& s : sum)
        benchmark::DoNotOptimize(s);
    return static_cast<double>(rounds) * 12 * 8 * 2;
}
__attribute__((target("avx512f"))) inline double multiplyAdds512(long rounds)
{
    __m512 sum[12];
    for (__m512& s : sum)
        s = _mm512_set1_ps(1.0F);
    __m512 a = _mm512_set1_ps(0.999F);
    for (long i = 0; i < rounds; ++i)
#pragma GCC unroll 12
        for (int j = 0; j < 12; ++j)
            sum[j] = _mm512_fmadd_ps(sum[j], a, a);
    for (__m512& s : sum)
        benchmark::DoNotOptimize(s);
    return static_cast<double>(rounds) * 12 * 16 * 2;
}
#endif

inline double multiplyAdds(long rounds)
{
#if defined(__x86_64__)
    if (activeSimdLevel() == SimdLevel::Avx512)
        return multiplyAdds512(rounds);
    if (activeSimdLevel() == SimdLevel::Avx2)
        return multiplyAdds256(rounds);
#endif
    float sum[16] = {};
    for (long i = 0; i < rounds; ++i)
        for (float& s : sum)
            s = s * 0.999F + 0.999F;
    benchmark::DoNotOptimize(sum);
    return static_cast<double>(rounds) * 16 * 2;
}

// Flops a second of `threads` threads, now.
inline double measurePeak(ThreadPool& pool)
{
    const double begin = now(pool.threads());
    std::vector<double> flops(static_cast<std::size_t>(8 * pool.threads()));
    pool.parallelFor(static_cast<std::int64_t>(flops.size()), 1e12,
                     [&](std::int64_t chunk, int) { flops[static_cast<std::size_t>(chunk)] = multiplyAdds(50'000); });
    double total = 0.0;
    for (const double f : flops)
        total += f;
    return total / (now(pool.threads()) - begin);
}

// Reorders v, which must not be empty.
inline double median(std::vector<double>& v)
{
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
}

} // namespace halfscope
