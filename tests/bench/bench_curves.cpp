// SPDX-License-Identifier: GPL-3.0-or-later
// How the time of an FP32 step grows with the model's width, depth and context, with the batch and with threads, around
// configuration S. One step of each point in turn; what counts is the lower quartile: of processor time on one thread,
// of the clock for the threads. scripts/bench_curves.py makes a table and a plot of it.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "tests/bench/step_sizes.h"
#include "tests/bench/yardsticks.h"

namespace halfscope {
namespace {

struct Point {
    std::string curve;
    int value;
    bool wallTime;
    std::unique_ptr<Trainer> trainer;
    std::vector<double> times;
};

void addCurve(std::vector<Point>& points, const char* name, std::initializer_list<int> values, int Size::*what)
{
    for (const int value : values) {
        Size size = kSizes[1];
        size.*what = value;
        points.push_back(
            {name, value, false, std::make_unique<Trainer>(configuration(size, 1, "fp32", Statistics::Off)), {}});
    }
}

// Steps of each point in turn for as long as the benchmark runs; their times, in ms, are the counters.
void measure(benchmark::State& state, std::vector<Point>& points)
{
    ThreadPool pool(1);
    std::vector<double> peaks;
    for (Point& p : points)
        p.trainer->step();
    for (auto _ : state) {
        for (Point& p : points) {
            const int clock = p.wallTime ? 2 : 1;
            const double begin = now(clock);
            p.trainer->step();
            p.times.push_back(now(clock) - begin);
        }
        peaks.push_back(measurePeak(pool));
    }
    for (Point& p : points) {
        std::sort(p.times.begin(), p.times.end());
        state.counters[p.curve + ":" + std::to_string(p.value)] = p.times[p.times.size() / 4] * 1e3;
    }
    state.counters["peak"] = *std::max_element(peaks.begin(), peaks.end()) * 1e-9;
    state.counters["vocabulary"] = points[0].trainer->info().model.vocabulary;
    state.SetLabel(std::string(simdLevelName(activeSimdLevel())));
}

void curves(benchmark::State& state)
{
    std::vector<Point> points;
    addCurve(points, "width", {32, 64, 128, 256, 384}, &Size::width);
    addCurve(points, "depth", {1, 2, 4, 8, 16}, &Size::depth);
    addCurve(points, "context", {16, 32, 64, 128, 256}, &Size::context);
    addCurve(points, "batch", {1, 4, 16, 64}, &Size::batch);
    measure(state, points);
}
BENCHMARK(curves)->UseRealTime();

void threads(benchmark::State& state)
{
    std::vector<Point> points;
    for (const int threads : {1, 2, 4})
        points.push_back({"threads",
                          threads,
                          true,
                          std::make_unique<Trainer>(configuration(kSizes[1], threads, "fp32", Statistics::Off)),
                          {}});
    measure(state, points);
}
BENCHMARK(threads)->UseRealTime();

} // namespace
} // namespace halfscope
