// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <gtest/gtest.h>

#include "tests/ui/plots_support.h"
#include "ui/number_text.h"
#include "ui/plots/spectrum_plot.h"

namespace halfscope {

namespace {

using namespace test;

class SpectrumTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        ThemeManager::instance().setChoice(ThemeChoice::Dark);
        engine.run(5);
        collect(run, engine);
        plot.setRun(&run);
        showAt(plot, 800, 400);
    }

    QRect inner() { return plot.axisRect()->rect(); }
    QPointF onEdge(double exponent) { return {plot.pixelOf(exponent), inner().center().y() + 0.0}; }
    double octave() { return plot.pixelOf(1) - plot.pixelOf(0); } // pixels
    TensorStatistics all() { return *run.selected(*run.latest); }

    RunModel run;
    FakeEngine engine;
    SpectrumPlot plot;
};

TEST_F(SpectrumTest, WindowIsTheFormatDividedByTheScale)
{
    ASSERT_EQ(plot.shownScale(), 65536.0);
    EXPECT_EQ(plot.window().flush, -25.0 - 16.0);
    EXPECT_EQ(plot.window().subnormal, -14.0 - 16.0);
    EXPECT_DOUBLE_EQ(plot.window().overflow, std::log2(65520.0) - 16.0);
    EXPECT_NEAR(plot.exponentAt(plot.pixelOf(-20.25)), -20.25, 1e-9);
}

TEST_F(SpectrumTest, DraggingAnEdgeSetsTheScaleToPowersOfTwo)
{
    const auto dragged = record(plot, &SpectrumPlot::scaleDragged);
    const auto dropped = record(plot, &SpectrumPlot::scaleDropped);
    const QPointF edge = onEdge(plot.window().overflow);
    // Two octaves and a third to the right: the window goes up, the scale goes down by two.
    drag(plot, edge, edge + QPointF(2.3 * octave(), 0));
    ASSERT_EQ(dropped->size(), 1U);
    EXPECT_EQ(dropped->front(), 16384.0);
    ASSERT_GE(dragged->size(), 1U);
    EXPECT_EQ(dragged->back(), 16384.0);
    for (const double scale : *dragged)
        EXPECT_TRUE(isPowerOfTwo(scale));
    EXPECT_EQ(plot.shownScale(), 16384.0); // shown until the run has it
    engine.post(SetScale{16384.0});
    engine.run(1);
    collect(run, engine);
    plot.refresh();
    EXPECT_EQ(plot.shownScale(), 16384.0);
}

TEST_F(SpectrumTest, TheFlushEdgeAndTheBodyDragLikewise)
{
    const auto dropped = record(plot, &SpectrumPlot::scaleDropped);
    QPointF at = onEdge(plot.window().flush);
    drag(plot, at, at - QPointF(octave(), 0));
    ASSERT_EQ(dropped->size(), 1U);
    EXPECT_EQ(dropped->back(), 131072.0);
    at = onEdge(plot.window().subnormal + 3);
    drag(plot, at, at + QPointF(3 * octave(), 0));
    ASSERT_EQ(dropped->size(), 2U);
    EXPECT_EQ(dropped->back(), 16384.0);
}

TEST_F(SpectrumTest, ShiftDragsFreely)
{
    const auto dropped = record(plot, &SpectrumPlot::scaleDropped);
    const QPointF edge = onEdge(plot.window().overflow);
    drag(plot, edge, edge + QPointF(0.5 * octave(), 0), Qt::LeftButton, Qt::ShiftModifier);
    ASSERT_EQ(dropped->size(), 1U);
    // Half an octave is 46341: of the numbers that read well, an eighth apart, 1.375 * 2^15 is the nearest.
    EXPECT_EQ(dropped->front(), 45056.0);
    EXPECT_EQ(shortScaleText(dropped->front()), QStringLiteral("1.375·2¹⁵")); // exact, nothing is hidden
}

TEST_F(SpectrumTest, AClickOnTheWindowChangesNothing)
{
    const auto dragged = record(plot, &SpectrumPlot::scaleDragged);
    const auto dropped = record(plot, &SpectrumPlot::scaleDropped);
    const QPointF edge = onEdge(plot.window().overflow);
    drag(plot, edge, edge + QPointF(1, 0)); // a hand is not that steady
    EXPECT_EQ(dragged->size() + dropped->size(), 0U);
    EXPECT_EQ(plot.shownScale(), 65536.0);
}

TEST_F(SpectrumTest, EscapeDuringADragTakesItBack)
{
    const auto dropped = record(plot, &SpectrumPlot::scaleDropped);
    const QPointF edge = onEdge(plot.window().overflow);
    sendMouse(plot, QEvent::MouseButtonPress, edge, Qt::LeftButton);
    sendMouse(plot, QEvent::MouseMove, edge + QPointF(3 * octave(), 0), Qt::LeftButton);
    EXPECT_EQ(plot.shownScale(), 8192.0);
    pressKey(plot, Qt::Key_Escape);
    sendMouse(plot, QEvent::MouseButtonRelease, edge + QPointF(3 * octave(), 0), Qt::LeftButton);
    ASSERT_EQ(dropped->size(), 1U);
    EXPECT_EQ(dropped->front(), 65536.0);
}

TEST_F(SpectrumTest, ScaleStaysWithinTheScalersBounds)
{
    engine.post(SetSetting{"max-scale", "131072"});
    engine.applyCommands();
    collect(run, engine);
    plot.refresh();
    const auto dropped = record(plot, &SpectrumPlot::scaleDropped);
    const QPointF edge = onEdge(plot.window().overflow);
    drag(plot, edge, edge - QPointF(5 * octave(), 0));
    ASSERT_EQ(dropped->size(), 1U);
    EXPECT_EQ(dropped->front(), 131072.0);
}

TEST_F(SpectrumTest, KeysMoveTheWindow)
{
    const auto dropped = record(plot, &SpectrumPlot::scaleDropped);
    pressKey(plot, Qt::Key_Left);
    ASSERT_EQ(dropped->size(), 1U);
    EXPECT_EQ(dropped->back(), 131072.0);
    pressKey(plot, Qt::Key_Right);
    pressKey(plot, Qt::Key_Right);
    ASSERT_EQ(dropped->size(), 3U);
    EXPECT_EQ(dropped->back(), 32768.0);
    pressKey(plot, Qt::Key_Right, Qt::ShiftModifier);
    EXPECT_EQ(dropped->back(), 1.875 * 16384.0); // the next number that reads well
    pressKey(plot, Qt::Key_Left);                // from between two powers to the next one
    EXPECT_EQ(dropped->back(), 32768.0);
}

TEST_F(SpectrumTest, OnTheScaledAxisTheBarsAreDragged)
{
    plot.setScaledAxis(true);
    settleEvents();
    const auto dropped = record(plot, &SpectrumPlot::scaleDropped);
    const QPointF at = onEdge(plot.window().subnormal + 4);
    drag(plot, at, at + QPointF(2 * octave(), 0));
    ASSERT_EQ(dropped->size(), 1U);
    EXPECT_EQ(dropped->back(), 262144.0);
    // The window stands where the format has its limits: 2^-25 on the axis.
    const QCPRange range = plot.xAxis->range();
    const double expected = inner().left() + (-25.0 - range.lower) / range.size() * inner().width();
    EXPECT_NEAR(plot.pixelOf(plot.window().flush), expected, 1e-6);
}

TEST_F(SpectrumTest, HoverSaysExactCounts)
{
    const TensorStatistics statistics = all();
    const int exponent = -18;
    const std::uint64_t count = statistics.histogram.at(exponent);
    ASSERT_GT(count, 0U);
    hover(plot, {plot.pixelOf(exponent + 0.5), inner().center().y() + 0.0});
    const QStringList lines = plot.readoutLines();
    ASSERT_EQ(lines.size(), 5);
    EXPECT_EQ(lines[0], QStringLiteral("%1 of %2 (%3)")
                            .arg(countText(count), countText(statistics.count()),
                                 shareText(static_cast<double>(count), static_cast<double>(statistics.count()))));
    const std::uint64_t own = run.selected(*run.latest, FormatId::Fp16)->histogram.at(exponent);
    ASSERT_GT(own, 0U);
    ASSERT_LT(own, count);
    EXPECT_EQ(lines[1], QStringLiteral("%1 in FP16, %2 in FP32").arg(countText(own), countText(count - own)));
    EXPECT_EQ(lines[2], QStringLiteral("2⁻¹⁸ ≤ |g| < 2⁻¹⁷"));
    EXPECT_EQ(lines[3], QStringLiteral("3.815e-06 … 7.629e-06"));
    EXPECT_EQ(lines[4], QStringLiteral("in FP16: normal"));
    hover(plot, {plot.pixelOf(plot.window().subnormal - 1.5), inner().center().y() + 0.0});
    EXPECT_EQ(plot.readoutLines().back(), QStringLiteral("in FP16: subnormal"));
    hover(plot, {plot.pixelOf(plot.window().flush - 0.5), inner().center().y() + 0.0});
    EXPECT_EQ(plot.readoutLines().back(), QStringLiteral("in FP16: flushed to 0"));
    hover(plot, {plot.pixelOf(1.5), inner().center().y() + 0.0});
    EXPECT_EQ(plot.readoutLines().back(), QStringLiteral("in FP16: overflows"));
    // 65520 cuts [2^15, 2^16) only just: the bin is called normal.
    hover(plot, {plot.pixelOf(-0.5), inner().center().y() + 0.0});
    EXPECT_EQ(plot.readoutLines().back(), QStringLiteral("in FP16: normal"));
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&plot, &leave);
    EXPECT_TRUE(plot.readoutLines().isEmpty());
}

TEST_F(SpectrumTest, HoverFollowsNewData)
{
    hover(plot, {plot.pixelOf(-17.5), inner().center().y() + 0.0});
    const QString before = plot.readoutLines().front();
    engine.run(1);
    collect(run, engine);
    plot.refresh();
    EXPECT_NE(plot.readoutLines().front(), before);
    EXPECT_TRUE(plot.readoutLines().front().startsWith(countText(all().histogram.at(-18))));
}

TEST_F(SpectrumTest, HeadlineIsMeasuredAtTheMeasuredScaleAndEstimatedElsewhere)
{
    const TensorStatistics statistics = all();
    const QString flushed = countText(statistics.classes[ValueClass::Flushed]); // only FP16 flushes here
    EXPECT_TRUE(plot.headline().contains(QStringLiteral("flushed to 0: %1 = ").arg(flushed)))
        << plot.headline().toStdString();
    EXPECT_FALSE(plot.headline().contains(QStringLiteral("≈ ")));
    EXPECT_EQ(plot.accessibleDescription(), plot.headline());
    for (int i = 0; i < 12; ++i)
        pressKey(plot, Qt::Key_Right);
    EXPECT_TRUE(plot.headline().contains(QStringLiteral("≈ "))) << plot.headline().toStdString();
}

TEST_F(SpectrumTest, EstimatesEqualTheMeasurementWhereBinsAreNotCut)
{
    // Values stand in the middle of their bins, so at a power of two the bins decide exactly.
    const TensorStatistics s = FakeEngine::madeUp(100000, -24, 5, 0.01, FormatId::Fp16, 65536.0);
    const ClassEstimate estimate = estimateClasses(s, floatFormat(FormatId::Fp16), 65536.0);
    EXPECT_EQ(estimate.flushed.value, static_cast<double>(s.classes[ValueClass::Flushed]));
    EXPECT_EQ(estimate.subnormal.value, static_cast<double>(s.classes[ValueClass::Subnormal]));
    EXPECT_NEAR(estimate.normal.value, static_cast<double>(s.classes[ValueClass::Normal]), 1e-6);
    EXPECT_EQ(estimate.overflow.value, 0.0);
    EXPECT_EQ(headroomOctaves(s, formatWindow(floatFormat(FormatId::Fp16), 65536.0)),
              std::log2(65520.0) - 16.0 - std::log2(static_cast<double>(s.absMax)));
}

// Only what is held in FP16 can overflow where FP16 ends: the largest gradients belong to an embedding in FP32.
TEST_F(SpectrumTest, HeadroomIsThatOfTheModulesInTheWindowsFormat)
{
    ASSERT_NE(run.latest, nullptr);
    auto snapshot = std::make_shared<Snapshot>(*run.latest);
    TensorStatistics fp16;
    bool first = true;
    for (TapStatistics& tap : snapshot->taps) {
        if (tap.tap != Tap::WeightGrad)
            continue;
        if (first) {
            tap.format = FormatId::Fp32;
            tap.statistics.absMax = 1000.0F;
            ++tap.statistics.histogram.at(9);
            first = false;
        } else if (tap.format == FormatId::Fp16)
            fp16.merge(tap.statistics);
    }
    run.latest = snapshot;
    plot.refresh();
    const double octaves = headroomOctaves(fp16, plot.window());
    ASSERT_GT(octaves, headroomOctaves(*run.selected(*snapshot), plot.window()) + 1.0);
    EXPECT_TRUE(plot.headline().contains(QStringLiteral("headroom in FP16: %1 octaves").arg(octavesText(octaves))))
        << plot.headline().toStdString();
}

TEST_F(SpectrumTest, ACutBinIsDividedEvenly)
{
    TensorStatistics s;
    s.histogram.at(-25) = 1000;
    s.classes[ValueClass::Normal] = 1000;
    s.absMin = 0x1p-25F;
    s.absMax = 0x1.fp-25F;
    // The flush edge 2^-25 / S at a quarter of the bin.
    const ClassEstimate estimate = estimateClasses(s, floatFormat(FormatId::Fp16), std::exp2(-0.25));
    // Of the smallest and the largest it is known where they go; the other 998 are divided.
    EXPECT_NEAR(estimate.flushed.value, 1 + 998 * 0.25, 1e-9);
    EXPECT_NEAR(estimate.subnormal.value, 1 + 998 * 0.75, 1e-9);
}

TEST_F(SpectrumTest, BarsHaveTheColourOfTheirClass)
{
    run.selection.tap = Tap::ActivationGrad;
    engine.post(SetScale{64.0});
    engine.run(1);
    collect(run, engine);
    plot.refresh();
    settleEvents();
    const QImage image = plot.grab().toImage();
    const auto colorAt = [&](double exponent) {
        const int e = static_cast<int>(std::floor(exponent));
        EXPECT_LT(plot.barTop(e), inner().bottom() - 3) << e;
        const double ratio = image.devicePixelRatio();
        return image.pixelColor(QPoint(int(plot.pixelOf(e + 0.4) * ratio), int((inner().bottom() - 2) * ratio)));
    };
    EXPECT_EQ(colorAt(plot.window().subnormal - 2.5), darkTheme().subnormal);
    EXPECT_EQ(colorAt(plot.window().subnormal + 1.5), darkTheme().normal);
    EXPECT_EQ(colorAt(plot.window().subnormal - 0.5), darkTheme().subnormal);
    EXPECT_EQ(colorAt(plot.window().subnormal + 0.5), darkTheme().normal);
}

TEST_F(SpectrumTest, BarHeightsAreLogarithmicFromHalfACount)
{
    const QCPRange range = plot.yAxis->range();
    EXPECT_NEAR(range.lower, std::log10(0.5), 1e-5);
    const TensorStatistics statistics = all();
    for (const int e : {-20, -15, -10}) {
        const double value = std::log10(static_cast<double>(statistics.histogram.at(e)));
        EXPECT_NEAR(plot.barTop(e), inner().top() + (range.upper - value) / range.size() * inner().height(), 0.6) << e;
    }
    EXPECT_EQ(plot.barTop(100), QRectF(inner()).bottom()); // an empty bin has no bar
    // The labels above the bars have their room.
    double highest = 1e9;
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e)
        highest = std::min(highest, plot.barTop(e));
    EXPECT_GT(highest, inner().top() + 2 * QFontMetrics(plot.font()).height());
}

TEST_F(SpectrumTest, AFrozenStepStaysUntilTheWindowIsDragged)
{
    const TensorStatistics early = run.selected(run.history.row(run.history.rowAt(2)))->expand();
    plot.freezeStep(2);
    engine.run(10);
    collect(run, engine);
    plot.refresh();
    hover(plot, {plot.pixelOf(-17.5), inner().center().y() + 0.0});
    EXPECT_TRUE(plot.readoutLines().front().startsWith(countText(early.histogram.at(-18)) + QStringLiteral(" of ")));
    const auto dragged = record(plot, &SpectrumPlot::scaleDragged);
    const QPointF edge = onEdge(plot.window().overflow);
    drag(plot, edge, edge + QPointF(2 * octave(), 0));
    EXPECT_FALSE(plot.frozenStep().has_value());
    ASSERT_GE(dragged->size(), 1U);
    EXPECT_EQ(dragged->back(), 16384.0);
    plot.freezeStep(2);
    pressKey(plot, Qt::Key_Escape);
    EXPECT_FALSE(plot.frozenStep().has_value());
}

TEST_F(SpectrumTest, AHeldStepKeepsTheHandlesAndEscapeDuringTheDragGivesTheScaleBack)
{
    plot.freezeStep(2); // at 2^16; meanwhile the scale has grown
    engine.run(40);
    collect(run, engine);
    plot.refresh();
    const double live = run.live.scaler.scale;
    ASSERT_GT(live, 65536.0);
    ASSERT_EQ(plot.shownScale(), 65536.0);
    settleEvents();
    const QImage image = plot.grab().toImage();
    const QPoint handle(int(std::round(plot.pixelOf(plot.window().overflow))) + 3, inner().center().y() - 10);
    EXPECT_EQ(image.pixelColor(handle), darkTheme().accent);
    const auto dropped = record(plot, &SpectrumPlot::scaleDropped);
    const QPointF edge = onEdge(plot.window().overflow);
    sendMouse(plot, QEvent::MouseButtonPress, edge, Qt::LeftButton);
    sendMouse(plot, QEvent::MouseMove, edge + QPointF(3 * octave(), 0), Qt::LeftButton);
    EXPECT_EQ(plot.shownScale(), 8192.0); // from where the window was seen
    pressKey(plot, Qt::Key_Escape);
    ASSERT_EQ(dropped->size(), 1U);
    EXPECT_EQ(dropped->front(), live);
}

TEST_F(SpectrumTest, ADoubleClickAlwaysResetsTheView)
{
    plot.resetView();
    const QCPRange home = plot.xAxis->range();
    const QPointF at(inner().left() + 10, inner().bottom() - 20); // left of the window
    drag(plot, at, at + QPointF(120, 0));
    ASSERT_NE(plot.xAxis->range().lower, home.lower);
    const auto click = [&](const QPointF& where, bool tremor) {
        sendMouse(plot, QEvent::MouseButtonPress, where, Qt::LeftButton);
        if (tremor)
            sendMouse(plot, QEvent::MouseMove, where + QPointF(5, 0), Qt::LeftButton);
        sendMouse(plot, QEvent::MouseButtonRelease, where + QPointF(tremor ? 5 : 0, 0), Qt::LeftButton);
    };
    // Right after the pan; the window system saw no double click, and the hand trembled.
    click(at, true);
    click(at + QPointF(2, 1), false);
    EXPECT_EQ(plot.xAxis->range().lower, home.lower);
    EXPECT_EQ(plot.xAxis->range().upper, home.upper);
    plot.zoomX(3);
    click(at, false);
    sendMouse(plot, QEvent::MouseButtonDblClick, at, Qt::LeftButton);
    sendMouse(plot, QEvent::MouseButtonRelease, at, Qt::LeftButton);
    EXPECT_EQ(plot.xAxis->range().upper, home.upper);
    plot.zoomX(3); // a third click is none of two
    click(at, false);
    EXPECT_NE(plot.xAxis->range().upper, home.upper);
}

TEST_F(SpectrumTest, TheReadOutOfADragLeavesThePeakFree)
{
    int peak = ExponentHistogram::kMinExponent;
    for (int e = peak; e <= ExponentHistogram::kMaxExponent; ++e)
        peak = plot.barTop(e) < plot.barTop(peak) ? e : peak;
    for (const QSize size : {QSize(800, 400), QSize(420, 240)}) {
        showAt(plot, size.width(), size.height());
        const QPointF from = onEdge(peak + 0.5); // with the hand on the peak
        sendMouse(plot, QEvent::MouseButtonPress, from, Qt::LeftButton);
        for (const double octaves : {-4.0, 3.0, 7.0}) {
            sendMouse(plot, QEvent::MouseMove, from + QPointF(octaves * octave(), 0), Qt::LeftButton);
            ASSERT_FALSE(plot.readoutLines().isEmpty());
            EXPECT_FALSE(plot.readoutBox().contains(QPointF(plot.pixelOf(peak + 0.5), plot.barTop(peak))));
        }
        pressKey(plot, Qt::Key_Escape);
        sendMouse(plot, QEvent::MouseButtonRelease, from, Qt::LeftButton);
    }
}

TEST_F(SpectrumTest, AfterASkipTheBarsStillStandOutsideTheWindowTheyOverflowed)
{
    engine.spikeAt(6, "h1.mlp.fc", 1 << 18);
    engine.run(1);
    collect(run, engine);
    plot.refresh();
    ASSERT_EQ(run.steps.back().outcome, StepOutcome::SkippedOverflow);
    EXPECT_EQ(plot.shownScale(), 65536.0); // of the step that overflowed, not its halved successor
    EXPECT_GT(run.latest->scale, run.live.scaler.scale);
}

TEST_F(SpectrumTest, WindowOfBf16WhenTheSelectionIs)
{
    const int module = run.moduleId("h0.mlp.fc");
    ASSERT_GE(module, 0);
    run.selection.modules = {module};
    engine.post(SetSetting{"precision.h0.mlp.fc", "bf16"});
    engine.run(1);
    collect(run, engine);
    plot.refresh();
    EXPECT_EQ(run.windowFormat(), FormatId::Bf16);
    EXPECT_DOUBLE_EQ(plot.window().subnormal, std::log2(floatFormat(FormatId::Bf16).smallestNormal) - 16.0);
    EXPECT_TRUE(plot.title().contains(QStringLiteral("h0.mlp.fc")));
}

TEST_F(SpectrumTest, CsvHasTheVisibleBins)
{
    const TensorStatistics statistics = all();
    const QByteArray csv = plot.visibleCsv();
    EXPECT_TRUE(csv.startsWith("bin,lower_edge,upper_edge,count,format,in_format\r\n"));
    EXPECT_TRUE(csv.contains("\r\n-18,3.814697265625e-06,7.62939453125e-06," +
                             QByteArray::number(qulonglong(statistics.histogram.at(-18))) + ",fp16,"));
    EXPECT_TRUE(csv.contains("zero,0,0," + QByteArray::number(qulonglong(statistics.classes[ValueClass::Zero]))));
}

TEST_F(SpectrumTest, NoPlottablesThatCostAFrame)
{
    EXPECT_EQ(plot.plottableCount(), 0); // in particular no QCPBars
    EXPECT_EQ(plot.itemCount(), 0);
}

TEST(SpectrumEmpty, SaysWhatItWaitsFor)
{
    SpectrumPlot plot;
    showAt(plot, 500, 260);
    EXPECT_EQ(plot.accessibleDescription(), QStringLiteral("Waiting for the first step…"));
    EXPECT_EQ(plot.headline(), QString());
    hover(plot, {250, 100});
    EXPECT_TRUE(plot.readoutLines().isEmpty());
    pressKey(plot, Qt::Key_Left); // nothing to move
    RunModel run;
    FakeEngine engine;
    engine.run(1);
    collect(run, engine);
    run.selection.tap = Tap::Activation;
    plot.setRun(&run);
    EXPECT_TRUE(plot.accessibleDescription().startsWith(QStringLiteral("Activations are not measured.")));
}

} // namespace

} // namespace halfscope
