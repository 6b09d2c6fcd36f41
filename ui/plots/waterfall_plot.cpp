// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/waterfall_plot.h"

#include <QTimer>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/number_text.h"
#include "ui/plots/axis_tickers.h"
#include "ui/plots/csv_rows.h"
#include "ui/plots/format_window.h"
#include "ui/plots/legend.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/step_path.h"

namespace halfscope {

namespace {

// Of the history's tensors, gone through for one frame: less than 10 ms. A wider view is filled over several frames.
constexpr std::int64_t kWorkOfAFrame = 200'000;

} // namespace

WaterfallPlot::WaterfallPlot(QWidget* parent) : StepPlot(parent)
{
    yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new ExponentTicker));
    setMostMarks(9, 5);
    xAxis->grid()->setVisible(false);
    yAxis->grid()->setVisible(false);
    setAccessibleName(tr("Waterfall"));
    setAccessibleDescription(
        tr("Share of gradients by step and exponent, with the format's range. Arrow keys move along "
           "the steps, plus and minus zoom."));
    new PaintLayer(this, kShading, true, [this](QCPPainter& painter) { paintMap(painter); });
    new PaintLayer(this, kData, true, [this](QCPPainter& painter) { paintWindow(painter); });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) { paintCaption(painter); });
    updateMargins(2 * QFontMetrics(smallFont()).height() + 2);
    m_image.setColors(theme().density());
}

void WaterfallPlot::setExporting(bool exporting, bool paper)
{
    StepPlot::setExporting(exporting, paper);
    if (exporting) { // all of it, at once
        refreshData();
        fitY();
    }
}

QString WaterfallPlot::title() const
{
    return m_run == nullptr ? tr("Waterfall")
                            : tr("Waterfall · %1 · %2").arg(selectionText(*m_run), tapText(m_run->selection.tap));
}

QString WaterfallPlot::yTitle() const
{
    return m_run == nullptr || m_run->selectionIsScaled() ? tr("|g|, unscaled, power of two") : tr("|a|, power of two");
}

void WaterfallPlot::applyTheme()
{
    StepPlot::applyTheme();
    m_image.setColors(theme().density());
}

void WaterfallPlot::refreshData()
{
    if (m_run == nullptr || m_run->history.rowCount() == 0) {
        m_image.clear();
        setEmptyText(emptyText(m_run));
        return;
    }
    const QCPRange view = link()->range();
    m_image.update(*m_run, view.lower, view.upper, isExporting() ? std::int64_t{1} << 62 : kWorkOfAFrame);
    if (!m_image.isComplete() && !std::exchange(m_continues, true)) {
        QTimer::singleShot(0, this, [this] {
            m_continues = false;
            refreshData();
            fitY();
            queueReplot();
        });
    }
    setEmptyText(m_image.occupiedLow() > m_image.occupiedHigh() ? emptyText(m_run) : QString());
}

QCPRange WaterfallPlot::fittingYRange() const
{
    if (m_run == nullptr || m_image.occupiedLow() > m_image.occupiedHigh())
        return m_fitted;
    double low = m_image.occupiedLow();
    double high = m_image.occupiedHigh() + 1;
    const QCPRange view = link()->range();
    const auto begin = static_cast<std::size_t>(std::max(1.0, std::ceil(view.lower))) - 1;
    const auto end = static_cast<std::size_t>(std::max(0.0, std::floor(view.upper)));
    const MinMaxPyramid::Extent scale = digest().scale.extent(begin, end);
    if (scale.valid) {
        // The window's lines too, unless they are far from everything.
        const FormatWindow base = formatWindow(floatFormat(m_run->windowFormat()), 1.0);
        const double least = m_run->selectionIsScaled() ? static_cast<double>(scale.min) : 0.0;
        const double most = m_run->selectionIsScaled() ? static_cast<double>(scale.max) : 0.0;
        low = std::max(low - 24, std::min(low, base.flush - most));
        high = std::min(high + 24, std::max(high, base.overflow - least));
    }
    low = std::floor((low - 1) / 4.0) * 4.0;
    high = std::ceil((high + 1) / 4.0) * 4.0;
    // Grows at once, shrinks only when much is empty: a range that follows every outlier is hard to read.
    if (low < m_fitted.lower || low > m_fitted.lower + 8)
        m_fitted.lower = low;
    if (high > m_fitted.upper || high < m_fitted.upper - 8)
        m_fitted.upper = high;
    return m_fitted;
}

QStringList WaterfallPlot::describeStep(std::int64_t step, std::optional<double> y) const
{
    const auto found = recordAt(step);
    if (!found)
        return {};
    const StepRecord& record = *found;
    QStringList lines;
    const std::size_t index = m_run->history.rowAt(step);
    std::optional<SparseHistogram> histogram;
    if (index < m_run->history.rowCount()) {
        const HistorySpan& row = m_run->history.span(index);
        histogram = m_run->selectedAt(index);
        lines << (row.firstStep == row.lastStep && row.lastStep == step
                      ? tr("Step %1").arg(stepText(step))
                      : tr("Step %1 · measured %2")
                            .arg(stepText(step),
                                 row.firstStep == row.lastStep
                                     ? stepText(row.firstStep)
                                     : stepText(row.firstStep) + QStringLiteral("–") + stepText(row.lastStep)));
    } else {
        lines << tr("Step %1").arg(stepText(step));
    }
    if (y && histogram) {
        const int exponent = static_cast<int>(std::floor(*y));
        const std::uint64_t count = histogram->at(exponent);
        lines << tr("%1 ≤ |%2| < %3")
                     .arg(powerOfTwo(exponent), m_run->selectionIsScaled() ? tr("g") : tr("a"),
                          powerOfTwo(exponent + 1));
        lines << tr("%1 of %2 (%3)")
                     .arg(countText(count), countText(histogram->classes.total()),
                          shareText(static_cast<double>(count), static_cast<double>(histogram->classes.total())));
        // The lines are one format's; what another one holds is not judged by them.
        const FormatId format = m_run->windowFormat();
        const auto own = m_run->selectedAt(index, format);
        const std::uint64_t held = own ? own->at(exponent) : 0;
        if (count != 0 && held != count)
            lines << tr("%1 in %2, %3 in other formats")
                         .arg(countText(held), formatText(format), countText(count - held));
    } else if (histogram) {
        const ClassCounts& classes = histogram->classes;
        const auto total = static_cast<double>(classes.total());
        lines << tr("flushed %1 · subnormal %2")
                     .arg(shareText(static_cast<double>(classes[ValueClass::Flushed]), total),
                          shareText(static_cast<double>(classes[ValueClass::Subnormal]), total));
    }
    if (m_run->selectionIsScaled())
        lines << tr("Scale %1").arg(scaleText(record.scale));
    const QString skipped = skipText(step);
    if (!skipped.isEmpty())
        lines << skipped;
    return lines;
}

void WaterfallPlot::paintMap(QCPPainter& painter)
{
    const QCPRange view = link()->range();
    m_image.paint(painter, inner(), view.lower, view.upper, yAxis->range().lower, yAxis->range().upper);
}

void WaterfallPlot::paintWindow(QCPPainter& painter)
{
    if (m_run == nullptr || digest().lastStep() == 0)
        return;
    const QCPRange view = link()->range();
    const FormatWindow base = formatWindow(floatFormat(m_run->windowFormat()), 1.0);
    auto paths = stepPath(digest().scale, view.lower, view.upper, inner().left(), inner().width(), PathShape::Stairs);
    if (!m_run->selectionIsScaled()) { // the format's own limits, at every step
        for (QPolygonF& path : paths) {
            path = {path.first(), path.last()};
            for (QPointF& point : path)
                point.setY(0.0);
        }
    }
    painter.setBrush(Qt::NoBrush);
    QColor halo = theme().dark ? QColor(0, 0, 0, 150) : QColor(255, 255, 255, 190);
    const bool pale = m_run->windowIsComparison();
    halo.setAlpha(pale ? 60 : halo.alpha());
    const std::pair<double, QColor> lines[] = {
        {base.flush, theme().flushed}, {base.subnormal, theme().subnormal}, {base.overflow, theme().overflow}};
    for (auto [limit, color] : lines) {
        color.setAlpha(pale ? 120 : 255);
        for (const QPolygonF& path : paths) {
            QPolygonF line = path;
            for (QPointF& point : line)
                point.setY(std::round(yPixel(limit - point.y())));
            // A halo keeps the line apart from any colour of the map.
            painter.setPen(QPen(halo, 1));
            painter.drawPolyline(line.translated(0, -1));
            painter.drawPolyline(line.translated(0, 2));
            painter.setPen(QPen(color, 1));
            painter.drawPolyline(line);
            painter.drawPolyline(line.translated(0, 1));
        }
    }
}

void WaterfallPlot::paintCaption(QCPPainter& painter)
{
    if (isEmptyShown() || m_run == nullptr)
        return;
    paintSkipMarks(painter);
    const QString format = formatText(m_run->windowFormat());
    const std::vector<LegendEntry> lines{{m_run->windowIsComparison()
                                              ? tr("for comparison, %1: overflow from here up").arg(format)
                                              : tr("%1: overflow from here up").arg(format),
                                          tr("%1: overflow").arg(format), legendLine(theme().overflow)},
                                         {tr("subnormal below"), tr("subnormal"), legendLine(theme().subnormal)},
                                         {tr("flushed to 0 below"), tr("flushed"), legendLine(theme().flushed)}};
    const QFont font = smallFont();
    const QFontMetricsF metrics(font);
    // The key of the colours on the right takes less room before the lines' words do, and goes last of all.
    const QString least = powerOfTen(static_cast<int>(std::lround(std::log10(WaterfallImage::kFloorShare))));
    const QString most = shareText(WaterfallImage::kTopShare, 1.0);
    struct Key {
        QString low;
        QString high;
        int bar;
        bool shorter; // the lines' words beside it
    };
    const Key keys[] = {{tr("share ≤ %1").arg(least), tr("≥ %1").arg(most), 72, false},
                        {least, most, 40, false},
                        {tr("share ≤ %1").arg(least), tr("≥ %1").arg(most), 72, true},
                        {least, most, 40, true}};
    const double y = captionTop();
    const double left = inner().left();
    const double right = inner().right();
    const auto keyWidth = [&](const Key& key) {
        return metrics.horizontalAdvance(key.low) + metrics.horizontalAdvance(key.high) + key.bar + 12;
    };
    const auto key = std::ranges::find_if(keys, [&](const Key& candidate) {
        return left + legendWidth(font, lines, candidate.shorter) + keyWidth(candidate) <= right;
    });
    if (key == std::end(keys)) {
        paintLegend(painter, font, theme().textDim, left, right, y, lines);
        return;
    }
    double x = right - keyWidth(*key);
    paintLegend(painter, font, theme().textDim, left, x, y, lines);
    const double middle = y + 0.5 * metrics.height();
    painter.setPen(theme().textDim);
    painter.drawText(QPointF(x, y + metrics.ascent()), key->low);
    x += metrics.horizontalAdvance(key->low) + 6;
    for (int i = 0; i < key->bar; ++i)
        painter.fillRect(QRectF(x + i, middle - 4, 1, 8),
                         QColor(theme().density()[static_cast<std::size_t>(i * 255 / (key->bar - 1))]));
    painter.drawText(QPointF(x + key->bar + 6, y + metrics.ascent()), key->high);
}

QByteArray WaterfallPlot::visibleCsv() const
{
    CsvRows rows("first_step,last_step,last_scale,exponent,count");
    if (m_run == nullptr)
        return rows.text();
    const QCPRange view = link()->range();
    for (std::size_t i = 0; i < m_run->history.rowCount(); ++i) {
        const HistorySpan& row = m_run->history.span(i);
        if (static_cast<double>(row.lastStep) < view.lower || static_cast<double>(row.firstStep) > view.upper)
            continue;
        const auto histogram = m_run->selectedAt(i);
        if (!histogram)
            continue;
        for (std::size_t bin = 0; bin < histogram->counts.size(); ++bin) {
            if (histogram->counts[bin] != 0)
                rows.add(row.firstStep, row.lastStep, row.lastScale, histogram->firstExponent + static_cast<int>(bin),
                         histogram->counts[bin]);
        }
    }
    return rows.text();
}

} // namespace halfscope
