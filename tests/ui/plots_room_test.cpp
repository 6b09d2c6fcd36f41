// SPDX-License-Identifier: GPL-3.0-or-later
// Marks and legends in whatever room there is: labels never print over each other, numbers are round.
#include <cmath>
#include <gtest/gtest.h>

#include "tests/ui/plots_support.h"
#include "ui/number_text.h"
#include "ui/plots/axis_tickers.h"
#include "ui/plots/legend.h"
#include "ui/plots/loss_plot.h"
#include "ui/plots/scale_plot.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/waterfall_plot.h"

namespace halfscope {

namespace {

using namespace test;

struct Marks {
    QVector<double> at;
    QVector<QString> labels;
};

Marks marksOf(QCPAxisTicker& ticker, const QCPRange& range)
{
    Marks marks;
    ticker.generate(range, QLocale::c(), QLatin1Char('g'), 6, marks.at, nullptr, &marks.labels);
    for (qsizetype i = marks.at.size(); i-- > 0;) { // one beyond each end is made and not drawn
        if (!range.contains(marks.at[i])) {
            marks.at.removeAt(i);
            marks.labels.removeAt(i);
        }
    }
    return marks;
}

TEST(Tickers, NeverCloserThanTheRoomAllows)
{
    ExponentTicker exponents;
    DecadeTicker decades;
    LogTicker logarithms;
    StepTicker steps;
    NumberTicker numbers;
    for (RoomTicker* ticker : {static_cast<RoomTicker*>(&exponents), static_cast<RoomTicker*>(&decades),
                               static_cast<RoomTicker*>(&logarithms), static_cast<RoomTicker*>(&steps),
                               static_cast<RoomTicker*>(&numbers)}) {
        for (const double most : {1.0, 2.4, 3.0, 5.5, 9.0}) {
            ticker->setRoom(most);
            for (double low = -3; low < 3; low += 0.37) {
                for (double span = 0.02; span < 400; span *= 1.7) {
                    const QCPRange range(low, low + span);
                    const Marks marks = marksOf(*ticker, range);
                    for (qsizetype i = 1; i < marks.at.size(); ++i)
                        ASSERT_GE(marks.at[i] - marks.at[i - 1], span / most * (1 - 1e-6))
                            << typeid(*ticker).name() << " " << most << " " << low << " " << span;
                }
            }
        }
    }
}

TEST(Tickers, LogarithmicLossHasRoundNumbers)
{
    LogTicker ticker;
    ticker.setRoom(4);
    const auto labels = [&](double low, double high) {
        return QStringList(marksOf(ticker, QCPRange(std::log10(low), std::log10(high))).labels).join(QLatin1Char(' '));
    };
    EXPECT_EQ(labels(1.5, 4.7), QStringLiteral("2 3 4"));
    EXPECT_EQ(labels(2.31, 2.88), QStringLiteral("2.4 2.6 2.8"));
    EXPECT_EQ(labels(0.4, 30), QStringLiteral("1 3 10 30"));
    EXPECT_EQ(labels(0.02, 900), QStringLiteral("1 100"));
    // Whatever the range, what a label says is where its mark stands.
    for (double low = -4; low < 4; low += 0.31) {
        for (double span = 0.003; span < 8; span *= 1.6) {
            const Marks marks = marksOf(ticker, QCPRange(low, low + span));
            for (qsizetype i = 0; i < marks.at.size(); ++i) {
                bool plain = false; // and not a power of ten
                const double said = marks.labels[i].toDouble(&plain);
                if (plain) {
                    EXPECT_NEAR(said, std::pow(10.0, marks.at[i]), 1e-5 * std::pow(10.0, marks.at[i]));
                }
            }
        }
    }
}

class RoomTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        engine.run(120);
        collect(run, engine);
        for (Plot* plot : plots())
            plot->setRun(&run);
    }
    QList<Plot*> plots() { return {&spectrum, &waterfall, &scale, &loss}; }

    RunModel run;
    FakeEngine engine;
    SpectrumPlot spectrum;
    WaterfallPlot waterfall;
    ScalePlot scale;
    LossPlot loss;
};

TEST_F(RoomTest, LabelsDoNotPrintOverEachOtherAtAnySize)
{
    for (const QSize size : {QSize(240, 84), QSize(300, 110), QSize(590, 98), QSize(900, 300)}) {
        for (Plot* plot : plots()) {
            showAt(*plot, size.width(), size.height());
            const QFontMetricsF metrics(plot->yAxis->tickLabelFont());
            const QRectF inner = plot->axisRect()->rect();
            const Marks y = marksOf(*plot->yAxis->ticker(), plot->yAxis->range());
            for (qsizetype i = 1; i < y.at.size(); ++i)
                EXPECT_GE(plot->yAxis->coordToPixel(y.at[i - 1]) - plot->yAxis->coordToPixel(y.at[i]),
                          std::min(1.2 * metrics.height(), inner.height()))
                    << plot->title().toStdString() << size.height();
            const Marks x = marksOf(*plot->xAxis->ticker(), plot->xAxis->range());
            for (qsizetype i = 1; i < x.at.size(); ++i)
                EXPECT_GE(plot->xAxis->coordToPixel(x.at[i]) - plot->xAxis->coordToPixel(x.at[i - 1]),
                          0.5 * (metrics.horizontalAdvance(x.labels[i]) + metrics.horizontalAdvance(x.labels[i - 1])) +
                              3)
                    << plot->title().toStdString() << size.width();
        }
    }
}

TEST_F(RoomTest, LongStepNumbersGetFewerMarks)
{
    showAt(loss, 500, 160);
    loss.link()->setRange(0, 100);
    settleEvents();
    const double few = static_cast<RoomTicker*>(loss.xAxis->ticker().get())->room();
    engine.run(12000);
    collect(run, engine);
    loss.refresh();
    loss.link()->setRange(11000, 12000);
    settleEvents();
    EXPECT_LT(static_cast<RoomTicker*>(loss.xAxis->ticker().get())->room(), few);
}

TEST_F(RoomTest, TheScaledAxisSaysSo)
{
    showAt(spectrum, 700, 300);
    EXPECT_EQ(spectrum.xAxis->label(), QString());
    spectrum.setScaledAxis(true);
    EXPECT_TRUE(spectrum.xAxis->label().contains(shortScaleText(spectrum.shownScale())))
        << spectrum.xAxis->label().toStdString();
    engine.post(SetScale{1024.0});
    engine.run(1);
    collect(run, engine);
    spectrum.refresh();
    EXPECT_TRUE(spectrum.xAxis->label().endsWith(QStringLiteral("2¹⁰")));
}

TEST(Legend, ShortWordsBeforeEntriesGo)
{
    QImage image(600, 40, QImage::Format_RGB32);
    QCPPainter painter(&image);
    const QFont font;
    std::vector<QString> painted;
    const auto entry = [&](const char* words, const char* shorter) {
        return LegendEntry{
            QString::fromLatin1(words), QString::fromLatin1(shorter),
            [&painted, words](QCPPainter&, const QPointF&) { painted.push_back(QString::fromLatin1(words)); }};
    };
    const std::vector<LegendEntry> entries{entry("a long explanation", "long"), entry("another one", "other")};
    const double full = legendWidth(font, entries, false);
    const double tight = legendWidth(font, entries, true);
    ASSERT_LT(tight, full);
    EXPECT_NEAR(paintLegend(painter, font, Qt::black, 0, full, 0, entries), full, 1e-9);
    EXPECT_NEAR(paintLegend(painter, font, Qt::black, 0, full - 20, 0, entries), tight, 1e-9);
    EXPECT_EQ(painted.size(), 4U); // both, both times
    EXPECT_LT(paintLegend(painter, font, Qt::black, 0, tight - 40, 0, entries), tight);
    EXPECT_EQ(painted.size(), 5U);
}

} // namespace

} // namespace halfscope
