// SPDX-License-Identifier: GPL-3.0-or-later
// Comparing formats in the window: real runs of a tiny model, beside a scripted run.
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <fstream>

#include "engine/data/text_dataset.h"
#include "engine/io/comparison_json.h"
#include "tests/ui/plots_support.h"
#include "tests/ui/window_fixture.h"
#include "ui/compare/compare_dialog.h"
#include "ui/compare/compare_plot.h"
#include "ui/compare/compare_table.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/series_style.h"

namespace halfscope::test {

namespace {

class CompareTest : public WindowTest {
protected:
    RunConfig tiny()
    {
        RunConfig config = FakeEngine::smallConfig();
        const QString text = folder.filePath(QStringLiteral("text.txt"));
        std::ofstream(text.toStdString(), std::ios::binary) << generatedText(1).text;
        config.text = text.toStdString();
        config.seed = 7;
        config.threads = 1;
        config.model.width = 16;
        config.model.depth = 1;
        config.model.heads = 2;
        config.model.context = 8;
        config.model.batch = 2;
        return config;
    }
    CompareDialog* openDialog()
    {
        window->actions().compareFormats->trigger();
        auto* dialog = window->findChild<CompareDialog*>();
        EXPECT_NE(dialog, nullptr);
        return dialog;
    }
    static void choose(CompareDialog* dialog, const QStringList& formats, int seeds, int steps)
    {
        for (QCheckBox* box : dialog->findChildren<QCheckBox*>())
            box->setChecked(formats.contains(box->property("key").toString()));
        dialog->findChildren<QSpinBox*>().at(0)->setValue(seeds);
        dialog->findChildren<QSpinBox*>().at(1)->setValue(steps);
    }
    static QPushButton* button(CompareDialog* dialog, const QString& text)
    {
        for (QPushButton* one : dialog->findChildren<QPushButton*>()) {
            if (one->text().remove(QLatin1Char('&')) == text)
                return one;
        }
        ADD_FAILURE() << text.toStdString();
        return nullptr;
    }
    static bool over(CompareDialog* dialog)
    {
        return QTest::qWaitFor([dialog] { return !dialog->worker().isRunning(); }, 60000);
    }
    QString stateFile() const { return folder.filePath(QStringLiteral("comparison.json")); }
};

} // namespace

TEST_F(CompareTest, ComparesTheTaskOfTheRunInTheWindow)
{
    open(tiny());
    CompareDialog* dialog = openDialog();
    EXPECT_FALSE(button(dialog, QStringLiteral("Go on"))->isEnabled());
    EXPECT_FALSE(button(dialog, QStringLiteral("Copy table as"))->isEnabled());
    choose(dialog, {QStringLiteral("fp32"), QStringLiteral("mixed-fp16")}, 2, 25);
    EXPECT_EQ(dialog->plan().runs(), 4U);
    QTest::mouseClick(button(dialog, QStringLiteral("Start")), Qt::LeftButton);
    EXPECT_TRUE(dialog->worker().isRunning());
    EXPECT_FALSE(button(dialog, QStringLiteral("Start"))->isEnabled());
    poll();
    EXPECT_EQ(engine->live().state, EngineState::Paused); // the times are the formats' own
    ASSERT_TRUE(over(dialog));
    EXPECT_EQ(dialog->status(), QStringLiteral("Done: 4 of 4 runs."));
    poll();
    EXPECT_EQ(engine->live().state, EngineState::Running);

    // What the worker found is what the engine finds.
    ComparisonPlan plan = dialog->plan();
    Comparison same(plan);
    ASSERT_TRUE(runComparison(same, {}));
    const Comparison shown = dialog->worker().view().comparison;
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(shown.runs.at(i)->end, RunEnd::Completed) << shown.runs.at(i)->reason;
        EXPECT_EQ(shown.runs.at(i)->loss, same.runs.at(i)->loss);
    }
    CompareTable& table = dialog->table();
    EXPECT_EQ(table.cell(QStringLiteral("FP32"), QStringLiteral("Computed")), QStringLiteral("natively"));
    EXPECT_EQ(table.cell(QStringLiteral("Mixed FP16"), QStringLiteral("Computed")), QStringLiteral("emulated exactly"));
    EXPECT_EQ(table.cell(QStringLiteral("Mixed FP16"), QStringLiteral("Speed")), QStringLiteral("no claim"));
    EXPECT_TRUE(table.cell(QStringLiteral("FP32"), QStringLiteral("Speed")).startsWith(QStringLiteral("1")));
    EXPECT_EQ(table.cell(QStringLiteral("Mixed FP16"), QStringLiteral("Runs")), QStringLiteral("2 of 2"));
    EXPECT_EQ(table.cell(QStringLiteral("FP32"), QStringLiteral("Final scale")), QStringLiteral("none"));
    EXPECT_TRUE(table.cell(QStringLiteral("FP32"), QStringLiteral("Final loss")).contains(QStringLiteral(" ± ")));
    ASSERT_EQ(dialog->plot().series().size(), 2U);
    EXPECT_EQ(dialog->plot().series().at(1).band.step.size(), 25U);

    button(dialog, QStringLiteral("Copy table as"))->menu()->actions().at(0)->trigger();
    EXPECT_TRUE(QGuiApplication::clipboard()->text().startsWith(QStringLiteral("| format | computed |")));
    EXPECT_TRUE(QGuiApplication::clipboard()->text().contains(QStringLiteral("emulated: no speed claim")));
}

TEST_F(CompareTest, CancelsAndGoesOnLater)
{
    open(tiny());
    CompareDialog* dialog = openDialog();
    choose(dialog, {QStringLiteral("fp32"), QStringLiteral("mixed-bf16")}, 2, 400);
    QTest::mouseClick(button(dialog, QStringLiteral("Start")), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([&] { return dialog->worker().view().comparison.done() >= 1; }, 60000));
    QTest::keyClick(dialog, Qt::Key_Escape); // ends the runs, not the dialog
    ASSERT_TRUE(over(dialog));
    EXPECT_TRUE(dialog->isVisible());
    const std::size_t done = dialog->worker().view().comparison.done();
    ASSERT_GE(done, 1U);
    if (done == 4)
        GTEST_SKIP() << "the machine was faster than the key";
    EXPECT_TRUE(dialog->status().contains(QStringLiteral("Cancelled after"))) << dialog->status().toStdString();
    EXPECT_EQ(loadComparison(stateFile().toStdString()).done(), done);
    // Another day.
    QTest::keyClick(dialog, Qt::Key_Escape);
    QTest::qWait(20);
    EXPECT_EQ(window->findChild<CompareDialog*>(), nullptr);
    window.reset();
    open(tiny());
    dialog = openDialog();
    EXPECT_TRUE(dialog->status().contains(QStringLiteral("it can go on"))) << dialog->status().toStdString();
    QTest::mouseClick(button(dialog, QStringLiteral("Go on")), Qt::LeftButton);
    ASSERT_TRUE(over(dialog));
    const Comparison all = dialog->worker().view().comparison;
    EXPECT_TRUE(all.finished());
    Comparison whole(all.plan);
    ASSERT_TRUE(runComparison(whole, {}));
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(all.runs.at(i)->loss, whole.runs.at(i)->loss);
}

TEST_F(CompareTest, TheWindowClosesWhileItRuns)
{
    open(tiny());
    CompareDialog* dialog = openDialog();
    choose(dialog, {QStringLiteral("fp32"), QStringLiteral("mixed-fp16")}, 3, 5000);
    QTest::mouseClick(button(dialog, QStringLiteral("Start")), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([&] { return dialog->worker().view().current != nullptr; }, 60000));
    EXPECT_TRUE(dialog->status().contains(QStringLiteral("Run 1 of 6")) ||
                dialog->status().contains(QStringLiteral("Measuring speed")))
        << dialog->status().toStdString();
    QElapsedTimer timer;
    timer.start();
    window->close();
    window.reset();
    EXPECT_LT(timer.elapsed(), 5000);
}

TEST_F(CompareTest, SaysWhatCannotBeCompared)
{
    open(tiny());
    CompareDialog* dialog = openDialog();
    choose(dialog, {}, 1, 10);
    EXPECT_FALSE(button(dialog, QStringLiteral("Start"))->isEnabled());
    choose(dialog, {QStringLiteral("fp32")}, 1000, 2'000'000);
    EXPECT_FALSE(button(dialog, QStringLiteral("Start"))->isEnabled());
    choose(dialog, {QStringLiteral("fp32")}, 1, 10);
    EXPECT_TRUE(button(dialog, QStringLiteral("Start"))->isEnabled());
    // A text that went away: every run says so, nothing hangs, and the reason can be read.
    QFile::remove(folder.filePath(QStringLiteral("text.txt")));
    QTest::mouseClick(button(dialog, QStringLiteral("Start")), Qt::LeftButton);
    ASSERT_TRUE(over(dialog));
    const ComparedRunPtr run = dialog->worker().view().comparison.runs.at(0);
    ASSERT_NE(run, nullptr);
    EXPECT_EQ(run->end, RunEnd::Failed);
    EXPECT_TRUE(button(dialog, QStringLiteral("Go on"))->isEnabled()); // tries again
}

TEST_F(CompareTest, ASavedComparisonThatIsBrokenIsSaidToBe)
{
    std::ofstream(stateFile().toStdString()) << "{";
    open(tiny());
    CompareDialog* dialog = openDialog();
    EXPECT_TRUE(dialog->status().contains(QStringLiteral("cannot be shown"))) << dialog->status().toStdString();
    EXPECT_FALSE(button(dialog, QStringLiteral("Go on"))->isEnabled());
    EXPECT_TRUE(button(dialog, QStringLiteral("Start"))->isEnabled());
}

TEST_F(CompareTest, EveryFieldHasANameAndEnterPressesStart)
{
    open(tiny());
    CompareDialog* dialog = openDialog();
    int defaults = 0;
    for (QPushButton* one : dialog->findChildren<QPushButton*>()) {
        EXPECT_FALSE(one->accessibleName().isEmpty());
        EXPECT_FALSE(one->autoDefault());
        defaults += one->isDefault() ? 1 : 0;
    }
    EXPECT_EQ(defaults, 1);
    for (const QWidget* field : dialog->findChildren<QWidget*>()) {
        if (field->inherits("QCheckBox") || field->inherits("QSpinBox") || field->inherits("QComboBox") ||
            field->inherits("QTableWidget") || field->inherits("QProgressBar")) {
            EXPECT_FALSE(field->accessibleName().isEmpty()) << field->metaObject()->className();
        }
    }
}

namespace {

ComparePlot::Series line(const char* name, int style, std::vector<float> values, float spread)
{
    ComparePlot::Series series{QString::fromLatin1(name), QString::fromLatin1(name), style, {}};
    for (std::size_t i = 0; i < values.size(); ++i) {
        series.band.step.push_back(static_cast<std::int64_t>(i) + 1);
        series.band.mean.push_back(values[i]);
        series.band.low.push_back(values[i] - spread);
        series.band.high.push_back(values[i] + spread);
    }
    return series;
}

} // namespace

TEST(ComparePlot, DrawsTheLineInItsBandAndReadsItOut)
{
    ThemeManager::instance().setChoice(ThemeChoice::Dark);
    ComparePlot plot;
    plot.resize(600, 300);
    plot.show();
    plot.setSeries(
        {line("one", 1, std::vector<float>(100, 2.0F), 0.5F), line("two", 2, std::vector<float>(50, 4.0F), 0)},
        Quantity::Loss, 100);
    QTest::qWait(30);
    plot.replot(QCustomPlot::rpImmediateRefresh);
    const QCPRange range = plot.yAxis->range();
    EXPECT_LT(range.lower, 1.5);
    EXPECT_GT(range.upper, 4.0);
    EXPECT_LE(plot.xAxis->range().lower, 1.0);
    EXPECT_GE(plot.xAxis->range().upper, 100.0);
    const QImage image = plot.grab().toImage();
    const QRect inside = plot.axisRect()->rect();
    const auto pixel = [&](double step, double value) {
        const double y = inside.top() + (range.upper - value) / range.size() * inside.height();
        return image.pixelColor(int(std::lround(plot.pixelOfStep(step))), int(std::lround(y)));
    };
    const QColor bare = pixel(80, 3.2);
    EXPECT_NE(pixel(80, 1.7), bare); // in the band of the first
    EXPECT_NE(pixel(80, 2.3), bare);
    EXPECT_EQ(pixel(80, 4.0), bare); // the second has ended
    hover(plot, QPointF(plot.pixelOfStep(30), inside.center().y()));
    EXPECT_EQ(plot.readoutLines().value(0), QStringLiteral("Step 30, loss"));
    EXPECT_TRUE(plot.readoutLines().value(1).startsWith(QStringLiteral("one: 2")));
    EXPECT_TRUE(plot.readoutLines().value(1).contains(QStringLiteral("1.5 to 2.5")));
    EXPECT_TRUE(plot.readoutLines().value(2).startsWith(QStringLiteral("two: 4")));
    EXPECT_FALSE(plot.readoutLines().value(2).contains(QStringLiteral("to")));
    const QList<QByteArray> rows = plot.visibleCsv().split('\n');
    EXPECT_EQ(rows.at(0).trimmed(), QByteArray("format,step,mean,lowest,highest"));
    EXPECT_EQ(rows.at(1).trimmed(), QByteArray("one,1,2,1.5,2.5"));
    EXPECT_EQ(rows.size(), 152);
}

TEST(ComparePlot, KeepsEveryPeakOfALongRun)
{
    ThemeManager::instance().setChoice(ThemeChoice::Dark);
    std::vector<float> values(200'000, 1.0F);
    values[123'456] = 9.0F;
    ComparePlot plot;
    plot.resize(600, 300);
    plot.show();
    plot.setSeries({line("one", 0, values, 0)}, Quantity::Loss, 200'000); // solid: dashes have gaps
    QTest::qWait(30);
    plot.replot(QCustomPlot::rpImmediateRefresh);
    const QImage image = plot.grab().toImage();
    const QRect inside = plot.axisRect()->rect();
    const QCPRange range = plot.yAxis->range();
    EXPECT_GT(range.upper, 9.0);
    const int y = inside.top() + int((range.upper - 7.0) / range.size() * inside.height());
    const int x = int(std::lround(plot.pixelOfStep(123'457)));
    bool found = false;
    for (int dx = -2; dx <= 2; ++dx)
        found = found || image.pixelColor(x + dx, y).blue() > 140; // the area is nearly black
    EXPECT_TRUE(found);
    EXPECT_EQ(image.pixelColor(x - 20, y), image.pixelColor(x + 20, y));
}

TEST(SeriesStyle, LinesDifferInHueOrDashesAndStandOutFromTheArea)
{
    for (const Theme* theme : {&darkTheme(), &lightTheme()}) {
        const auto luminance = [](const QColor& c) {
            const auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
            return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
        };
        for (int i = 0; i < kSeriesStyles; ++i) {
            const SeriesStyle style = seriesStyle(i, *theme);
            const double a = luminance(style.color) + 0.05;
            const double b = luminance(theme->plotArea) + 0.05;
            EXPECT_GE(std::max(a, b) / std::min(a, b), 3.0) << i << (theme->dark ? " dark" : " light");
            for (int j = 0; j < i; ++j)
                EXPECT_NE(style.color, seriesStyle(j, *theme).color);
        }
    }
}

} // namespace halfscope::test
