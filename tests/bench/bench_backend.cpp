// SPDX-License-Identifier: GPL-3.0-or-later
// How near the CPU backend comes to what the machine can do, in ratios that are measured in one run, because absolute
// times drift with the machine's load. Matrix products: share of the peak of fused multiply-adds (`of_peak`).
// Operations that read and write: time over that of a memcpy of the same bytes (`vs_memcpy`), and ns an element.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "engine/backend/backend_registry.h"
#include "engine/core/rng.h"
#include "engine/core/thread_pool.h"
#include "tests/bench/yardsticks.h"

namespace halfscope {
namespace {

struct Machine {
    explicit Machine(int threads) : backend(makeBackend("cpu", threads)), pool(threads) {}

    Tensor random(FormatId format, std::int64_t rows, std::int64_t cols)
    {
        Rng rng(1);
        std::vector<float> values(static_cast<std::size_t>(rows * cols));
        for (float& x : values)
            x = static_cast<float>(rng.normal());
        Tensor t = backend->makeTensor(format, rows, cols);
        backend->upload(values, t);
        return t;
    }

    std::unique_ptr<Backend> backend;
    ThreadPool pool; // for the yardsticks
};

Machine& machine(int threads)
{
    static Machine one(1);
    static Machine two(2);
    return threads == 1 ? one : two;
}

// Runs `work` for each iteration and `yardstick` beside it; reports the ratio of the medians' times.
template <typename Work, typename Yardstick>
void sideBySide(benchmark::State& state, int threads, double& workTime, double& yardstickTime, Work&& work,
                Yardstick&& yardstick)
{
    std::vector<double> times;
    std::vector<double> yardsticks;
    work();
    for (auto _ : state) {
        const double begin = now(threads);
        work();
        times.push_back(now(threads) - begin);
        state.PauseTiming();
        if (times.size() % 4 == 1)
            yardsticks.push_back(yardstick());
        state.ResumeTiming();
    }
    workTime = median(times);
    yardstickTime = median(yardsticks);
}

// The products of a training step with 1024 tokens, width 128 and vocabulary 96 (configuration S).
struct Product {
    const char* name;
    std::int64_t m, n, k;
    bool transposeA, transposeB;
};
const Product kProducts[] = {
    {"forward_qkv", 1024, 384, 128, false, true}, {"forward_proj", 1024, 128, 128, false, true},
    {"forward_fc", 1024, 512, 128, false, true},  {"forward_fc2", 1024, 128, 512, false, true},
    {"forward_head", 1024, 96, 128, false, true}, {"dx_qkv", 1024, 128, 384, false, false},
    {"dx_fc", 1024, 128, 512, false, false},      {"dx_fc2", 1024, 512, 128, false, false},
    {"dw_qkv", 384, 128, 1024, true, false},      {"dw_proj", 128, 128, 1024, true, false},
    {"dw_fc", 512, 128, 1024, true, false},       {"square_1024", 1024, 1024, 1024, false, false},
};

void product(benchmark::State& state, const Product& p, FormatId format, int threads, bool measure)
{
    Machine& m = machine(threads);
    const Tensor a = p.transposeA ? m.random(format, p.k, p.m) : m.random(format, p.m, p.k);
    const Tensor b = p.transposeB ? m.random(format, p.n, p.k) : m.random(format, p.k, p.n);
    Tensor c = m.backend->makeTensor(format, p.m, p.n);
    CastProbe probe;
    probe.measure = measure;
    double time = 0.0;
    double peak = 0.0;
    sideBySide(
        state, threads, time, peak,
        [&] {
            m.backend->gemm(
                {.a = a, .transposeA = p.transposeA, .b = b, .transposeB = p.transposeB, .c = c, .probe = &probe});
        },
        [&] { return measurePeak(m.pool); });
    const double flops = 2.0 * static_cast<double>(p.m * p.n * p.k);
    state.counters["GF/s"] = flops / time * 1e-9;
    state.counters["of_peak"] = flops / time / peak;
}

// Operations on 1024 x 512 elements, each reading `reads` and writing `writes` bytes an element.
void streaming(benchmark::State& state, std::int64_t elements, double bytes, int threads,
               const std::function<void()>& work)
{
    Machine& m = machine(threads);
    const auto half = static_cast<std::size_t>(bytes * static_cast<double>(elements) / 2.0);
    std::vector<char> from(half, 1);
    std::vector<char> to(half, 0);
    double time = 0.0;
    double copy = 0.0;
    sideBySide(state, threads, time, copy, work, [&] {
        const double begin = now(threads);
        const std::size_t piece = half / 16;
        m.pool.parallelFor(16, 1e12, [&](std::int64_t chunk, int) {
            std::memcpy(to.data() + static_cast<std::size_t>(chunk) * piece,
                        from.data() + static_cast<std::size_t>(chunk) * piece, piece);
        });
        benchmark::ClobberMemory();
        return now(threads) - begin;
    });
    state.counters["ns/element"] = time / static_cast<double>(elements) * 1e9;
    state.counters["vs_memcpy"] = time / copy;
}

void addStreaming(const std::string& name, std::int64_t elements, double bytes,
                  const std::function<std::function<void()>(Machine&)>& prepare)
{
    for (const int threads : {1, 2})
        benchmark::RegisterBenchmark(
            (name + "/threads:" + std::to_string(threads)).c_str(),
            [=](benchmark::State& state) { streaming(state, elements, bytes, threads, prepare(machine(threads))); })
            ->UseRealTime();
}

void registerProducts()
{
    for (const int threads : {1, 2})
        for (const FormatId format : {FormatId::Fp32, FormatId::Fp16})
            for (const Product& p : kProducts) {
                const std::string name = std::string("gemm/") + p.name + "/" + std::string(floatFormat(format).key) +
                                         "/threads:" + std::to_string(threads);
                benchmark::RegisterBenchmark(name.c_str(), product, p, format, threads, false)->UseRealTime();
            }
    benchmark::RegisterBenchmark("gemm/forward_fc/fp16/measured/threads:2", product, kProducts[2], FormatId::Fp16, 2,
                                 true)
        ->UseRealTime();
}

void registerStreaming()
{
    constexpr std::int64_t kRows = 1024;
    constexpr std::int64_t kCols = 512;
    constexpr std::int64_t kSize = kRows * kCols;
    for (const FormatId format : {FormatId::Fp32, FormatId::Fp16}) {
        const std::string suffix = std::string("/").append(floatFormat(format).key);
        const double bytes = floatFormat(format).storageBytes;
        for (const bool measure : {false, true})
            addStreaming((measure ? "cast_measured" : "cast") + suffix, kSize, 4 + bytes, [=](Machine& m) {
                auto from = std::make_shared<Tensor>(m.random(FormatId::Fp32, kRows, kCols));
                auto to = std::make_shared<Tensor>(m.backend->makeTensor(format, kRows, kCols));
                auto probe = std::make_shared<CastProbe>();
                probe->measure = measure;
                return [=, &m] { m.backend->cast(*from, *to, probe.get()); };
            });
        addStreaming("add" + suffix, kSize, 3 * bytes, [=](Machine& m) {
            auto a = std::make_shared<Tensor>(m.random(format, kRows, kCols));
            auto to = std::make_shared<Tensor>(m.backend->makeTensor(format, kRows, kCols));
            return [=, &m] { m.backend->add(*a, *a, *to, nullptr); };
        });
        addStreaming("dropout" + suffix, kSize, 2 * bytes, [=](Machine& m) {
            auto a = std::make_shared<Tensor>(m.random(format, kRows, kCols));
            auto to = std::make_shared<Tensor>(m.backend->makeTensor(format, kRows, kCols));
            return [=, &m] { m.backend->dropout(*a, *to, 0.1F, 1, nullptr); };
        });
        addStreaming("column_sum" + suffix, kSize, bytes, [=](Machine& m) {
            auto a = std::make_shared<Tensor>(m.random(format, kRows, kCols));
            auto to = std::make_shared<Tensor>(m.backend->makeTensor(FormatId::Fp32, 1, kCols));
            return [=, &m] { m.backend->columnSum(*a, *to, nullptr); };
        });
        addStreaming("layer_norm" + suffix, kRows * 128, 2 * bytes, [=](Machine& m) {
            auto x = std::make_shared<Tensor>(m.random(format, kRows, 128));
            auto gain = std::make_shared<Tensor>(m.random(FormatId::Fp32, 1, 128));
            auto out = std::make_shared<Tensor>(m.backend->makeTensor(format, kRows, 128));
            auto mean = std::make_shared<Tensor>(m.backend->makeTensor(FormatId::Fp32, kRows, 1));
            auto rstd = std::make_shared<Tensor>(m.backend->makeTensor(FormatId::Fp32, kRows, 1));
            return [=, &m] { m.backend->layerNormForward(*x, *gain, *gain, *out, *mean, *rstd, nullptr); };
        });
        addStreaming("layer_norm_backward" + suffix, kRows * 128, 4 * bytes, [=](Machine& m) {
            auto x = std::make_shared<Tensor>(m.random(format, kRows, 128));
            auto gain = std::make_shared<Tensor>(m.random(FormatId::Fp32, 1, 128));
            auto dx = std::make_shared<Tensor>(m.backend->makeTensor(format, kRows, 128));
            auto mean = std::make_shared<Tensor>(m.random(FormatId::Fp32, kRows, 1));
            auto weights = std::make_shared<Tensor>(m.backend->makeTensor(FormatId::Fp32, 1, 128));
            return [=, &m] {
                m.backend->layerNormBackward(*x, *x, *gain, *mean, *mean, x.get(), *dx, nullptr, *weights, *weights,
                                             nullptr);
            };
        });
        const AttentionShape shape{16, 64, 4, 32, true};
        addStreaming("attention" + suffix, 64 * 64 * 64, bytes, [=](Machine& m) {
            auto qkv = std::make_shared<Tensor>(m.random(format, kRows, 384));
            auto out = std::make_shared<Tensor>(m.backend->makeTensor(format, kRows, 128));
            auto p = std::make_shared<Tensor>(m.backend->makeTensor(format, 4096, 64));
            return [=, &m] { m.backend->attentionForward(shape, format, *qkv, *out, *p, nullptr); };
        });
        addStreaming("attention_backward" + suffix, 64 * 64 * 64, bytes, [=](Machine& m) {
            auto qkv = std::make_shared<Tensor>(m.random(format, kRows, 384));
            auto out = std::make_shared<Tensor>(m.random(format, kRows, 128));
            auto d = std::make_shared<Tensor>(m.random(format, kRows, 384));
            auto p = std::make_shared<Tensor>(m.backend->makeTensor(format, 4096, 64));
            m.backend->attentionForward(shape, format, *qkv, *out, *p, nullptr);
            return [=, &m] { m.backend->attentionBackward(shape, format, *out, *qkv, *p, *d, nullptr); };
        });
        addStreaming("cross_entropy" + suffix, kRows * 96, 2 * bytes, [=](Machine& m) {
            auto logits = std::make_shared<Tensor>(m.random(format, kRows, 96));
            auto d = std::make_shared<Tensor>(m.backend->makeTensor(format, kRows, 96));
            const std::vector<std::int32_t> targets(kRows, 5);
            return [=, &m] { m.backend->crossEntropy(*logits, targets, 1.0F, d.get(), nullptr); };
        });
        addStreaming("unscale" + suffix, kSize, 4 + bytes, [=](Machine& m) {
            auto a = std::make_shared<Tensor>(m.random(format, kRows, kCols));
            auto to = std::make_shared<Tensor>(m.backend->makeTensor(FormatId::Fp32, kRows, kCols));
            return [=, &m] { benchmark::DoNotOptimize(m.backend->unscale(*a, 0.5F, *to)); };
        });
    }
    addStreaming("adamw", kSize, 7 * 4, [=](Machine& m) {
        auto g = std::make_shared<Tensor>(m.random(FormatId::Fp32, kRows, kCols));
        auto p = std::make_shared<Tensor>(m.random(FormatId::Fp32, kRows, kCols));
        auto m1 = std::make_shared<Tensor>(m.backend->makeTensor(FormatId::Fp32, kRows, kCols));
        auto m2 = std::make_shared<Tensor>(m.backend->makeTensor(FormatId::Fp32, kRows, kCols));
        return [=, &m] { m.backend->adamw({}, *g, *p, *m1, *m2); };
    });
    // GELU alone: a product with k = 1 does little else.
    for (const bool backward : {false, true})
        addStreaming(backward ? "gelu_backward" : "gelu", kSize, 8, [=](Machine& m) {
            auto a = std::make_shared<Tensor>(m.random(FormatId::Fp32, kRows, 1));
            auto b = std::make_shared<Tensor>(m.random(FormatId::Fp32, 1, kCols));
            auto x = std::make_shared<Tensor>(m.random(FormatId::Fp32, kRows, kCols));
            auto c = std::make_shared<Tensor>(m.backend->makeTensor(FormatId::Fp32, kRows, kCols));
            auto y = std::make_shared<Tensor>(m.backend->makeTensor(FormatId::Fp32, kRows, kCols));
            return [=, &m] {
                m.backend->gemm({.a = *a,
                                 .b = *b,
                                 .c = *c,
                                 .epilogue = backward ? Epilogue::ActivationBackward : Epilogue::Activate,
                                 .operand = x.get(),
                                 .activated = y.get()});
            };
        });
}

const bool registered = [] {
    registerProducts();
    registerStreaming();
    return true;
}();

} // namespace
} // namespace halfscope
