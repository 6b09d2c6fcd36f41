// SPDX-License-Identifier: GPL-3.0-or-later
// Casts, the measuring cast and the unscaling pass against memcpy of the FP32 data, in one run. Compare ratios, not
// times: machines drift. HALFSCOPE_SIMD=portable|avx2|avx512 chooses the instruction set.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/core/rng.h"
#include "engine/numerics/cast.h"

namespace halfscope {
namespace {

constexpr float kScale = 65536.0F;

// Scaled gradients. Near: one normal distribution, as of one layer. Spread: each run of 4096 values two octaves off its
// neighbours, one value in 97 zero. Wide: log-normal over 40 octaves, nearly uniform in the exponent. Saturating: as
// Spread, one value in 5000 infinite.
enum class Data { Near, Spread, Wide, Saturating };

std::vector<float> makeData(Data kind, std::size_t n)
{
    Rng rng(7);
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double x = rng.normal();
        double value = x * 3e-4;
        if (kind == Data::Spread || kind == Data::Saturating)
            value = i % 97 == 0 ? 0.0 : std::ldexp(value, -2 * static_cast<int>((i / 4096) % 5));
        if (kind == Data::Wide)
            value = std::ldexp(1.0 + rng.uniform(), static_cast<int>(rng.below(40)) - 45);
        v[i] = static_cast<float>(value) * kScale;
        if (kind == Data::Saturating && i % 5000 == 4999)
            v[i] = HUGE_VALF;
    }
    return v;
}

void finish(benchmark::State& state, std::size_t n)
{
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}

void copyFp32(benchmark::State& state)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    const std::vector<float> src = makeData(Data::Near, n);
    std::vector<float> dst(n);
    for (auto _ : state) {
        std::memcpy(dst.data(), src.data(), n * sizeof(float));
        benchmark::ClobberMemory();
    }
    finish(state, n);
}

void cast(benchmark::State& state, FormatId format)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    const std::vector<float> src = makeData(Data::Near, n);
    std::vector<float> dst(n);
    for (auto _ : state) {
        castArray(format, src.data(), dst.data(), n);
        benchmark::ClobberMemory();
    }
    finish(state, n);
}

void widen(benchmark::State& state, FormatId format)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    const std::vector<float> values = makeData(Data::Near, n);
    std::vector<float> src(n);
    std::vector<float> dst(n);
    castArray(format, values.data(), src.data(), n);
    for (auto _ : state) {
        widenArray(format, src.data(), dst.data(), n);
        benchmark::ClobberMemory();
    }
    finish(state, n);
}

void unscale(benchmark::State& state, FormatId format)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    const std::vector<float> values = makeData(Data::Near, n);
    std::vector<float> src(n);
    std::vector<float> dst(n);
    castArray(format, values.data(), src.data(), n);
    for (auto _ : state)
        benchmark::DoNotOptimize(unscaleArray(format, src.data(), dst.data(), n, 1.0F / kScale));
    finish(state, n);
}

void measure(benchmark::State& state, FormatId format, Data kind, bool store)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    const std::vector<float> src = makeData(kind, n);
    std::vector<float> dst(n);
    TensorStatistics statistics;
    for (auto _ : state) {
        castAndMeasure(format, src.data(), store ? dst.data() : nullptr, n, 1.0F / kScale, statistics);
        benchmark::DoNotOptimize(statistics);
    }
    finish(state, n);
}

// 128 values a call: a row of a small model.
void measureRows(benchmark::State& state)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    const std::vector<float> src = makeData(Data::Spread, n);
    std::vector<std::uint16_t> dst(n);
    TensorStatistics statistics;
    for (auto _ : state)
        for (std::size_t i = 0; i < n; i += 128)
            castAndMeasure(FormatId::Fp16, src.data() + i, dst.data() + i, std::min<std::size_t>(128, n - i),
                           1.0F / kScale, statistics);
    benchmark::DoNotOptimize(statistics);
    finish(state, n);
}

constexpr int kSmall = 64 << 10;   // 256 KiB of FP32: second-level cache
constexpr int kMedium = 832 << 10; // 3.25 MiB

#define SIZES ->Arg(kSmall)->Arg(kMedium)
BENCHMARK(copyFp32) SIZES;
BENCHMARK_CAPTURE(cast, fp16, FormatId::Fp16) SIZES;
BENCHMARK_CAPTURE(cast, bf16, FormatId::Bf16) SIZES;
BENCHMARK_CAPTURE(cast, tf32, FormatId::Tf32) SIZES;
BENCHMARK_CAPTURE(cast, fp8_e4m3, FormatId::Fp8E4M3) SIZES;
BENCHMARK_CAPTURE(cast, fp8_e5m2, FormatId::Fp8E5M2) SIZES;
BENCHMARK_CAPTURE(widen, fp16, FormatId::Fp16) SIZES;
BENCHMARK_CAPTURE(widen, bf16, FormatId::Bf16) SIZES;
BENCHMARK_CAPTURE(widen, fp8_e4m3, FormatId::Fp8E4M3) SIZES;
BENCHMARK_CAPTURE(widen, fp8_e5m2, FormatId::Fp8E5M2) SIZES;
BENCHMARK_CAPTURE(unscale, fp16, FormatId::Fp16) SIZES;
BENCHMARK_CAPTURE(unscale, fp32, FormatId::Fp32) SIZES;
BENCHMARK_CAPTURE(measure, fp16_near, FormatId::Fp16, Data::Near, true) SIZES;
BENCHMARK_CAPTURE(measure, fp16_spread, FormatId::Fp16, Data::Spread, true) SIZES;
BENCHMARK_CAPTURE(measure, fp16_wide, FormatId::Fp16, Data::Wide, true) SIZES;
BENCHMARK_CAPTURE(measure, fp16_saturating, FormatId::Fp16, Data::Saturating, true) SIZES;
BENCHMARK_CAPTURE(measure, fp16_count_only, FormatId::Fp16, Data::Spread, false) SIZES;
BENCHMARK_CAPTURE(measure, fp32_spread, FormatId::Fp32, Data::Spread, true) SIZES;
BENCHMARK_CAPTURE(measure, bf16_spread, FormatId::Bf16, Data::Spread, true) SIZES;
BENCHMARK(measureRows) SIZES;

} // namespace
} // namespace halfscope
