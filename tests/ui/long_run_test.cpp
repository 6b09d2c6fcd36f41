// SPDX-License-Identifier: GPL-3.0-or-later
// A million steps in the window: memory, and that no single step is ever lost to the eye.
#include <QImage>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <string>

#include "engine/train/telemetry_queue.h"
#include "tests/ui/long_engine.h"
#include "tests/ui/plots_support.h"
#include "tests/ui/window_fixture.h"
#include "ui/plots/loss_plot.h"
#include "ui/plots/scale_plot.h"
#include "ui/plots/step_path.h"

namespace halfscope::test {
namespace {

// A sanitizer takes ten times as long, and memory of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
constexpr std::int64_t kMillion = 50'000;
#else
constexpr bool kSanitized = false;
constexpr std::int64_t kMillion = 1'000'000;
#endif

double residentMegabytes()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:"))
            return std::stod(line.substr(6)) / 1000.0;
    }
    return -1;
}

// Everything a run leaves behind in the window, with 100 modules and all three kinds of statistics.
TEST(MillionSteps, AMillionStepsOf100ModulesStayInBoundedMemory)
{
    const double before = residentMegabytes();
    QTemporaryDir folder;
    const auto settings = Settings::inFile(folder.filePath(QStringLiteral("settings.ini")));
    LongEngine* engine = nullptr;
    MainWindow window(
        [&](const RunConfig&) {
            auto made = std::make_unique<LongEngine>(100, 64);
            engine = made.get();
            return made;
        },
        FakeEngine::smallConfig(), *settings);
    while (engine->stepsDone() < kMillion) {
        engine->stepsPerDrain = kMillion - engine->stepsDone();
        window.controller().poll();
    }
    engine->stepsPerDrain = 0;
    window.resize(1600, 980);
    window.show();
    settleEvents();
    const RunModel& run = window.controller().run();
    ASSERT_EQ(run.steps.size(), static_cast<std::size_t>(kMillion));
    // Rows of 64 steps; one a step would fill at most three more levels of the history.
    const double row = static_cast<double>(run.history.bytes()) / static_cast<double>(run.history.rowCount());
    const double history = row * (HistogramHistory::kWholeRows + 6.0 * HistogramHistory::kRowsPerLevel);
    const double counted =
        (static_cast<double>(run.steps.bytes()) + history + static_cast<double>(TelemetryQueue::kMaxBytes)) / 1e6;
    const double resident = residentMegabytes();
    const double wouldBe = resident + (history - static_cast<double>(run.history.bytes())) / 1e6;
    std::cout << "steps " << static_cast<double>(run.steps.bytes()) / 1e6 << " MB, histograms at most " << history / 1e6
              << " MB, queue at most " << TelemetryQueue::kMaxBytes / 1e6 << " MB, counted " << counted
              << " MB; resident " << resident << " MB (before " << before << "), with a full history " << wouldBe
              << " MB\n";
    EXPECT_LE(counted, 200.0);
    if (!kSanitized && before < 150.0) { // on its own, not after other tests in one process
        EXPECT_LE(wouldBe, 300.0);
    }
}

// The spike, in the plot's own units, in what is drawn for the steps low..high.
bool isDrawn(const MinMaxPyramid& series, double low, double high, double width, double value)
{
    for (const QPolygonF& path : stepPath(series, low, high, 60, width, PathShape::Lines)) {
        for (const QPointF& point : path) {
            if (point.y() == value)
                return true;
        }
    }
    return false;
}

TEST(MillionSteps, ASingleStepOfAMillionIsSeenAtEveryZoom)
{
    std::mt19937_64 random(7);
    for (int round = 0; round < 4; ++round) {
        LongEngine engine(1, 1 << 20);
        engine.spike = 1 + static_cast<std::int64_t>(random() % kMillion);
        engine.skip = 1 + static_cast<std::int64_t>(random() % kMillion);
        RunModel run;
        run.info.generation = 1;
        run.info.modules = engine.info().modules;
        run.history.clear(1);
        for (std::int64_t step = 1; step <= kMillion; ++step)
            run.steps.push_back(engine.record(step));
        RunDigest digest;
        digest.update(&run);
        std::uniform_real_distribution<double> part(0.0, 1.0);
        for (int zoom = 0; zoom < (kSanitized ? 200 : 2000); ++zoom) {
            const double span = std::exp(std::log(8.0) + part(random) * std::log(1.2 * kMillion / 8.0));
            const double width = std::floor(80 + part(random) * 1800);
            for (const std::int64_t at : {engine.spike, engine.skip}) {
                const double low = static_cast<double>(at) - part(random) * span;
                const double high = low + span;
                if (at == engine.spike) {
                    ASSERT_TRUE(isDrawn(digest.loss, low, high, width, 50.0))
                        << at << " of " << low << ".." << high << " on " << width;
                }
                // A mark stands for it, alone or among others, within the gap that marks are merged over.
                const auto marks = clusterMarks(digest.overflowSkips, low, high, 60, width, 7);
                const bool marked = std::ranges::any_of(marks, [&](const MarkCluster& mark) {
                    return mark.first <= engine.skip && engine.skip <= mark.last;
                });
                const bool inView = low <= static_cast<double>(engine.skip) && static_cast<double>(engine.skip) <= high;
                ASSERT_EQ(marked, inView);
            }
        }
    }
}

// The same on the screen: a column of the raw line's colour where the spike is.
TEST(MillionSteps, TheSpikeIsInThePixels)
{
    LongEngine engine(1, 1 << 20);
    engine.spike = kMillion / 1000 * 654 + 321;
    RunModel run;
    run.info.generation = 1;
    run.info.modules = engine.info().modules;
    run.history.clear(1);
    for (std::int64_t step = 1; step <= kMillion; ++step)
        run.steps.push_back(engine.record(step));
    LossPlot loss;
    loss.setRun(&run);
    showAt(loss, 900, 300);
    for (double span = 1.1 * kMillion; span > 200; span /= 3.7) {
        const double low = std::max(0.0, static_cast<double>(engine.spike) - 0.6 * span);
        loss.link()->setRange(low, low + span);
        settleEvents();
        const QImage image = loss.grab().toImage();
        const int x = static_cast<int>(std::lround(loss.pixelOfStep(static_cast<double>(engine.spike))));
        // Halfway up: there is nothing but the line to the spike.
        const int y = loss.axisRect()->rect().center().y();
        bool seen = false;
        for (int dx = -2; dx <= 2; ++dx)
            seen = seen || image.pixel(x + dx, y) != image.pixel(x > 450 ? x - 60 : x + 60, y);
        EXPECT_TRUE(seen) << "at a span of " << span << " steps";
    }
}

} // namespace
} // namespace halfscope::test
