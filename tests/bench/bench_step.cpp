// SPDX-License-Identifier: GPL-3.0-or-later
// The whole training step: formats and statistics against FP32 without statistics, one step of each in turn, so that
// whatever else the machine does hits all alike. One thread: processor time; two: wall time, which means something only
// on a quiet machine. Ratios are medians of the ratios of neighbours. `of_peak` is the share of the peak of fused
// multiply-adds that the matrix products alone make of the whole FP32 step; attention counts for what its mask leaves.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>

#include "engine/data/text_dataset.h"
#include "engine/train/trainer.h"
#include "tests/bench/yardsticks.h"

namespace halfscope {
namespace {

struct Size {
    const char* name;
    int width, depth, heads, context, batch;
};
constexpr Size kSizes[] = {{"tiny", 64, 2, 2, 32, 8}, {"S", 128, 4, 4, 64, 16}, {"M", 256, 4, 4, 128, 16}};

// The generator's text, so that the vocabulary does not depend on what is installed.
const std::string& textPath()
{
    static const struct File {
        std::string path =
            (std::filesystem::temp_directory_path() / ("halfscope-bench-" + std::to_string(::getpid()) + ".txt"))
                .string();
        File() { std::ofstream(path, std::ios::binary) << generatedText(1).text; }
        ~File()
        {
            std::error_code ignored;
            std::filesystem::remove(path, ignored);
        }
    } file;
    return file.path;
}

enum class Statistics { Off, Weights, All };

RunConfig configuration(const Size& size, int threads, const char* precision, Statistics statistics)
{
    RunConfig config;
    config.text = textPath();
    config.threads = threads;
    config.precision = precision;
    config.validationInterval = 0;
    config.model.width = size.width;
    config.model.depth = size.depth;
    config.model.heads = size.heads;
    config.model.context = size.context;
    config.model.batch = size.batch;
    config.scaler.initialScale = 1024.0; // nothing overflows, so every step is applied
    config.statisticsInterval = statistics == Statistics::Off ? 1'000'000 : 1; // Off: the first, which is not timed
    config.measureActivationGrads = statistics == Statistics::All;
    return config;
}

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

const bool registered = [] {
    for (const Size& size : kSizes)
        for (const int threads : {1, 2})
            benchmark::RegisterBenchmark(
                (std::string("step/") + size.name + "/threads:" + std::to_string(threads)).c_str(), step, size, threads)
                ->UseRealTime();
    return true;
}();

} // namespace
} // namespace halfscope
