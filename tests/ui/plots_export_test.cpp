// SPDX-License-Identifier: GPL-3.0-or-later
#include <QClipboard>
#include <QDir>
#include <QFile>
#include <QMimeData>
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/ui/plots_support.h"
#include "ui/plots/loss_plot.h"
#include "ui/plots/plot_export.h"
#include "ui/plots/sparkline_painter.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/waterfall_plot.h"

namespace halfscope {

namespace {

using namespace test;

class PlotExportTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        engine.run(30);
        collect(run, engine);
        for (Plot* plot : {static_cast<Plot*>(&spectrum), static_cast<Plot*>(&waterfall), static_cast<Plot*>(&loss)}) {
            plot->setRun(&run);
            showAt(*plot, 600, 300);
        }
    }
    QString path(const char* name) const { return QString::fromStdString(folder.file(name)); }
    QByteArray content(const char* name) const
    {
        QFile file(path(name));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

    TemporaryFolder folder;
    RunModel run;
    FakeEngine engine;
    SpectrumPlot spectrum;
    WaterfallPlot waterfall;
    LossPlot loss;
};

TEST_F(PlotExportTest, PicturesHaveTheSizeAskedFor)
{
    ASSERT_FALSE(PlotExport::save(spectrum, path("a.png")));
    EXPECT_EQ(QImage(path("a.png")).size(), QSize(600, 300));
    ASSERT_FALSE(PlotExport::save(spectrum, path("b.png"), {{500, 250}, 2.0, false}));
    const QImage big(path("b.png"));
    EXPECT_EQ(big.size(), QSize(1000, 500));
    // The plot itself is as it was.
    EXPECT_EQ(spectrum.size(), QSize(600, 300));
    EXPECT_EQ(spectrum.viewport(), QRect(0, 0, 600, 300));
    EXPECT_FALSE(spectrum.isExporting());
}

TEST_F(PlotExportTest, EveryPlotAsVectors)
{
    for (Plot* plot : {static_cast<Plot*>(&spectrum), static_cast<Plot*>(&waterfall), static_cast<Plot*>(&loss)}) {
        const QByteArray svg = PlotExport::svg(*plot);
        EXPECT_TRUE(svg.contains("<svg")) << plot->title().toStdString();
        EXPECT_TRUE(svg.trimmed().endsWith("</svg>"));
        EXPECT_TRUE(svg.contains("viewBox=\"0 0 600 300\""));
        EXPECT_TRUE(svg.contains("<text")); // words stay words
        const QByteArray pdf = PlotExport::pdf(*plot);
        EXPECT_TRUE(pdf.startsWith("%PDF-"));
        EXPECT_TRUE(pdf.trimmed().endsWith("%%EOF"));
    }
}

// Fit for a paper: what it is, what the axes are, and nothing about how to use the window.
TEST_F(PlotExportTest, PicturesExplainThemselves)
{
    const QString screen = spectrum.xAxis->label();
    const QByteArray gradients = PlotExport::svg(spectrum);
    EXPECT_TRUE(gradients.contains("Gradient spectrum"));
    EXPECT_TRUE(gradients.contains("gradient magnitude |g|, unscaled, power of two"));
    EXPECT_TRUE(gradients.contains("number of values"));
    EXPECT_FALSE(gradients.contains("drag the window"));
    EXPECT_TRUE(PlotExport::svg(loss).contains("loss, nats per token"));
    EXPECT_TRUE(PlotExport::svg(loss).contains(">step<"));
    EXPECT_TRUE(PlotExport::svg(waterfall).contains("|g|, unscaled, power of two"));
    spectrum.freezeStep(4);
    EXPECT_FALSE(PlotExport::svg(spectrum).contains("Esc"));
    EXPECT_TRUE(PlotExport::svg(spectrum).contains("step 4"));
    spectrum.freezeStep(std::nullopt);
    spectrum.setScaledAxis(true);
    EXPECT_TRUE(PlotExport::svg(spectrum).contains("scaled by 2"));
    spectrum.setScaledAxis(false);
    // And the window's plot is as it was.
    EXPECT_EQ(spectrum.xAxis->label(), screen);
    EXPECT_EQ(spectrum.yAxis->label(), QString());
    EXPECT_EQ(spectrum.plotLayout()->rowCount(), 2);
    EXPECT_EQ(loss.plotLayout()->rowCount(), 1);
    EXPECT_EQ(loss.axisRect()->autoMargins(), QCP::MarginSides(QCP::msNone));
}

TEST_F(PlotExportTest, FontsInDrawingsAreGeneric)
{
    const QByteArray svg = PlotExport::svg(loss);
    EXPECT_TRUE(svg.contains("font-family=\"sans-serif\""));
    EXPECT_EQ(svg.count("font-family="), svg.count("font-family=\"sans-serif\""));
}

TEST_F(PlotExportTest, PaperIsWhiteInEveryTheme)
{
    ThemeManager::instance().setChoice(ThemeChoice::Dark);
    ExportOptions options;
    for (Plot* plot : {static_cast<Plot*>(&spectrum), static_cast<Plot*>(&waterfall), static_cast<Plot*>(&loss)}) {
        options.paper = false;
        EXPECT_EQ(PlotExport::image(*plot, options).pixelColor(1, 1), darkTheme().panel);
        options.paper = true;
        const QImage paper = PlotExport::image(*plot, options);
        EXPECT_EQ(paper.pixelColor(1, 1), QColor(Qt::white));
        EXPECT_EQ(paper.pixelColor(paper.width() - 2, paper.height() - 2), QColor(Qt::white));
        settleEvents();
        EXPECT_EQ(plot->grab().toImage().pixelColor(1, 1), darkTheme().panel); // the window stays dark
    }
}

TEST_F(PlotExportTest, ResolutionIsDotsPerInch)
{
    ExportOptions options;
    options.size = QSize(321, 227); // 85 x 60 mm
    options.scale = 300.0 / kLogicalDotsPerInch;
    const QImage image = PlotExport::image(loss, options);
    EXPECT_NEAR(image.width(), 85 / 25.4 * 300, 2);
    EXPECT_NEAR(image.dotsPerMeterX(), 300 / 0.0254, 1);
}

TEST_F(PlotExportTest, CsvIsWhatIsVisible)
{
    loss.link()->setRange(10, 20);
    ASSERT_FALSE(PlotExport::save(loss, path("loss.csv")));
    const QList<QByteArray> lines = content("loss.csv").split('\n');
    ASSERT_EQ(lines.size(), 1 + 11 + 1); // header, steps 10 to 20, and what follows the last line's end
    EXPECT_EQ(lines[0], "step,outcome,loss,smoothed\r");
    EXPECT_TRUE(lines[1].startsWith("10,applied,"));
    EXPECT_EQ(lines[1].split(',')[2].toDouble(), run.steps[9].loss); // reads back to the bit
}

TEST_F(PlotExportTest, FailuresAreOneSentenceAndLeaveTheOldFile)
{
    const QString missing = path("nowhere/plot.png");
    const auto problem = PlotExport::save(spectrum, missing);
    ASSERT_TRUE(problem);
    EXPECT_TRUE(problem->contains(QDir::toNativeSeparators(missing)));
    EXPECT_TRUE(problem->endsWith(QLatin1Char('.')));
    EXPECT_FALSE(problem->contains(QLatin1Char('\n')));
    const auto unknown = PlotExport::save(spectrum, path("plot.bmp"));
    ASSERT_TRUE(unknown);
    EXPECT_TRUE(unknown->contains(QStringLiteral(".svg")));
    EXPECT_FALSE(QFile::exists(path("plot.bmp")));
    // A folder of the target's name cannot be replaced by a file; nothing is left beside it.
    QDir(QString::fromStdString(folder.path().string())).mkdir(QStringLiteral("taken.svg"));
    EXPECT_TRUE(PlotExport::save(spectrum, path("taken.svg")));
    EXPECT_EQ(QDir(QString::fromStdString(folder.path().string())).entryList(QDir::AllEntries | QDir::NoDotAndDotDot),
              QStringList{QStringLiteral("taken.svg")});
}

TEST_F(PlotExportTest, TheClipboardGetsPictureAndTable)
{
    PlotExport::copy(loss, 2.0);
    const QMimeData* data = QGuiApplication::clipboard()->mimeData();
    ASSERT_TRUE(data->hasImage());
    EXPECT_EQ(qvariant_cast<QImage>(data->imageData()).size(), QSize(1200, 600));
    EXPECT_TRUE(data->text().startsWith(QStringLiteral("step,outcome,loss")));
}

TEST_F(PlotExportTest, SuggestedNamesAreFileNames)
{
    EXPECT_EQ(PlotExport::suggestedName(spectrum, ExportFormat::Pdf),
              QStringLiteral("gradient-spectrum-all-layers-weight-gradients.pdf"));
    EXPECT_EQ(PlotExport::suggestedName(loss, ExportFormat::Csv), QStringLiteral("loss.csv"));
    // A script that reads the files finds them again: no number of the run is in a name.
    RunModel validated = run;
    amend(validated, validated.steps.size() - 1, [](StepRecord& r) { r.validationLoss = 1.866; });
    loss.setRun(&validated);
    loss.refresh();
    ASSERT_TRUE(loss.title().contains(QStringLiteral("1.866"))) << loss.title().toStdString();
    EXPECT_EQ(PlotExport::suggestedName(loss, ExportFormat::Png), QStringLiteral("loss.png"));
    loss.setRun(&run);
}

TEST(Sparkline, ColoursByClassAndKeepsOutliers)
{
    QImage image(114, 20, QImage::Format_RGB32); // 57 exponents of two pixels
    image.fill(Qt::black);
    QPainter painter(&image);
    TensorStatistics s;
    s.histogram.at(-43) = 10; // flushed at 2^16: below 2^-41
    s.histogram.at(-35) = 10; // subnormal
    s.histogram.at(-10) = 10; // normal
    s.histogram.at(2) = 10;   // overflows
    s.histogram.at(60) = 10;  // beyond the range: shown at its end
    SparklinePainter::paint(&painter, QRectF(0, 0, 114, 20), s, 65536.0, FormatId::Fp16, darkTheme());
    painter.end();
    const auto at = [&](int exponent) { return image.pixelColor((exponent + 44) * 2, 12); };
    EXPECT_EQ(at(-43), darkTheme().flushed);
    EXPECT_EQ(at(-35), darkTheme().subnormal);
    EXPECT_EQ(at(-10), darkTheme().normal);
    EXPECT_EQ(at(2), darkTheme().overflow);
    EXPECT_EQ(at(12), darkTheme().overflow);
    EXPECT_EQ(at(-20), QColor(Qt::black));
}

TEST(ThemeColours, MapLightnessIsEvenAndMonotone)
{
    for (const Theme* theme : {&darkTheme(), &lightTheme()}) {
        const auto& map = theme->density();
        // CIE L* from sRGB.
        const auto lightness = [](QRgb c) {
            const auto linear = [](int v) {
                const double x = v / 255.0;
                return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
            };
            const double y = 0.2126 * linear(qRed(c)) + 0.7152 * linear(qGreen(c)) + 0.0722 * linear(qBlue(c));
            return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
        };
        const double span = lightness(map[255]) - lightness(map[0]);
        EXPECT_GT(std::abs(span), 60);
        for (std::size_t i = 16; i < 256; i += 16) {
            // Even in OKLab's lightness, which L* follows closely: no stretch takes more than twice its part.
            const double part = (lightness(map[i]) - lightness(map[i - 16])) / span;
            EXPECT_GT(part, 0.0) << i;
            EXPECT_LT(part, 2.0 * 16 / 255) << i;
        }
    }
}

TEST(ThemeColours, TextIsReadable)
{
    const auto luminance = [](const QColor& c) {
        const auto linear = [](double x) { return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4); };
        return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
    };
    const auto contrast = [&](const QColor& a, const QColor& b) {
        const double high = std::max(luminance(a), luminance(b));
        const double low = std::min(luminance(a), luminance(b));
        return (high + 0.05) / (low + 0.05);
    };
    for (const Theme* theme : {&darkTheme(), &lightTheme()}) {
        for (const QColor& background : {theme->panel, theme->plotArea, theme->window, theme->control}) {
            EXPECT_GE(contrast(theme->text, background), 7.0);    // WCAG AAA
            EXPECT_GE(contrast(theme->textDim, background), 4.5); // AA
        }
        // Graphical objects: 3:1 against what they are drawn on.
        for (const QColor& mark : {theme->skip, theme->command, theme->growth, theme->scaleLine, theme->flushed,
                                   theme->normal, theme->overflow, theme->error})
            EXPECT_GE(contrast(mark, theme->plotArea), 3.0) << mark.name().toStdString() << theme->dark;
    }
}

} // namespace

} // namespace halfscope
