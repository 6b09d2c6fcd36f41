// SPDX-License-Identifier: GPL-3.0-or-later
// Which window is drawn over which values: activations are not scaled, FP32 does not overflow where FP16 ends, and what
// is in BF16 is judged by BF16.
#include <cmath>
#include <gtest/gtest.h>

#include "tests/ui/plots_support.h"
#include "ui/number_text.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/waterfall_plot.h"

namespace halfscope {

namespace {

using namespace test;

class FormatsTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        ThemeManager::instance().setChoice(ThemeChoice::Dark);
        for (Plot* plot : {static_cast<Plot*>(&plot_), static_cast<Plot*>(&waterfall)}) {
            plot->setRun(&run);
            showAt(*plot, 800, 400);
        }
    }
    void train(std::int64_t steps)
    {
        engine.run(steps);
        collect(run, engine);
        plot_.refresh();
        waterfall.refresh();
        settleEvents();
    }
    void set(const char* key, const char* value) { engine.post(SetSetting{key, value}); }
    QRect inner() { return plot_.axisRect()->rect(); }
    QPointF at(double exponent) { return {plot_.pixelOf(exponent), inner().center().y() + 0.0}; }
    QColor colorAt(int exponent, double y)
    {
        const QImage image = plot_.grab().toImage();
        const double ratio = image.devicePixelRatio();
        return image.pixelColor(QPoint(int(plot_.pixelOf(exponent + 0.4) * ratio), int(y * ratio)));
    }

    RunModel run;
    FakeEngine engine;
    SpectrumPlot plot_;
    WaterfallPlot waterfall;
};

TEST_F(FormatsTest, ActivationsAreJudgedAtScaleOne)
{
    set("activations", "on");
    run.selection.tap = Tap::Activation;
    train(3);
    ASSERT_EQ(run.live.scaler.scale, 65536.0);
    EXPECT_EQ(plot_.shownScale(), 1.0);
    EXPECT_EQ(plot_.window().flush, -25.0);
    EXPECT_DOUBLE_EQ(plot_.window().overflow, std::log2(65520.0));
    EXPECT_EQ(plot_.title(), QStringLiteral("Activation spectrum · all layers"));
    // The counts are those that were measured, not estimates, and none overflows.
    const TensorStatistics all = *run.selected(*run.latest);
    EXPECT_TRUE(plot_.headline().contains(
        QStringLiteral("flushed to 0: %1 = ").arg(countText(all.classes[ValueClass::Flushed]))));
    EXPECT_TRUE(plot_.headline().contains(QStringLiteral("overflowing or not finite: 0 = ")))
        << plot_.headline().toStdString();
    EXPECT_FALSE(plot_.headline().contains(QStringLiteral("≈")));
    EXPECT_FALSE(plot_.headline().contains(QStringLiteral("scale 2")));
    const double headroom = headroomOctaves(*run.selected(*run.latest, FormatId::Fp16), plot_.window());
    EXPECT_TRUE(plot_.headline().contains(octavesText(headroom)));
    // Another scale moves nothing.
    engine.post(SetScale{4.0});
    train(1);
    EXPECT_EQ(plot_.window().flush, -25.0);
    plot_.setScaledAxis(true);
    EXPECT_NEAR(plot_.exponentAt(plot_.pixelOf(-3)), -3, 1e-9);
    EXPECT_LT(plot_.xAxis->range().lower, -25.0);
    EXPECT_GT(plot_.xAxis->range().upper, 16.0);
}

TEST_F(FormatsTest, ActivationsCannotBeDragged)
{
    set("activations", "on");
    run.selection.tap = Tap::Activation;
    train(3);
    const auto dragged = record(plot_, &SpectrumPlot::scaleDragged);
    const auto dropped = record(plot_, &SpectrumPlot::scaleDropped);
    drag(plot_, at(plot_.window().overflow), at(plot_.window().overflow - 3));
    drag(plot_, at(-5), at(-8));
    pressKey(plot_, Qt::Key_Left);
    pressKey(plot_, Qt::Key_Right, Qt::ShiftModifier);
    EXPECT_EQ(dragged->size() + dropped->size(), 0U);
    EXPECT_EQ(plot_.shownScale(), 1.0);
}

TEST_F(FormatsTest, TheWaterfallsLinesStandStillOverActivations)
{
    set("activations", "on");
    run.selection.tap = Tap::Activation;
    train(70); // the scale grows three times
    ASSERT_NE(run.steps[0].scale, run.steps.back().scale);
    waterfall.link()->setRange(0, 100);
    settleEvents();
    const QImage image = waterfall.grab().toImage();
    const QRectF area = waterfall.axisRect()->rect();
    const QCPRange y = waterfall.yAxis->range();
    const double pixel = area.top() + (y.upper - std::log2(65520.0)) / y.size() * area.height();
    for (const int step : {2, 30, 65}) {
        bool found = false;
        for (int dy = -2; dy <= 2; ++dy)
            found = found || image.pixelColor(int(waterfall.pixelOfStep(step)), int(std::round(pixel)) + dy) ==
                                 darkTheme().overflow;
        EXPECT_TRUE(found) << step;
    }
}

TEST_F(FormatsTest, WhatFp32HoldsIsGreyAndDoesNotOverflow)
{
    train(1);
    // An embedding in FP32 with values where FP16 would overflow.
    auto snapshot = std::make_shared<Snapshot>(*run.latest);
    const int module = run.moduleId("tok_emb");
    for (TapStatistics& tap : snapshot->taps) {
        if (tap.tap == Tap::WeightGrad && tap.module == module) {
            ASSERT_EQ(tap.format, FormatId::Fp32);
            tap.statistics.histogram.at(5) += 1000;
            tap.statistics.classes[ValueClass::Normal] += 1000;
            tap.statistics.absMax = 0x1.8p5F;
        }
    }
    run.latest = snapshot;
    plot_.refresh();
    settleEvents();
    ASSERT_LT(plot_.window().overflow, 5);
    const QColor beyond = colorAt(5, inner().bottom() - 2);
    EXPECT_LT(beyond.hslSaturationF(), 0.25F) << beyond.name().toStdString();
    EXPECT_EQ(plot_.ownBarTop(5), QRectF(inner()).bottom());
    EXPECT_LT(plot_.barTop(5), inner().bottom() - 20);
    EXPECT_TRUE(plot_.headline().contains(QStringLiteral("overflowing or not finite: 0 = ")));
    hover(plot_, at(5.5));
    EXPECT_TRUE(plot_.readoutLines().contains(
        QStringLiteral("0 in FP16, 1 000 in FP32").replace(QStringLiteral("1 000"), countText(1000))));
    EXPECT_EQ(plot_.readoutLines().back(), QStringLiteral("would be in FP16: overflows"));
    // Where both are, the own part stands in its colour from the base and the rest is seen above it.
    const int both = -14;
    ASSERT_LT(plot_.barTop(both), plot_.ownBarTop(both));
    EXPECT_EQ(colorAt(both, inner().bottom() - 2), darkTheme().normal);
    EXPECT_TRUE(plot_.visibleCsv().contains("\r\n5,32,64,1000,fp16,0\r\n"));
}

TEST_F(FormatsTest, TheLegendsCountsAddUpToAll)
{
    engine.spikeAt(4, "h1.mlp.fc", 1 << 18); // some overflow
    set("precision.h0.mlp.fc", "bf16");
    for (int step = 1; step <= 4; ++step) {
        train(1);
        SpectrumData data;
        data.take(&run, std::nullopt);
        for (const double scale : {65536.0, 1024.0, 1e9}) {
            const SpectrumNumbers n = data.numbersAt(scale);
            const double sum = n.zero + n.flushed + n.subnormal + n.normal + n.overflow + n.other;
            EXPECT_NEAR(sum, static_cast<double>(data.all().count()), 1e-6 * sum) << scale;
            EXPECT_EQ(n.exact, scale == static_cast<double>(run.latest->scale));
            if (n.exact) {
                EXPECT_EQ(sum, static_cast<double>(data.all().count()));
            }
            EXPECT_GT(n.zero, 0);
            EXPECT_GT(n.other, 0);
        }
        EXPECT_EQ(data.otherName(), QStringLiteral("BF16 and FP32"));
    }
}

TEST_F(FormatsTest, TheNarrowestFormatHasTheWindow)
{
    set("precision", "mixed-bf16");
    train(2);
    EXPECT_EQ(run.windowFormat(), FormatId::Bf16); // of all layers, though norms are in FP32
    EXPECT_FALSE(run.windowIsComparison());
    EXPECT_DOUBLE_EQ(plot_.window().subnormal, std::log2(floatFormat(FormatId::Bf16).smallestNormal) - 16.0);
    set("precision.h0.mlp.fc", "fp16");
    train(1);
    EXPECT_EQ(run.windowFormat(), FormatId::Fp16); // one module is enough
    // A step of the past is judged by what it was in.
    plot_.freezeStep(2);
    EXPECT_DOUBLE_EQ(plot_.window().subnormal, std::log2(floatFormat(FormatId::Bf16).smallestNormal) - 16.0);
}

TEST_F(FormatsTest, InFp32TheWindowIsForComparison)
{
    set("precision", "fp32");
    train(2);
    EXPECT_TRUE(run.windowIsComparison());
    EXPECT_EQ(run.windowFormat(), FormatId::Fp16);
    EXPECT_EQ(plot_.window().flush, -25.0 - 16.0);
    EXPECT_TRUE(plot_.headline().contains(QStringLiteral("headroom if it were FP16")));
    EXPECT_TRUE(plot_.headline().contains(QStringLiteral("subnormal: 0 = ")));
    for (const int exponent : {-18, -14, -10}) {
        const QColor color = colorAt(exponent, inner().bottom() - 2);
        EXPECT_LT(color.hslSaturationF(), 0.25F) << exponent << color.name().toStdString();
        EXPECT_EQ(plot_.ownBarTop(exponent), QRectF(inner()).bottom());
    }
    hover(plot_, at(-17.5));
    const QString count = countText(run.selected(*run.latest)->histogram.at(-18));
    EXPECT_EQ(plot_.readoutLines()[1], count + QStringLiteral(" in FP32"));
}

} // namespace

} // namespace halfscope
