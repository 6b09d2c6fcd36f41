// SPDX-License-Identifier: GPL-3.0-or-later
// Casts, the measuring cast and the unscaling pass against memcpy of the FP32 data, in one run. Compare ratios, not
// times: machines drift. HALFSCOPE_SIMD=portable|avx2|avx512 chooses the instruction set.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "engine/core/rng.h"
#include "engine/numerics/cast.h"

namespace halfscope {
namespace {

constexpr float kScale = 65536.0F;

// Scaled gradients. Near: one normal distribution, as of one layer. Spread: each run of 4096 values two octaves off its
// neighbours, one value in 97 zero. Wide: log-normal over 40 octaves, nearly uniform in the exponent. Saturating: as
// Spread, one value in 5000 infinite.
enum class Data { Near, Spread, Wide, Saturating };

// Aligned, and at different offsets within a page: stores that agree with a load in the last 12 address bits stall it.
class Buffer {
public:
    explicit Buffer(std::size_t n, std::size_t offset = 0)
        : m_storage(static_cast<float*>(std::aligned_alloc(4096, (n * sizeof(float) / 4096 + 2) * 4096))),
          m_begin(m_storage.get() + offset / sizeof(float))
    {
        std::fill_n(m_begin, n, 0.0F);
    }
    float* data() { return m_begin; }
    float& operator[](std::size_t i) { return m_begin[i]; }

private:
    struct Free {
        void operator()(float* p) const { std::free(p); }
    };
    std::unique_ptr<float, Free> m_storage;
    float* m_begin;
};
constexpr std::size_t kTargetOffset = 2048; // bytes

Buffer makeData(Data kind, std::size_t n)
{
    Rng rng(7);
    Buffer v(n);
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
    Buffer src = makeData(Data::Near, n);
    Buffer dst(n, kTargetOffset);
    for (auto _ : state) {
        std::memcpy(dst.data(), src.data(), n * sizeof(float));
        benchmark::ClobberMemory();
    }
    finish(state, n);
}

void cast(benchmark::State& state, FormatId format)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    Buffer src = makeData(Data::Near, n);
    Buffer dst(n, kTargetOffset);
    for (auto _ : state) {
        castArray(format, src.data(), dst.data(), n);
        benchmark::ClobberMemory();
    }
    finish(state, n);
}

void widen(benchmark::State& state, FormatId format)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    Buffer values = makeData(Data::Near, n);
    Buffer src(n);
    Buffer dst(n, kTargetOffset);
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
    Buffer values = makeData(Data::Near, n);
    Buffer src(n);
    Buffer dst(n, kTargetOffset);
    castArray(format, values.data(), src.data(), n);
    for (auto _ : state)
        benchmark::DoNotOptimize(unscaleArray(format, src.data(), dst.data(), n, 1.0F / kScale));
    finish(state, n);
}

void measure(benchmark::State& state, FormatId format, Data kind, bool store)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    Buffer src = makeData(kind, n);
    Buffer dst(n, kTargetOffset);
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
    Buffer src = makeData(Data::Spread, n);
    Buffer target(n, kTargetOffset);
    auto* dst = reinterpret_cast<std::uint16_t*>(target.data());
    TensorStatistics statistics;
    for (auto _ : state)
        for (std::size_t i = 0; i < n; i += 128)
            castAndMeasure(FormatId::Fp16, src.data() + i, dst + i, std::min<std::size_t>(128, n - i), 1.0F / kScale,
                           statistics);
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
