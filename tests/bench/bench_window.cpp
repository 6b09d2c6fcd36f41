// SPDX-License-Identifier: GPL-3.0-or-later
// What the window costs over the length of a run and the number of modules: a scripted engine fills it, then each view
// is asked for frames. Names end in steps/modules. Times are of the processor, for one thread does all of it.
#include <QApplication>
#include <QStyleFactory>
#include <QTemporaryDir>
#include <benchmark/benchmark.h>
#include <map>
#include <memory>
#include <stdexcept>

#include "tests/ui/long_engine.h"
#include "tests/ui/plots_support.h"
#include "ui/dialogs/run_export.h"
#include "ui/main_window.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/plot_area.h"
#include "ui/plots/accuracy_plot.h"
#include "ui/plots/loss_plot.h"
#include "ui/plots/plot_export.h"
#include "ui/plots/scale_plot.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/waterfall_plot.h"
#include "ui/plots/what_if_plot.h"
#include "ui/session_controller.h"

namespace halfscope::test {
namespace {

// The window with a run of that length in it; the last one asked for is kept.
class Filled {
public:
    static Filled& of(const benchmark::State& state)
    {
        static std::unique_ptr<Filled> kept;
        if (!kept || kept->m_steps != state.range(0) || kept->m_modules != state.range(1)) {
            kept.reset();
            kept.reset(new Filled(state.range(0), static_cast<int>(state.range(1))));
        }
        return *kept;
    }

    MainWindow& window() { return *m_window; }
    SessionController& controller() { return m_window->controller(); }
    PlotArea& plots() { return *m_plots; }
    LongEngine& engine() { return *m_engine; }
    Plot& plot(std::int64_t index) { return *m_plots->allPlots().at(index); }

    // Everything that was asked for is on the screen.
    static void settle()
    {
        for (int i = 0; i < 3; ++i)
            QCoreApplication::processEvents();
    }

private:
    Filled(std::int64_t steps, int modules) : m_steps(steps), m_modules(modules)
    {
        m_settings = Settings::inFile(m_folder.filePath(QStringLiteral("settings.ini")));
        m_settings->setHintDismissed(true);
        // Rows of the history come one a step while the run is short, else as when the window is behind.
        const int together = steps > 100'000 ? 16 : 1;
        m_window = std::make_unique<MainWindow>(
            [&](const RunConfig&) {
                auto made = std::make_unique<LongEngine>(modules, together);
                m_engine = made.get();
                return made;
            },
            FakeEngine::smallConfig(), *m_settings);
        m_window->resize(1920, 1080);
        m_engine->stepsPerDrain = steps;
        while (m_engine->stepsDone() < steps) {
            m_engine->stepsPerDrain = steps - m_engine->stepsDone();
            m_window->controller().poll();
        }
        m_engine->stepsPerDrain = 0;
        m_window->show();
        m_plots = m_window->findChild<PlotArea*>();
        settle();
    }

    std::int64_t m_steps;
    int m_modules;
    QTemporaryDir m_folder;
    std::unique_ptr<Settings> m_settings;
    LongEngine* m_engine = nullptr;
    std::unique_ptr<MainWindow> m_window;
    PlotArea* m_plots = nullptr;
};

// One frame of a view with the whole run in sight, after its data were asked for anew.
void frame(benchmark::State& state, int index)
{
    Filled& filled = Filled::of(state);
    filled.plots().link().wholeRun();
    Filled::settle();
    Plot& plot = filled.plot(index);
    for (auto _ : state) {
        plot.refresh();
        plot.replot(QCustomPlot::rpImmediateRefresh);
    }
}
void spectrumFrame(benchmark::State& state) { frame(state, 0); }
void waterfallFrame(benchmark::State& state) { frame(state, 1); }
void scaleFrame(benchmark::State& state) { frame(state, 2); }
void lossFrame(benchmark::State& state) { frame(state, 3); }
void accuracyFrame(benchmark::State& state) { frame(state, 4); }
void whatIfFrame(benchmark::State& state) { frame(state, 5); }

// A turn of the timer with one new step and snapshot: everything in the window follows.
void newStep(benchmark::State& state)
{
    Filled& filled = Filled::of(state);
    filled.plots().link().follow();
    filled.engine().stepsPerDrain = state.range(0) > 100'000 ? 16 : 1;
    filled.controller().poll();
    Filled::settle();
    for (auto _ : state) {
        filled.controller().poll();
        Filled::settle();
    }
    filled.engine().stepsPerDrain = 0;
}

// From the newest steps to all of them, in all plots.
void zoomToEverything(benchmark::State& state)
{
    Filled& filled = Filled::of(state);
    for (auto _ : state) {
        state.PauseTiming();
        filled.plots().link().setRange(1, 200);
        Filled::settle();
        state.ResumeTiming();
        filled.plots().link().wholeRun();
        Filled::settle();
    }
}

void resizeWindow(benchmark::State& state)
{
    Filled& filled = Filled::of(state);
    filled.plots().link().wholeRun();
    int width = 1920;
    for (auto _ : state) {
        width = width == 1920 ? 1800 : 1920;
        filled.window().resize(width, 1080);
        Filled::settle();
    }
    filled.window().resize(1920, 1080);
    Filled::settle();
}

// Another layer is chosen, then all of them, with the whole run in view: two changes an iteration.
void layerChange(benchmark::State& state)
{
    Filled& filled = Filled::of(state);
    filled.plots().link().wholeRun();
    Filled::settle();
    for (auto _ : state) {
        filled.controller().select({{3}, Tap::WeightGrad});
        Filled::settle();
        filled.controller().select({{}, Tap::ActivationGrad});
        Filled::settle();
    }
    filled.controller().select({});
    Filled::settle();
}

void crosshair(benchmark::State& state)
{
    Filled& filled = Filled::of(state);
    filled.plots().link().wholeRun();
    Filled::settle();
    std::int64_t step = 1;
    for (auto _ : state) {
        step = 1 + (step + 7919) % state.range(0);
        filled.plots().link().setCrosshair(step);
        Filled::settle();
    }
    filled.plots().link().setCrosshair(std::nullopt);
    Filled::settle();
}

// What the window's thread does for an export of tables before the other thread takes over.
void exportCopy(benchmark::State& state)
{
    Filled& filled = Filled::of(state);
    for (auto _ : state)
        benchmark::DoNotOptimize(RunCopy(filled.controller().run()));
}

// The slowest of the six pictures decides whether the window stands still.
void exportPicture(benchmark::State& state, ExportFormat format)
{
    Filled& filled = Filled::of(state);
    filled.plots().link().wholeRun();
    Filled::settle();
    for (auto _ : state) {
        for (const int index : {0, 1, 2, 3, 4, 5}) {
            if (format == ExportFormat::Svg)
                benchmark::DoNotOptimize(PlotExport::svg(filled.plot(index)));
            else
                benchmark::DoNotOptimize(PlotExport::pdf(filled.plot(index)));
        }
    }
}
void sixSvg(benchmark::State& state) { exportPicture(state, ExportFormat::Svg); }
void sixPdf(benchmark::State& state) { exportPicture(state, ExportFormat::Pdf); }

struct Named {
    const char* name;
    void (*function)(benchmark::State&);
};
constexpr Named kAll[] = {{"frame/spectrum", spectrumFrame},
                          {"frame/waterfall", waterfallFrame},
                          {"frame/scale", scaleFrame},
                          {"frame/loss", lossFrame},
                          {"frame/accuracy", accuracyFrame},
                          {"frame/what-if", whatIfFrame},
                          {"zoom-to-everything", zoomToEverything},
                          {"resize", resizeWindow},
                          {"two-layer-changes", layerChange},
                          {"crosshair", crosshair},
                          {"export/copy-for-tables", exportCopy},
                          {"export/six-svg", sixSvg},
                          {"export/six-pdf", sixPdf},
                          {"new-step", newStep}}; // the last: it makes the run longer

// All of one run before the next, which takes seconds to fill.
void registerAll()
{
    for (const int modules : {10, 30, 100}) {
        for (const int steps : {1000, 10'000, 100'000, 1'000'000}) {
            for (const Named& one : kAll)
                benchmark::RegisterBenchmark(one.name, one.function)
                    ->Args({steps, modules})
                    ->Unit(benchmark::kMillisecond)
                    ->MinTime(0.1);
        }
    }
}

} // namespace
} // namespace halfscope::test

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    benchmark::Initialize(&argc, argv);
    halfscope::test::registerAll();
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
