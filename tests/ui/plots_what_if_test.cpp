// SPDX-License-Identifier: GPL-3.0-or-later
// The what-if curve: what it says, where it says it, and that a click sets the scale.
#include <cmath>
#include <gtest/gtest.h>

#include "tests/ui/plots_support.h"
#include "ui/number_text.h"
#include "ui/plots/plot_export.h"
#include "ui/plots/what_if_plot.h"

namespace halfscope {

namespace {

using namespace test;

class WhatIfPlotTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        ThemeManager::instance().setChoice(ThemeChoice::Dark);
        plot.setRun(&run);
        showAt(plot, 700, 300);
    }
    void train(std::int64_t steps)
    {
        engine.run(steps);
        collect(run, engine);
        plot.refresh();
        settleEvents();
    }
    void set(const char* key, const char* value) { engine.post(SetSetting{key, value}); }
    QPointF at(double log2Scale)
    {
        return {plot.pixelOf(std::exp2(log2Scale)), plot.axisRect()->rect().center().y() + 0.0};
    }
    void click(const QPointF& where, Qt::KeyboardModifiers modifiers = {})
    {
        sendMouse(plot, QEvent::MouseButtonPress, where, Qt::LeftButton, modifiers);
        sendMouse(plot, QEvent::MouseButtonRelease, where, Qt::LeftButton, modifiers);
    }
    std::vector<QByteArray> rows()
    {
        return [](const QByteArray& csv) {
            std::vector<QByteArray> all;
            for (const QByteArray& line : csv.split('\n'))
                if (!line.trimmed().isEmpty())
                    all.push_back(line.trimmed());
            return all;
        }(plot.visibleCsv());
    }

    RunModel run;
    FakeEngine engine;
    WhatIfPlot plot;
};

TEST_F(WhatIfPlotTest, SaysSoBeforeAnythingIsMeasured)
{
    EXPECT_EQ(rows().size(), 1U);
    EXPECT_FALSE(plot.range());
    train(3);
    EXPECT_GT(rows().size(), 100U);
    EXPECT_TRUE(plot.title().contains(QStringLiteral("all layers")));
}

TEST_F(WhatIfPlotTest, AtTheScaleOfTheStepItIsWhatWasMeasured)
{
    train(3);
    const TensorStatistics all = *run.selected(*run.latest);
    const ClassEstimate now = plot.classesAt(65536.0);
    EXPECT_TRUE(now.flushed.exact());
    EXPECT_EQ(now.flushed.value, static_cast<double>(all.classes[ValueClass::Flushed]));
    EXPECT_EQ(now.subnormal.value, static_cast<double>(all.classes[ValueClass::Subnormal]));
    EXPECT_EQ(now.overflow.value, static_cast<double>(all.classes[ValueClass::Saturating]));
    EXPECT_TRUE(plot.headline().contains(
        QStringLiteral("flushed %1,").arg(shareText(now.flushed.value, static_cast<double>(all.count())))))
        << plot.headline().toStdString();
}

// What the curve promises for a scale is what is counted once the run has it: the made-up gradients of a step depend on
// its number and not on the scale.
TEST_F(WhatIfPlotTest, WhatItPromisesComesTrue)
{
    train(3);
    FakeEngine other;
    RunModel again;
    for (const double scale : {16.0, 1024.0, 0x1p20, 0x1p28}) {
        other = FakeEngine();
        again = RunModel();
        other.run(2);
        other.post(SetScale{scale});
        other.run(1);
        collect(again, other);
        ASSERT_EQ(static_cast<double>(again.latest->scale), scale);
        const TensorStatistics counted = *again.selected(*again.latest);
        const ClassEstimate promised = plot.classesAt(scale);
        EXPECT_EQ(promised.flushed.value, static_cast<double>(counted.classes[ValueClass::Flushed])) << scale;
        EXPECT_LE(promised.overflow.low, static_cast<double>(counted.classes[ValueClass::Saturating])) << scale;
        EXPECT_GE(promised.overflow.high, static_cast<double>(counted.classes[ValueClass::Saturating])) << scale;
    }
}

TEST_F(WhatIfPlotTest, FollowsSelectionAndTap)
{
    train(3);
    const double all = plot.classesAt(1.0).flushed.value;
    const int fc = run.moduleId("h0.mlp.fc");
    run.selection.modules = {fc};
    plot.refresh();
    EXPECT_TRUE(plot.title().contains(QStringLiteral("h0.mlp.fc")));
    const TapStatistics* tap = run.tapOf(*run.latest, fc, Tap::WeightGrad);
    ASSERT_NE(tap, nullptr);
    const ClassEstimate one = estimateClasses(tap->statistics, floatFormat(FormatId::Fp16), 1.0);
    EXPECT_EQ(plot.classesAt(1.0).flushed.value, one.flushed.value);
    EXPECT_LT(one.flushed.value, all);
    // Two modules: the exact sum.
    const int proj = run.moduleId("h1.mlp.proj");
    run.selection.modules = {fc, proj};
    plot.refresh();
    const TapStatistics* second = run.tapOf(*run.latest, proj, Tap::WeightGrad);
    TensorStatistics sum = tap->statistics;
    sum.merge(second->statistics);
    EXPECT_EQ(plot.classesAt(1.0).flushed.value, estimateClasses(sum, floatFormat(FormatId::Fp16), 1.0).flushed.value);
    run.selection = {{}, Tap::ActivationGrad, {}};
    plot.refresh();
    EXPECT_TRUE(plot.title().contains(QStringLiteral("activation gradients")));
}

TEST_F(WhatIfPlotTest, BandAndSuggestionAreThoseOfTheSelection)
{
    train(3);
    ASSERT_TRUE(plot.range());
    const TensorStatistics fp16 = *run.selected(*run.latest, FormatId::Fp16);
    EXPECT_DOUBLE_EQ(plot.range()->band.high, std::log2(65520.0) - std::log2(static_cast<double>(fp16.absMax)));
    EXPECT_DOUBLE_EQ(plot.range()->band.trueMinimum, -25.0 - std::log2(static_cast<double>(fp16.absMin)));
    EXPECT_EQ(plot.range()->suggested,
              std::exp2(std::floor(std::log2(65504.0 / 2 / static_cast<double>(fp16.absMax)))));
    // At the suggestion nothing overflows, and an octave above it nothing either; two octaves above something does.
    EXPECT_EQ(plot.classesAt(plot.range()->suggested * 2).overflow.high, 0);
    EXPECT_GT(plot.classesAt(plot.range()->suggested * 8).overflow.low, 0);
}

TEST_F(WhatIfPlotTest, AClickSetsTheNearestPowerOfTwo)
{
    train(3);
    const auto dragged = record(plot, &WhatIfPlot::scaleDragged);
    const auto dropped = record(plot, &WhatIfPlot::scaleDropped);
    click(at(12.3));
    EXPECT_EQ(*dragged, std::vector<double>{4096.0});
    EXPECT_EQ(*dropped, std::vector<double>{4096.0});
    EXPECT_EQ(plot.shownScale(), 4096.0); // though the run does not have it yet
    engine.post(SetScale{4096.0});
    train(1);
    EXPECT_EQ(plot.shownScale(), 4096.0);
    engine.post(SetScale{64.0});
    train(1);
    EXPECT_EQ(plot.shownScale(), 64.0); // and what was pending is no more
    click(at(12.3), Qt::ShiftModifier);
    EXPECT_EQ(dragged->back(), 4096.0 * 1.25);
}

TEST_F(WhatIfPlotTest, ADragMovesTheScaleAndEscapeTakesItBack)
{
    train(3);
    const auto dragged = record(plot, &WhatIfPlot::scaleDragged);
    const auto dropped = record(plot, &WhatIfPlot::scaleDropped);
    drag(plot, at(16), at(10));
    EXPECT_GT(dragged->size(), 1U);
    EXPECT_EQ(dragged->back(), 1024.0);
    EXPECT_EQ(*dropped, std::vector<double>{1024.0});
    plot.clearPendingScale();
    EXPECT_EQ(plot.shownScale(), 65536.0);
    sendMouse(plot, QEvent::MouseButtonPress, at(16), Qt::LeftButton);
    sendMouse(plot, QEvent::MouseMove, at(20), Qt::LeftButton);
    EXPECT_EQ(dragged->back(), 0x1p20);
    pressKey(plot, Qt::Key_Escape);
    EXPECT_EQ(dragged->back(), 65536.0);
    sendMouse(plot, QEvent::MouseButtonRelease, at(20), Qt::LeftButton);
    EXPECT_EQ(dragged->back(), 65536.0);
}

TEST_F(WhatIfPlotTest, Keys)
{
    train(3);
    const auto dragged = record(plot, &WhatIfPlot::scaleDragged);
    pressKey(plot, Qt::Key_Right);
    EXPECT_EQ(dragged->back(), 131072.0);
    pressKey(plot, Qt::Key_Left);
    pressKey(plot, Qt::Key_Left);
    EXPECT_EQ(dragged->back(), 32768.0);
    pressKey(plot, Qt::Key_Right, Qt::ShiftModifier);
    EXPECT_EQ(dragged->back(), 32768.0 * 1.125);
    const QCPRange range = plot.xAxis->range();
    pressKey(plot, Qt::Key_Right, Qt::ControlModifier);
    EXPECT_GT(plot.xAxis->range().lower, range.lower);
    pressKey(plot, Qt::Key_Plus);
    EXPECT_LT(plot.xAxis->range().size(), range.size());
    pressKey(plot, Qt::Key_Home);
    EXPECT_EQ(plot.xAxis->range().lower, range.lower);
}

TEST_F(WhatIfPlotTest, ScaleStaysWithinTheScalersBounds)
{
    RunConfig config = FakeEngine::smallConfig();
    config.scaler.maxScale = 131072;
    engine = FakeEngine(config);
    train(2);
    const auto dragged = record(plot, &WhatIfPlot::scaleDragged);
    click(at(24));
    EXPECT_EQ(dragged->back(), 131072.0);
}

TEST_F(WhatIfPlotTest, WithoutAScalerThereIsNothingToDrag)
{
    set("scaler", "off");
    train(3);
    const auto dragged = record(plot, &WhatIfPlot::scaleDragged);
    click(at(5));
    pressKey(plot, Qt::Key_Right);
    EXPECT_TRUE(dragged->empty());
    EXPECT_GT(rows().size(), 100U); // what a scale would do is seen all the same
}

TEST_F(WhatIfPlotTest, ActivationsAreOfNoScale)
{
    set("activations", "on");
    run.selection.tap = Tap::Activation;
    train(3);
    EXPECT_EQ(rows().size(), 1U);
    const auto dragged = record(plot, &WhatIfPlot::scaleDragged);
    click(plot.axisRect()->rect().center());
    EXPECT_TRUE(dragged->empty());
    hover(plot, plot.axisRect()->rect().center());
    EXPECT_TRUE(plot.readoutLines().isEmpty());
}

TEST_F(WhatIfPlotTest, InFp32ItIsWhatFp16WouldDo)
{
    set("precision", "fp32");
    train(3);
    EXPECT_TRUE(plot.headline().contains(QStringLiteral("if it were FP16"))) << plot.headline().toStdString();
    const TensorStatistics all = *run.selected(*run.latest);
    EXPECT_EQ(plot.classesAt(1.0).flushed.value, estimateClasses(all, floatFormat(FormatId::Fp16), 1.0).flushed.value);
    EXPECT_GT(plot.classesAt(1.0).flushed.value, 0);
}

TEST_F(WhatIfPlotTest, Fp8TensorsHaveScalesOfTheirOwn)
{
    train(3);
    auto fp8 = std::make_shared<Snapshot>(*run.latest);
    float own = 0x1p20F;
    for (TapStatistics& tap : fp8->taps) {
        tap.format = FormatId::Fp8E5M2;
        tap.ownScale = own *= 2;
    }
    run.latest = fp8;
    plot.refresh();
    EXPECT_TRUE(plot.headline().isEmpty()); // no one scale moves them all
    EXPECT_EQ(rows().size(), 1U);
    run.selection.modules = {1};
    plot.refresh();
    EXPECT_FALSE(plot.headline().isEmpty());
    ASSERT_GT(rows().size(), 10U);
    hover(plot, at(60)); // where its values overflow they are clamped, and nothing is skipped
    EXPECT_TRUE(plot.readoutLines().join(QLatin1Char(' ')).contains(QStringLiteral("clamped")));
    EXPECT_FALSE(plot.readoutLines().join(QLatin1Char(' ')).contains(QStringLiteral("skipped")));
}

TEST_F(WhatIfPlotTest, BinsThatAreCutSayBetweenWhatTheyLie)
{
    train(3);
    hover(plot, at(-4));
    ASSERT_GE(plot.readoutLines().size(), 4);
    EXPECT_EQ(plot.readoutLines()[0], QStringLiteral("Scale ") + scaleText(0x1p-4));
    const Bounded flushed = plot.classesAt(0x1p-4).flushed;
    ASSERT_FALSE(flushed.exact());
    const auto total = static_cast<double>(run.selected(*run.latest)->count());
    EXPECT_EQ(plot.readoutLines()[1],
              QStringLiteral("flushed ≈ %1 (%2 to %3)")
                  .arg(shareText(flushed.value, total), shareText(flushed.low, total), shareText(flushed.high, total)));
    EXPECT_EQ(plot.readoutLines()[3], QStringLiteral("overflowing %1").arg(shareText(0, 1)));
}

TEST_F(WhatIfPlotTest, ASkippedStepIsShownWithWhatItOverflowedBy)
{
    engine.spikeAt(3, "h0.mlp.fc", 65536.0);
    train(3);
    ASSERT_EQ(run.latest->outcome, StepOutcome::SkippedOverflow);
    EXPECT_GT(plot.classesAt(65536.0).overflow.value, 0);
    EXPECT_EQ(plot.shownScale(), 65536.0); // the one that overflowed, not its successor
    EXPECT_LT(plot.range()->suggested, 65536.0);
    // Nonfinite values are in no bin; they are told.
    auto snapshot = std::make_shared<Snapshot>(*run.latest);
    snapshot->taps.front().tap = Tap::WeightGrad;
    snapshot->taps.front().statistics.classes[ValueClass::NaN] = 7;
    run.latest = snapshot;
    plot.refresh();
    EXPECT_TRUE(plot.headline().endsWith(QStringLiteral("; 7 inf or NaN before the cast")));
}

TEST_F(WhatIfPlotTest, AStepOfThePast)
{
    train(30); // the scale has grown
    ASSERT_EQ(run.latest->scale, 131072.0F);
    plot.showStep(5);
    EXPECT_EQ(plot.shownScale(), 65536.0);
    EXPECT_TRUE(plot.headline().startsWith(QStringLiteral("step 5 "))) << plot.headline().toStdString();
    const auto dragged = record(plot, &WhatIfPlot::scaleDragged);
    click(at(16)); // the run's is another one by now
    EXPECT_EQ(*dragged, std::vector<double>{65536.0});
    EXPECT_FALSE(plot.headline().startsWith(QStringLiteral("step 5 ")));
}

TEST_F(WhatIfPlotTest, CsvAndPictures)
{
    train(3);
    const std::vector<QByteArray> all = rows();
    EXPECT_TRUE(all[0].startsWith("scale,total,flushed,flushed_low,flushed_high,"));
    double before = 0;
    bool found = false;
    for (std::size_t i = 1; i < all.size(); ++i) {
        const QList<QByteArray> cells = all[i].split(',');
        ASSERT_EQ(cells.size(), 11);
        EXPECT_GT(cells[0].toDouble(), before);
        before = cells[0].toDouble();
        if (before == 4096.0) {
            found = true;
            EXPECT_EQ(cells[2].toDouble(), plot.classesAt(4096.0).flushed.value);
        }
    }
    EXPECT_TRUE(found);
    EXPECT_FALSE(PlotExport::image(plot).isNull());
    EXPECT_TRUE(PlotExport::svg(plot).contains("loss scale, power of two"));
    EXPECT_TRUE(PlotExport::pdf(plot).startsWith("%PDF"));
}

// Each curve is where its numbers are, in its colour.
TEST_F(WhatIfPlotTest, TheCurveIsDrawnWhereItsNumbersAre)
{
    train(3);
    const double share = plot.classesAt(0x1p-8).flushed.value / static_cast<double>(run.selected(*run.latest)->count());
    ASSERT_GT(share, 0.01);
    const QImage image = plot.grab().toImage();
    const int x = static_cast<int>(std::lround(plot.pixelOf(0x1p-8)));
    const int y = static_cast<int>(std::lround(plot.pixelOfShare(share)));
    int nearest = 1000;
    for (int dy = -3; dy <= 3; ++dy) {
        const QColor c = image.pixelColor(x, y + dy);
        const QColor wanted = darkTheme().flushed;
        nearest = std::min(nearest, std::abs(c.red() - wanted.red()) + std::abs(c.green() - wanted.green()) +
                                        std::abs(c.blue() - wanted.blue()));
    }
    EXPECT_LT(nearest, 60);
}

} // namespace

} // namespace halfscope
