// SPDX-License-Identifier: GPL-3.0-or-later
// The plots over the steps: linked axes, crosshair, marks at every zoom, the waterfall's columns, gaps.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <gtest/gtest.h>
#include <iostream>
#include <limits>
#include <numeric>

#include "tests/ui/plots_support.h"
#include "ui/number_text.h"
#include "ui/plots/accuracy_plot.h"
#include "ui/plots/format_window.h"
#include "ui/plots/loss_plot.h"
#include "ui/plots/scale_plot.h"
#include "ui/plots/waterfall_plot.h"

namespace halfscope {

namespace {

using namespace test;
using Mode = StepAxisLink::Mode;

class StepPlotsTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        for (StepPlot* plot : plots())
            plot->setLink(&link);
        engine.badLossAt(33);
        engine.spikeAt(50, "h1.mlp.fc", 1 << 18);
        engine.run(120);
        collect(run, engine);
        for (StepPlot* plot : plots()) {
            plot->setRun(&run);
            showAt(*plot, 800, 220);
        }
    }
    std::vector<StepPlot*> plots() { return {&waterfall, &scale, &loss}; }
    QRect inner(StepPlot& plot) { return plot.axisRect()->rect(); }
    QPointF atStep(StepPlot& plot, double step) { return {plot.pixelOfStep(step), inner(plot).center().y() + 0.0}; }
    void more(std::int64_t steps)
    {
        engine.run(steps);
        collect(run, engine);
        for (StepPlot* plot : plots())
            plot->refresh();
        settleEvents();
    }

    RunModel run;
    FakeEngine engine;
    StepAxisLink link;
    WaterfallPlot waterfall;
    ScalePlot scale;
    LossPlot loss;
};

TEST_F(StepPlotsTest, StepsLieAboveOneAnother)
{
    for (const double step : {1.0, 57.0, 120.0}) {
        EXPECT_EQ(waterfall.pixelOfStep(step), scale.pixelOfStep(step));
        EXPECT_EQ(waterfall.pixelOfStep(step), loss.pixelOfStep(step));
    }
}

TEST_F(StepPlotsTest, ZoomAndPanGoTogether)
{
    const auto changed = record(link, &StepAxisLink::rangeChanged);
    link.wholeRun();
    link.setRange(20, 80);
    const double before = scale.stepOfPixel(300);
    wheel(scale, {300, 100}, 120);
    EXPECT_NEAR(link.range().size(), 60 / 1.2, 1e-9);
    EXPECT_NEAR(loss.stepOfPixel(300), before, 1e-9); // what is under the pointer stays
    EXPECT_EQ(waterfall.xAxis->range().lower, loss.xAxis->range().lower);
    const QCPRange range = link.range();
    drag(loss, {400, 100}, {300, 100});
    const double moved = 100.0 / inner(loss).width() * range.size();
    EXPECT_NEAR(link.range().lower, range.lower + moved, 1e-9);
    EXPECT_EQ(link.mode(), Mode::Free);
    EXPECT_GE(changed->size(), 3U);
}

TEST_F(StepPlotsTest, FollowsUntilTheUserPansAndReturns)
{
    EXPECT_EQ(link.mode(), Mode::Follow);
    link.zoom(link.range().size() / 40.0, 0); // follow the newest 40
    EXPECT_EQ(link.mode(), Mode::Follow);
    EXPECT_NEAR(link.range().size(), 40, 1e-9);
    more(30);
    EXPECT_GT(link.range().upper, 150);
    EXPECT_LT(link.range().upper, 153);
    const auto mode = record(link, &StepAxisLink::modeChanged);
    drag(scale, {300, 100}, {380, 100});
    EXPECT_EQ(link.mode(), Mode::Free);
    EXPECT_EQ(mode->size(), 1U);
    const QCPRange rest = link.range();
    more(30);
    EXPECT_EQ(link.range().lower, rest.lower);
    pressKey(scale, Qt::Key_End);
    EXPECT_EQ(link.mode(), Mode::Follow);
    EXPECT_GT(link.range().upper, 180);
    pressKey(scale, Qt::Key_Home);
    EXPECT_EQ(link.mode(), Mode::WholeRun);
    EXPECT_EQ(link.range().lower, 0);
    EXPECT_GE(link.range().upper, 180);
    sendMouse(loss, QEvent::MouseButtonDblClick, {300, 100}, Qt::LeftButton);
    EXPECT_EQ(link.mode(), Mode::Follow);
}

TEST_F(StepPlotsTest, ADoubleClickResetsTheWidthToo)
{
    const QCPRange home = link.range();
    const double y = loss.yAxis->range().size();
    const auto twice = [&](const QPointF& at) {
        const auto clicked = record(loss, &StepPlot::stepClicked);
        const auto doubled = record(loss, &StepPlot::doubleClicked);
        drag(loss, at, at);
        sendMouse(loss, QEvent::MouseButtonDblClick, at, Qt::LeftButton);
        sendMouse(loss, QEvent::MouseButtonRelease, at, Qt::LeftButton);
        EXPECT_LE(clicked->size(), 1U); // the second half holds nothing
        EXPECT_EQ(doubled->size(), 1U);
    };
    wheel(loss, {300, 100}, 480); // zoomed while following
    ASSERT_EQ(link.mode(), Mode::Follow);
    ASSERT_LT(link.range().size(), home.size());
    twice({300, 100});
    EXPECT_EQ(link.range().size(), home.size());
    wheel(loss, {300, 100}, 480);
    loss.zoomY(4);
    drag(loss, {300, 100}, {380, 100});
    ASSERT_EQ(link.mode(), Mode::Free);
    twice({380, 100}); // at once after the pan, where it ended
    EXPECT_EQ(link.mode(), Mode::Follow);
    EXPECT_EQ(link.range().size(), home.size());
    EXPECT_NEAR(loss.yAxis->range().size(), y, 1e-9);
}

TEST_F(StepPlotsTest, BoxZoomWithRightButtonOrShift)
{
    link.wholeRun();
    const QPointF a(atStep(scale, 30).x(), inner(scale).top() + 20);
    const QPointF b(atStep(scale, 60).x(), inner(scale).top() + 60);
    const double top = scale.yAxis->range().upper;
    const double perPixel = scale.yAxis->range().size() / inner(scale).height();
    drag(scale, a, b, Qt::RightButton);
    EXPECT_NEAR(link.range().lower, 30, 1e-6);
    EXPECT_NEAR(link.range().upper, 60, 1e-6);
    EXPECT_NEAR(scale.yAxis->range().upper, top - 20 * perPixel, 1e-6);
    EXPECT_NEAR(scale.yAxis->range().lower, top - 60 * perPixel, 1e-6);
    scale.resetView();
    link.wholeRun();
    drag(scale, a, b, Qt::LeftButton, Qt::ShiftModifier);
    EXPECT_NEAR(link.range().lower, 30, 1e-6);
    scale.resetView();
    EXPECT_NEAR(scale.yAxis->range().upper, top, 1e-9);
}

TEST_F(StepPlotsTest, ARightClickAsksForTheMenuALeftClickForTheStep)
{
    const auto menu = record(scale, &QWidget::customContextMenuRequested);
    const auto clicked = record(scale, &StepPlot::stepClicked);
    drag(scale, {300, 100}, {301, 100}, Qt::RightButton);
    EXPECT_EQ(menu->size(), 1U);
    hover(scale, atStep(scale, 42));
    drag(scale, atStep(scale, 42), atStep(scale, 42));
    ASSERT_EQ(clicked->size(), 1U);
    EXPECT_EQ(clicked->front(), 42);
}

TEST_F(StepPlotsTest, OneCrosshairWithExactReadOuts)
{
    hover(scale, atStep(scale, 50));
    EXPECT_EQ(link.crosshair(), 50);
    const StepRecord record = run.steps[49];
    ASSERT_EQ(record.outcome, StepOutcome::SkippedOverflow);
    EXPECT_EQ(scale.readoutLines()[0], QStringLiteral("Step 50"));
    EXPECT_EQ(scale.readoutLines()[1], QStringLiteral("Scale ") + scaleText(static_cast<double>(record.scale)));
    EXPECT_TRUE(scale.readoutLines().contains(QStringLiteral("skipped: overflow in h1.mlp.fc")));
    EXPECT_EQ(loss.readoutLines()[1], QStringLiteral("Loss ") + roundedText(record.loss, 5));
    EXPECT_FALSE(waterfall.readoutLines().isEmpty());
    hover(loss, atStep(loss, 33));
    EXPECT_EQ(loss.readoutLines()[1], QStringLiteral("Loss NaN"));
    EXPECT_TRUE(scale.readoutLines().contains(QStringLiteral("skipped: the loss was not finite")));
    pressKey(loss, Qt::Key_Right, Qt::ShiftModifier);
    EXPECT_EQ(link.crosshair(), 34);
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&loss, &leave);
    EXPECT_FALSE(link.crosshair().has_value());
    EXPECT_TRUE(scale.readoutLines().isEmpty());
}

TEST_F(StepPlotsTest, WaterfallHoverNamesExponentAndCount)
{
    const int exponent = -14;
    const QCPRange range = waterfall.yAxis->range();
    const double y =
        inner(waterfall).top() + (range.upper - (exponent + 0.5)) / range.size() * inner(waterfall).height();
    hover(waterfall, {waterfall.pixelOfStep(70), y});
    const auto histogram = run.selected(run.history.row(run.history.rowAt(70)));
    ASSERT_TRUE(histogram);
    const std::uint64_t count = histogram->at(exponent);
    ASSERT_GT(count, 0U);
    ASSERT_GE(waterfall.readoutLines().size(), 5);
    EXPECT_EQ(waterfall.readoutLines()[1], QStringLiteral("2⁻¹⁴ ≤ |g| < 2⁻¹³"));
    EXPECT_EQ(waterfall.readoutLines()[2],
              QStringLiteral("%1 of %2 (%3)")
                  .arg(countText(count), countText(histogram->classes.total()),
                       shareText(static_cast<double>(count), static_cast<double>(histogram->classes.total()))));
    const std::uint64_t own = run.selected(run.history.row(run.history.rowAt(70)), FormatId::Fp16)->at(exponent);
    ASSERT_LT(own, count); // embeddings and norms are in FP32
    EXPECT_EQ(waterfall.readoutLines()[3],
              QStringLiteral("%1 in FP16, %2 in other formats").arg(countText(own), countText(count - own)));
    EXPECT_EQ(waterfall.readoutLines()[4],
              QStringLiteral("Scale ") + scaleText(static_cast<double>(run.steps[69].scale)));
}

TEST_F(StepPlotsTest, SkipMarksCountEverySkipAtEveryZoom)
{
    more(800);
    std::vector<std::int64_t> skips;
    for (const StepRecord& record : run.steps) {
        if (record.outcome == StepOutcome::SkippedOverflow)
            skips.push_back(record.step);
    }
    ASSERT_GT(skips.size(), 5U);
    for (double span = 8; span < 1100; span *= 1.5) {
        for (double low = 0; low < 900; low += 0.37 * span + 13) {
            link.setRange(low, low + span);
            const QCPRange range = link.range();
            const auto expected = std::count_if(skips.begin(), skips.end(), [&](std::int64_t s) {
                return static_cast<double>(s) >= range.lower && static_cast<double>(s) <= range.upper;
            });
            std::size_t counted = 0;
            for (const MarkCluster& cluster : waterfall.skipMarks())
                counted += cluster.count;
            ASSERT_EQ(counted, static_cast<std::size_t>(expected));
        }
    }
}

TEST_F(StepPlotsTest, WaterfallColumnsAddUpToTheHistory)
{
    more(3000); // more than the whole rows and more than the columns: merged rows, several steps a column
    link.wholeRun();
    settleEvents();
    const WaterfallImage& image = waterfall.image();
    ASSERT_GT(image.stepsPerColumn(), 1);
    SparseHistogram columns;
    for (std::int64_t c = image.firstColumn(); c < image.columnEnd(); ++c)
        columns.merge(WaterfallImage::columnOf(run, c * image.stepsPerColumn() + 1, (c + 1) * image.stepsPerColumn()));
    SparseHistogram history;
    for (std::size_t i = 0; i < run.history.rowCount(); ++i)
        history.merge(*run.selected(run.history.row(i)));
    EXPECT_EQ(columns.classes, history.classes);
    EXPECT_EQ(columns.firstExponent, history.firstExponent);
    EXPECT_EQ(columns.counts, history.counts);
    EXPECT_EQ(history.classes.total(),
              static_cast<std::uint64_t>(engine.stepsDone()) * run.selected(*run.latest)->count());
}

TEST_F(StepPlotsTest, WaterfallCellsShowTheShareOfTheirColumn)
{
    const WaterfallImage& image = waterfall.image();
    ASSERT_EQ(image.stepsPerColumn(), 1);
    const auto histogram = run.selected(run.history.row(run.history.rowAt(70)));
    for (const int exponent : {-20, -15, -10}) {
        const double share =
            static_cast<double>(histogram->at(exponent)) / static_cast<double>(histogram->classes.total());
        const double expected = 255.0 * std::clamp(std::log(share / 1e-6) / std::log(0.25 / 1e-6), 1.0 / 255, 1.0);
        EXPECT_NEAR(image.level(69, exponent), expected, 0.5) << exponent;
    }
    EXPECT_EQ(image.level(69, 60), 0);
    EXPECT_EQ(image.level(5000, -15), 0);
}

TEST_F(StepPlotsTest, WaterfallGrowsByColumnAndEqualsAFreshOne)
{
    WaterfallImage image;
    image.setColors(darkTheme().density());
    EXPECT_EQ(image.update(run, 0, 200), 120);
    EXPECT_EQ(image.update(run, 0, 200), 0);
    more(7);
    EXPECT_LE(image.update(run, 0, 200), 8); // the new ones, and the last one again
    more(3000);
    image.update(run, 1000, 3000);
    more(100);
    const int computed = image.update(run, 1100, 3100); // scrolled, and 100 new steps, of which the view shows none
    EXPECT_LE(computed, 101);
    WaterfallImage fresh;
    fresh.setColors(darkTheme().density());
    fresh.update(run, 1100, 3100);
    // Rows that were merged meanwhile are coarser in the fresh one; the recent ones are the same.
    for (std::int64_t column = 2300; column < 3090; ++column) {
        for (int e = -40; e < 5; ++e)
            ASSERT_EQ(image.level(column, e), fresh.level(column, e)) << column << " " << e;
    }
}

TEST_F(StepPlotsTest, WaterfallForgetsWhenTheSelectionChanges)
{
    const std::uint8_t before = waterfall.image().level(69, -21);
    run.selection.tap = Tap::ActivationGrad;
    waterfall.refresh();
    EXPECT_NE(waterfall.image().level(69, -21), before);
    EXPECT_TRUE(waterfall.title().contains(QStringLiteral("activation gradients")));
}

TEST_F(StepPlotsTest, BandIsTheFormatsLimitsOverTheGradients)
{
    const StepRecord record = run.steps[9];
    const auto band = scale.bandAt(10);
    ASSERT_TRUE(band);
    EXPECT_DOUBLE_EQ(band->high, std::log2(65520.0 / static_cast<double>(record.bandAbsMax)));
    EXPECT_DOUBLE_EQ(band->low, -25.0 - std::log2(static_cast<double>(record.bandLowQuantile)));
    EXPECT_DOUBLE_EQ(band->trueMinimum, -25.0 - std::log2(static_cast<double>(record.bandAbsMin)));
    EXPECT_FALSE(scale.bandAt(0));
    EXPECT_FALSE(scale.bandAt(100000));
    amend(run, 9, [](StepRecord& r) { r.bandAbsMax = 0.0F; }); // not measured
    EXPECT_FALSE(scale.bandAt(10));
}

TEST_F(StepPlotsTest, ScaleLineIsExactAtEveryStep)
{
    const QImage image = scale.grab().toImage();
    const QCPRange y = scale.yAxis->range();
    for (const std::int64_t step : {5, 45, 110}) {
        const double value = std::log2(static_cast<double>(run.steps[static_cast<std::size_t>(step - 1)].scale));
        const QPoint at(int(scale.pixelOfStep(static_cast<double>(step))),
                        int(std::round(inner(scale).top() + (y.upper - value) / y.size() * inner(scale).height())));
        bool found = false; // the line is two pixels thick
        for (int dy = -1; dy <= 2; ++dy)
            found = found || image.pixelColor(at + QPoint(0, dy)) == currentTheme().scaleLine;
        EXPECT_TRUE(found) << step;
    }
}

TEST_F(StepPlotsTest, SmoothingIsUnbiasedAndSkipsWhatIsNotFinite)
{
    loss.setSmoothing(0.5);
    double sum = 0;
    double weights = 0;
    for (std::int64_t step = 1; step <= 40; ++step) {
        const double value = run.steps[static_cast<std::size_t>(step - 1)].loss;
        if (!std::isfinite(value)) {
            EXPECT_TRUE(std::isnan(loss.smoothedAt(step)));
            continue;
        }
        sum = 0.5 * sum + 0.5 * value;
        weights = 0.5 * weights + 0.5;
        EXPECT_NEAR(loss.smoothedAt(step), sum / weights, 1e-6) << step; // kept as FP32: relative 2^-24
    }
    EXPECT_FLOAT_EQ(static_cast<float>(loss.smoothedAt(1)), static_cast<float>(run.steps[0].loss));
}

TEST_F(StepPlotsTest, SmoothingBeginsAnewWhereTheHeadIsSwapped)
{
    AccuracyPlot accuracy;
    accuracy.setLink(&link);
    accuracy.setRun(&run);
    for (const std::int64_t step : {59, 60, 61, 62}) {
        amend(run, static_cast<std::size_t>(step - 1), [step](StepRecord& r) {
            r.loss = step < 61 ? 4.0 : 0.5;
            r.accuracy = step < 61 ? 0.25 : 0.5;
        });
    }
    Event swap;
    swap.kind = EventKind::HeadSwapped;
    swap.step = 61;
    run.events.push_back(swap);
    loss.refresh();
    accuracy.refresh();
    EXPECT_GT(loss.smoothedAt(60), 0.6);
    EXPECT_NEAR(loss.smoothedAt(61), 0.5, 1e-6);
    EXPECT_NEAR(loss.smoothedAt(62), 0.5, 1e-6);
    EXPECT_NEAR(accuracy.smoothedAt(61), 0.5, 1e-6);
    EXPECT_NEAR(accuracy.smoothedAt(62), 0.5, 1e-6);
}

TEST_F(StepPlotsTest, LogarithmicLossHasNoBadRange)
{
    amend(run, 20, [](StepRecord& r) { r.loss = 0.0; }); // no logarithm: a gap
    amend(run, 21, [](StepRecord& r) { r.loss = std::numeric_limits<double>::infinity(); });
    loss.setLogarithmic(true);
    loss.setSmoothing(0.9);
    settleEvents();
    const QCPRange range = loss.yAxis->range();
    EXPECT_TRUE(std::isfinite(range.lower) && std::isfinite(range.upper));
    EXPECT_GT(range.lower, -1.0);
    EXPECT_LT(range.upper, 1.0); // losses between 1.6 and 4.7
}

TEST_F(StepPlotsTest, ANewRunStartsAfresh)
{
    link.setRange(10, 50);
    engine.post(Restart{});
    engine.run(5);
    collect(run, engine);
    for (StepPlot* plot : plots())
        plot->refresh();
    EXPECT_EQ(link.digest().lastStep(), 5);
    EXPECT_EQ(link.mode(), Mode::Follow);
    EXPECT_TRUE(waterfall.skipMarks().empty());
    EXPECT_TRUE(std::isnan(loss.smoothedAt(6)));
}

TEST_F(StepPlotsTest, NoPlottablesThatCostAFrame)
{
    for (StepPlot* plot : plots())
        EXPECT_EQ(plot->plottableCount() + plot->itemCount(), 0);
}

TEST(StepPlotsLarge, AMillionStepsReplot)
{
    RunModel run;
    run.info.generation = 1;
    run.info.modules = listModules(FakeEngine::smallConfig().model);
    run.history.clear(static_cast<int>(run.info.modules.size()));
    for (std::size_t i = 0; i < 1000000; ++i) {
        StepRecord record;
        record.step = static_cast<std::int64_t>(i) + 1;
        record.outcome = i % 1999 == 1998 ? StepOutcome::SkippedOverflow : StepOutcome::Applied;
        record.scale = std::ldexp(1.0F, 12 + static_cast<int>((i / 2000) % 5));
        record.scaleNext = record.scale;
        record.loss = 2.0 + 2.0 / (1.0 + static_cast<double>(i) / 1e5) + static_cast<double>((i * 7919) % 101) / 300;
        record.bandAbsMax = 0x1p-3F;
        record.bandAbsMin = 0x1p-60F;
        record.bandLowQuantile = 0x1p-30F;
        run.steps.push_back(record);
    }
    StepAxisLink link;
    ScalePlot scale;
    LossPlot loss;
    for (StepPlot* plot : {static_cast<StepPlot*>(&scale), static_cast<StepPlot*>(&loss)}) {
        plot->setLink(&link);
        plot->setRun(&run);
        showAt(*plot, 1200, 300);
    }
    link.wholeRun();
    settleEvents();
    std::size_t counted = 0;
    for (const MarkCluster& cluster : scale.skipMarks())
        counted += cluster.count;
    EXPECT_EQ(counted, 500U); // 1000000 / 1999
    for (StepPlot* plot : {static_cast<StepPlot*>(&scale), static_cast<StepPlot*>(&loss)}) {
        const std::clock_t start = std::clock(); // of the processor: other programs do not count
        constexpr int kFrames = 10;
        for (int i = 0; i < kFrames; ++i) {
            plot->refresh();
            plot->replot(QCustomPlot::rpQueuedRefresh);
        }
        // For the reader of the log; machines differ too much for a gate.
        std::cout << plot->title().toStdString()
                  << ", 1 000 000 steps: " << 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / kFrames
                  << " ms a frame\n";
    }
}

} // namespace

} // namespace halfscope
