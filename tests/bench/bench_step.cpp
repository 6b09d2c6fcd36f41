// SPDX-License-Identifier: GPL-3.0-or-later
// The whole training step: formats and statistics against FP32 without statistics, one step of each in turn, so that
// whatever else the machine does hits all alike. One thread: processor time; two: wall time, which means something only
// on a quiet machine. Ratios are medians of the ratios of neighbours. `of_peak` is the share of the peak of fused
// multiply-adds that the matrix products alone make of the whole FP32 step; attention counts for what its mask leaves.
#include <memory>
#include <numeric>
#include <string>

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/train/trainer.h"
#include "tests/bench/step_sizes.h"
#include "tests/bench/yardsticks.h"

namespace halfscope {
namespace {

double productFlops(const TransformerConfig& model)
{
    const double tokens = model.tokens();
    const double width = model.width;
    const double linear = (4.0 + 2.0 * model.mlpRatio) * model.depth * width * width + width * model.vocabulary;
    const double attention = 2.0 * model.depth * width * (model.context + 1) / 2.0;
    return 3.0 * 2.0 * tokens * (linear + attention);
}

void step(benchmark::State& state, const Size& size, int threads)
{
    struct Variant {
        std::string name;
        std::unique_ptr<Trainer> trainer;
        std::vector<double> times;
    };
    std::vector<Variant> variants;
    for (const char* precision : {"fp32", "mixed-fp16", "mixed-bf16"})
        for (const Statistics statistics : {Statistics::Off, Statistics::Weights, Statistics::All}) {
            const char* suffix = statistics == Statistics::Off       ? ""
                                 : statistics == Statistics::Weights ? "+weights"
                                                                     : "+all";
            variants.push_back({std::string(precision) + suffix,
                                std::make_unique<Trainer>(configuration(size, threads, precision, statistics)),
                                {}});
        }
    ThreadPool pool(threads);
    std::vector<double> peaks;
    for (Variant& v : variants)
        for (int i = 0; i < 3; ++i)
            v.trainer->step();
    for (auto _ : state) {
        for (Variant& v : variants) {
            const double begin = now(threads);
            v.trainer->step();
            v.times.push_back(now(threads) - begin);
        }
        state.PauseTiming();
        if (peaks.size() < 20)
            peaks.push_back(measurePeak(pool));
        state.ResumeTiming();
    }
    const auto ratio = [&](std::size_t of, std::size_t to) {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < variants[of].times.size(); ++i)
            ratios.push_back(variants[of].times[i] / variants[to].times[i]);
        return median(ratios);
    };
    for (std::size_t i = 0; i < variants.size(); ++i) {
        if (i % 3 != 0)
            state.counters["stats:" + variants[i].name] = ratio(i, i - i % 3);
        else if (i != 0)
            state.counters["format:" + variants[i].name] = ratio(i, 0);
    }
    const double time = median(variants[0].times);
    state.counters["fp32_ms"] = time * 1e3;
    state.counters["of_peak"] = productFlops(variants[0].trainer->info().model) / time / median(peaks);
}

// A process that does nothing but use one processor, on and off.
class BusyProcess {
public:
    BusyProcess() : m_child(::fork())
    {
        if (m_child != 0)
            return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        cpu_set_t first;
        CPU_ZERO(&first);
        CPU_SET(0, &first);
        ::sched_setaffinity(0, sizeof first, &first);
        for (;;)
            benchmark::ClobberMemory();
    }
    BusyProcess(const BusyProcess&) = delete;
    BusyProcess& operator=(const BusyProcess&) = delete;
    ~BusyProcess()
    {
        ::kill(m_child, SIGKILL);
        ::waitpid(m_child, nullptr, 0);
    }
    void set(bool busy) const { ::kill(m_child, busy ? SIGCONT : SIGSTOP); }

private:
    pid_t m_child;
};

// Wall time of a step while another process is busy on one processor, over that while it is not.
void contended(benchmark::State& state, const Size& size, int threads)
{
    constexpr int kSteps = 10; // in turn
    const BusyProcess other;
    Trainer trainer(configuration(size, threads, "fp32", Statistics::Off));
    std::vector<double> times[2];
    for (auto _ : state) {
        for (const bool busy : {false, true}) {
            other.set(busy);
            trainer.step();
            for (int i = 0; i < kSteps; ++i) {
                const double begin = now(2);
                trainer.step();
                times[busy].push_back(now(2) - begin);
            }
        }
    }
    const double mean = std::accumulate(times[1].begin(), times[1].end(), 0.0) / static_cast<double>(times[1].size());
    const double quiet = median(times[0]);
    state.counters["quiet_ms"] = quiet * 1e3;
    state.counters["contended"] = median(times[1]) / quiet;
    state.counters["contended_mean"] = mean / quiet;
}

const bool registered = [] {
    for (const Size& size : kSizes)
        for (const int threads : {1, 2})
            benchmark::RegisterBenchmark(
                (std::string("step/") + size.name + "/threads:" + std::to_string(threads)).c_str(), step, size, threads)
                ->UseRealTime();
    for (const Size& size : kSizes)
        benchmark::RegisterBenchmark((std::string("contended/") + size.name + "/threads:2").c_str(), contended, size, 2)
            ->UseRealTime();
    return true;
}();

} // namespace
} // namespace halfscope
