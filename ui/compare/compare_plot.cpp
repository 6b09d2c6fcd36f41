// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/compare_plot.h"

#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/plots/axis_tickers.h"
#include "ui/plots/csv_rows.h"
#include "ui/plots/legend.h"
#include "ui/plots/series_style.h"

namespace halfscope {

namespace {

constexpr int kBandAlpha = 46;

bool isShare(Quantity quantity) { return quantity == Quantity::Accuracy || quantity == Quantity::HeldOutAccuracy; }

QString number(Quantity quantity, float value)
{
    const double wide = static_cast<double>(value);
    return isShare(quantity) ? ComparePlot::tr("%1 %").arg(roundedText(100.0 * wide, 4)) : roundedText(wide, 5);
}

} // namespace

ComparePlot::ComparePlot(QWidget* parent) : StepPlot(parent)
{
    yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new NumberTicker));
    setMostMarks(9, 6);
    setAccessibleName(tr("Curves of the formats"));
    setAccessibleDescription(tr("The mean of the seeds for each format, step by step, and their range. Arrow keys move "
                                "along the steps, plus and minus zoom."));
    new PaintLayer(this, kData, true, [this](QCPPainter& painter) {
        for (const Series& series : m_series)
            paintBand(painter, series);
        for (const Series& series : m_series)
            paintMean(painter, series);
    });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) { paintCaption(painter); });
    updateMargins(2 * QFontMetrics(smallFont()).height() + 2);
    setRun(&m_axis);
}

void ComparePlot::setSeries(std::vector<Series> series, Quantity quantity, std::int64_t steps)
{
    const auto wanted = static_cast<std::size_t>(steps);
    const bool otherLength = wanted != m_axis.steps.size();
    if (otherLength) {
        m_axis.steps.clear();
        StepRecord record;
        for (record.step = 1; record.step <= steps; ++record.step)
            m_axis.steps.push_back(record);
        ++m_axis.info.generation;
    }
    const bool other = quantity != m_quantity;
    m_series = std::move(series);
    m_quantity = quantity;
    refresh();
    if (otherLength)
        link()->setRange(0.0, static_cast<double>(steps)); // all of a run, however short
    if (other)
        resetY();
}

QString ComparePlot::valueName() const
{
    switch (m_quantity) {
    case Quantity::Accuracy:
        return tr("accuracy");
    case Quantity::HeldOutLoss:
        return tr("held-out loss");
    case Quantity::HeldOutAccuracy:
        return tr("held-out accuracy");
    case Quantity::Loss:
        break;
    }
    return tr("loss");
}

QString ComparePlot::title() const
{
    QString value = valueName();
    value[0] = value.at(0).toUpper();
    return tr("%1 by format").arg(value);
}

QString ComparePlot::yTitle() const
{
    return isShare(m_quantity) ? tr("%1, share").arg(valueName()) : tr("%1, nats").arg(valueName());
}

void ComparePlot::refreshData()
{
    const bool empty =
        std::all_of(m_series.begin(), m_series.end(), [](const Series& s) { return s.band.step.empty(); });
    setEmptyText(empty ? tr("The curves appear with the first steps.") : QString());
}

ComparePlot::Range ComparePlot::visible(const CurveBand& band) const
{
    const QCPRange view = link()->range();
    const auto low = static_cast<std::int64_t>(std::floor(view.lower));
    const auto high = static_cast<std::int64_t>(std::ceil(view.upper));
    const auto begin = std::lower_bound(band.step.begin(), band.step.end(), low);
    const auto end = std::upper_bound(begin, band.step.end(), high);
    // A neighbour on either side, to which lines lead out of the picture.
    Range range{static_cast<std::size_t>(begin - band.step.begin()), static_cast<std::size_t>(end - band.step.begin())};
    range.begin -= range.begin > 0 ? 1 : 0;
    range.end += range.end < band.step.size() ? 1 : 0;
    return range;
}

QCPRange ComparePlot::fittingYRange() const
{
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const Series& series : m_series) {
        const Range range = visible(series.band);
        for (std::size_t i = range.begin; i < range.end; ++i) {
            low = std::min(low, static_cast<double>(series.band.low[i]));
            high = std::max(high, static_cast<double>(series.band.high[i]));
        }
    }
    if (!(low <= high))
        return isShare(m_quantity) ? QCPRange(0, 1) : QCPRange(0, 5);
    const double margin = std::max(0.06 * (high - low), 1e-3 * std::max(1.0, std::abs(high)));
    return {low - margin, high + margin};
}

std::function<QPointF(std::int64_t, float)> ComparePlot::mapping() const
{
    const QRectF area = inner();
    const QCPRange x = link()->range();
    const QCPRange y = yAxis->range();
    return [=](std::int64_t step, float value) {
        return QPointF(area.left() + (static_cast<double>(step) - x.lower) / x.size() * area.width(),
                       area.top() + (y.upper - static_cast<double>(value)) / y.size() * area.height());
    };
}

void ComparePlot::paintBand(QCPPainter& painter, const Series& series)
{
    const Range range = visible(series.band);
    if (range.end - range.begin < 2)
        return;
    const auto at = mapping();
    // One pair of points a pixel column, with the column's extremes.
    QPolygonF upper;
    QPolygonF lower;
    for (std::size_t i = range.begin; i < range.end; ++i) {
        const QPointF high = at(series.band.step[i], series.band.high[i]);
        const QPointF low = at(series.band.step[i], series.band.low[i]);
        if (!upper.isEmpty() && std::floor(high.x()) == std::floor(upper.last().x())) {
            upper.last().setY(std::min(upper.last().y(), high.y()));
            lower.last().setY(std::max(lower.last().y(), low.y()));
        } else {
            upper << high;
            lower << low;
        }
    }
    std::reverse(lower.begin(), lower.end());
    QColor fill = seriesStyle(series.style, theme()).color;
    fill.setAlpha(kBandAlpha);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawPolygon(upper + lower);
}

void ComparePlot::paintMean(QCPPainter& painter, const Series& series)
{
    const Range range = visible(series.band);
    const auto at = mapping();
    // Of the points in one pixel column a line needs the first, the extremes and the last.
    QPolygonF path;
    QPolygonF column;
    const auto flush = [&] {
        if (column.size() <= 4) {
            path += column;
        } else {
            const auto [top, bottom] = std::minmax_element(
                column.begin(), column.end(), [](const QPointF& a, const QPointF& b) { return a.y() < b.y(); });
            path << column.first() << *std::min(top, bottom) << *std::max(top, bottom) << column.last();
        }
        column.clear();
    };
    for (std::size_t i = range.begin; i < range.end; ++i) {
        const QPointF point = at(series.band.step[i], series.band.mean[i]);
        if (!column.isEmpty() && std::floor(column.first().x()) != std::floor(point.x()))
            flush();
        column << point;
    }
    flush();
    painter.setBrush(Qt::NoBrush);
    painter.setAntialiasing(true); // dashes of a jagged line are hard to tell apart
    painter.setPen(seriesStyle(series.style, theme()).pen(isExporting() ? 1.6 : 1.8));
    if (path.size() == 1)
        painter.drawEllipse(path.first(), 2, 2);
    painter.drawPolyline(path);
}

void ComparePlot::paintCaption(QCPPainter& painter)
{
    std::vector<LegendEntry> entries;
    for (const Series& series : m_series) {
        if (!series.band.step.empty())
            entries.push_back({series.name, series.key, legendLine(seriesStyle(series.style, theme()))});
    }
    painter.setAntialiasing(true);
    paintLegend(painter, smallFont(), theme().textDim, inner().left() + 4, inner().right(), captionTop(), entries);
}

QStringList ComparePlot::describeStep(std::int64_t step, std::optional<double>) const
{
    QStringList lines{tr("Step %1, %2").arg(stepText(step), valueName())};
    for (const Series& series : m_series) {
        const CurveBand& band = series.band;
        // The value there, or the last one before it.
        const auto after = std::upper_bound(band.step.begin(), band.step.end(), step);
        if (after == band.step.begin() || (*(after - 1) != step && m_quantity <= Quantity::Accuracy))
            continue;
        const auto i = static_cast<std::size_t>(after - band.step.begin()) - 1;
        QString line = tr("%1: %2").arg(series.name, number(m_quantity, band.mean[i]));
        if (band.low[i] != band.high[i])
            line += tr(" (%1 to %2)").arg(number(m_quantity, band.low[i]), number(m_quantity, band.high[i]));
        lines << line;
    }
    return lines.size() > 1 ? lines : QStringList();
}

QByteArray ComparePlot::visibleCsv() const
{
    CsvRows rows("format,step,mean,lowest,highest");
    const QCPRange view = link()->range();
    for (const Series& series : m_series) {
        const QByteArray key = series.key.toUtf8();
        for (std::size_t i = 0; i < series.band.step.size(); ++i) {
            const auto step = static_cast<double>(series.band.step[i]);
            if (step >= view.lower && step <= view.upper)
                rows.add(std::string_view(key.constData(), static_cast<std::size_t>(key.size())), series.band.step[i],
                         series.band.mean[i], series.band.low[i], series.band.high[i]);
        }
    }
    return rows.text();
}

} // namespace halfscope
