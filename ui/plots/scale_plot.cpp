// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/scale_plot.h"

#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/plots/axis_tickers.h"
#include "ui/plots/csv_rows.h"
#include "ui/plots/legend.h"
#include "ui/plots/marks.h"
#include "ui/plots/step_path.h"

namespace halfscope {

namespace {

// Adds a point; a level stretch is only made longer.
void appendLevel(QPolygonF& line, double x, double y)
{
    const qsizetype n = line.size();
    if (n >= 2 && line[n - 1].y() == y && line[n - 2].y() == y)
        line[n - 1].setX(x);
    else
        line.append(QPointF(x, y));
}

} // namespace

ScalePlot::ScalePlot(QWidget* parent) : StepPlot(parent)
{
    yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new ExponentTicker));
    setMostMarks(9, 4);
    setAccessibleName(tr("Loss scale"));
    setAccessibleDescription(
        tr("Loss scale of every step on a logarithmic axis, with skipped steps, growth and commands "
           "marked. Arrow keys move along the steps, plus and minus zoom."));
    new PaintLayer(this, kShading, true, [this](QCPPainter& painter) { paintBand(painter); });
    new PaintLayer(this, kData, true, [this](QCPPainter& painter) { paintScale(painter); });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) { paintMarks(painter); });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) { paintCaption(painter); });
    updateMargins(2 * QFontMetrics(smallFont()).height() + 2);
}

QString ScalePlot::title() const { return tr("Loss scale"); }

void ScalePlot::refreshData()
{
    setEmptyText(digest().lastStep() == 0 ? tr("The loss scale appears with the first step.") : QString());
}

QCPRange ScalePlot::fittingYRange() const
{
    const QCPRange view = link()->range();
    const auto begin = static_cast<std::size_t>(std::max(1.0, std::ceil(view.lower))) - 1;
    const auto end = static_cast<std::size_t>(std::max(0.0, std::floor(view.upper)));
    const MinMaxPyramid::Extent scale = digest().scale.extent(begin, end);
    if (!scale.valid)
        return {0, 24};
    double low = scale.min;
    double high = scale.max;
    // The band as far as it is near; the scale stays readable when the band is far away.
    const MinMaxPyramid::Extent lowest = digest().bandLow.extent(begin, end);
    const MinMaxPyramid::Extent highest = digest().bandHigh.extent(begin, end);
    if (lowest.valid)
        low = std::max(low - 10.0, std::min<double>(low, lowest.min));
    if (highest.valid)
        high = std::min(high + 10.0, std::max<double>(high, highest.max));
    low = std::floor((low - 1.0) / 2.0) * 2.0; // whole marks, so that the axis rests
    high = std::ceil((high + 1.0) / 2.0) * 2.0;
    return {low, std::max(high, low + 6.0)};
}

std::optional<StabilityBand> ScalePlot::bandAt(std::int64_t step) const
{
    const auto found = recordAt(step);
    if (!found)
        return std::nullopt;
    return stableScales(*found);
}

QStringList ScalePlot::describeStep(std::int64_t step, std::optional<double>) const
{
    const auto found = recordAt(step);
    if (!found)
        return {};
    const StepRecord& record = *found;
    QStringList lines{tr("Step %1").arg(stepText(record.step)), tr("Scale %1").arg(scaleText(record.scale))};
    if (record.scaleNext != record.scale)
        lines << tr("Next %1").arg(shortScaleText(record.scaleNext));
    const QString skipped = skipText(step);
    if (!skipped.isEmpty())
        lines << skipped;
    if (const auto band = bandAt(step)) {
        // Quotients of FP32 numbers: rounded, unless they happen to be short.
        const auto power = [](double exponent) { return shortScaleText(std::exp2(exponent)); };
        if (band->low < band->high)
            lines << tr("Stable from %1 (estimate) to %2").arg(power(band->low), power(band->high));
        else
            lines << tr("No scale is stable: needs %1, overflows at %2").arg(power(band->low), power(band->high));
        lines << tr("Nothing is flushed from %1").arg(power(band->trueMinimum));
    }
    return lines;
}

void ScalePlot::paintBand(QCPPainter& painter)
{
    if (digest().lastStep() == 0)
        return;
    const QCPRange view = link()->range();
    const QRectF area = inner();
    const double last = static_cast<double>(digest().lastStep());
    // Per pixel column the scales that are good for every step in it; steps that were not measured carry the last.
    const int columns = static_cast<int>(std::ceil(area.width()));
    const double stepsPerPixel = view.size() / std::max(1.0, area.width());
    double low = std::numeric_limits<double>::quiet_NaN();
    double high = low;
    double trueLow = low;
    QPolygonF lowLine;
    QPolygonF highLine;
    QPolygonF trueDots;
    QRectF block; // columns of the same height, filled at once
    const auto fill = [&] {
        if (block.width() > 0 && block.height() > 0)
            painter.fillRect(block, theme().band);
    };
    for (int column = 0; column < columns; ++column) {
        const double from = view.lower + column * stepsPerPixel;
        if (from > last + 0.5)
            break;
        if (from + stepsPerPixel < 0.5)
            continue;
        const auto begin = static_cast<std::size_t>(std::clamp(std::round(from), 1.0, last)) - 1;
        const auto end = static_cast<std::size_t>(std::clamp(std::round(from + stepsPerPixel), 1.0, last));
        const auto extentOf = [&](const MinMaxPyramid& series) {
            return series.extent(begin, std::max(end, begin + 1));
        };
        if (const auto lowest = extentOf(digest().bandLow); lowest.valid)
            low = static_cast<double>(lowest.max);
        if (const auto highest = extentOf(digest().bandHigh); highest.valid)
            high = static_cast<double>(highest.min);
        if (const auto lowest = extentOf(digest().bandTrueMinimum); lowest.valid)
            trueLow = static_cast<double>(lowest.max);
        const double x = area.left() + column;
        if (std::isfinite(low) && std::isfinite(high)) {
            const double top = std::round(yPixel(high));
            const double bottom = std::round(yPixel(low));
            if (block.width() > 0 && block.top() == top && block.bottom() == bottom) {
                block.setRight(x + 1);
            } else {
                fill();
                block = QRectF(QPointF(x, top), QPointF(x + 1, bottom));
            }
            appendLevel(lowLine, x + 0.5, bottom);
            appendLevel(highLine, x + 0.5, top);
        }
        // Dots set one by one: a dotted pen costs more than all the rest of the plot.
        if (std::isfinite(trueLow) && column % 3 == 0)
            trueDots << QPointF(x, std::round(yPixel(trueLow)));
    }
    fill();
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme().bandEdge, 1));
    painter.drawPolyline(lowLine);
    painter.drawPolyline(highLine);
    painter.setPen(QPen(theme().bandTrueMinimum, 1));
    painter.drawPoints(trueDots);
}

void ScalePlot::paintScale(QCPPainter& painter)
{
    const QCPRange view = link()->range();
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme().scaleLine, isExporting() ? 1.5 : 1.0));
    for (QPolygonF path :
         stepPath(digest().scale, view.lower, view.upper, inner().left(), inner().width(), PathShape::Stairs)) {
        for (QPointF& point : path)
            point.setY(yPixel(point.y()));
        painter.drawPolyline(path);
        if (!isExporting()) // two pixels thick at the price of one-pixel lines
            painter.drawPolyline(path.translated(0, 1));
    }
}

void ScalePlot::paintMarks(QCPPainter& painter)
{
    if (digest().lastStep() == 0)
        return;
    const QCPRange view = link()->range();
    QColor faint = theme().skip;
    faint.setAlpha(70);
    painter.setPen(QPen(faint, 1));
    for (const MarkCluster& cluster : skipMarks())
        painter.drawLine(QPointF(cluster.x, inner().top()), QPointF(cluster.x, inner().bottom()));
    paintSkipMarks(painter);
    const auto below = [&](const std::vector<std::int64_t>& steps) {
        return clusterMarks(steps, view.lower, view.upper, inner().left(), inner().width(), kMarkGap);
    };
    const double y = inner().bottom() - 0.5 * kMarkSize - 2;
    paintClusters(painter, MarkShape::Growth, below(digest().growths), y, inner().right(), theme().growth, smallFont());
    paintClusters(painter, MarkShape::Command, below(digest().commands), y - kMarkSize - 3, inner().right(),
                  theme().command, smallFont());
}

void ScalePlot::paintCaption(QCPPainter& painter)
{
    if (digest().lastStep() == 0)
        return;
    const auto shape = [](MarkShape mark, const QColor& color) {
        return
            [mark, color](QCPPainter& on, const QPointF& at) { halfscope::paintMark(on, mark, at, kMarkSize, color); };
    };
    const Theme& t = theme();
    const std::vector<LegendEntry> entries{{tr("scale"), {}, legendLine(t.scaleLine)},
                                           {tr("stable: ε/g_low … M/g_max"), tr("stable"),
                                            [&t](QCPPainter& on, const QPointF& at) {
                                                on.fillRect(QRectF(at.x() - 6, at.y() - 5, 12, 10), t.band);
                                                on.setPen(QPen(t.bandEdge, 1));
                                                on.drawLine(at + QPointF(-6, -5), at + QPointF(6, -5));
                                                on.drawLine(at + QPointF(-6, 5), at + QPointF(6, 5));
                                            }},
                                           {tr("skipped"), {}, shape(MarkShape::Overflow, t.skip)},
                                           {tr("growth"), {}, shape(MarkShape::Growth, t.growth)},
                                           {tr("command"), {}, shape(MarkShape::Command, t.command)},
                                           {tr("ε/g_min"), {}, [&t](QCPPainter& on, const QPointF& at) {
                                                on.setPen(QPen(t.bandTrueMinimum, 1, Qt::DotLine));
                                                on.drawLine(at + QPointF(-6, 0), at + QPointF(6, 0));
                                            }}};
    paintLegend(painter, smallFont(), t.textDim, inner().left(), inner().right(), captionTop(), entries);
}

QByteArray ScalePlot::visibleCsv() const
{
    CsvRows rows("step,outcome,scale,scale_next,stable_low_log2,stable_high_log2,true_minimum_log2");
    for (const StepRecord& record : visibleRecords()) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const StabilityBand band = bandAt(record.step).value_or(StabilityBand{nan, nan, nan});
        rows.add(record.step, outcomeKey(record.outcome), record.scale, record.scaleNext, band.low, band.high,
                 band.trueMinimum);
    }
    return rows.text();
}

} // namespace halfscope
