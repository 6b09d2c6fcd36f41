// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/accuracy_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/number_text.h"
#include "ui/plots/axis_tickers.h"
#include "ui/plots/csv_rows.h"
#include "ui/plots/legend.h"
#include "ui/plots/marks.h"

namespace halfscope {

namespace {

constexpr double kSmoothing = 0.95; // weight of the past, as in the loss plot
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double percent(double share) { return 100.0 * share; }

} // namespace

AccuracyPlot::AccuracyPlot(QWidget* parent) : StepPlot(parent), m_heldOut(&StepRecord::validationAccuracy, true)
{
    yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new PercentTicker));
    setMostMarks(9, 4);
    new PaintLayer(this, kData, true, [this](QCPPainter& painter) { paintAccuracy(painter); });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) {
        if (digest().lastStep() == 0)
            return;
        paintHeadSwap(painter);
        paintSkipMarks(painter);
    });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) { paintCaption(painter); });
    updateMargins(2 * QFontMetrics(smallFont()).height() + 2);
}

QString AccuracyPlot::title() const
{
    const HeldOutSeries::Point* newest = m_heldOut.newest();
    if (newest == nullptr)
        return tr("Accuracy");
    const HeldOutSeries::Point* best = m_heldOut.best();
    return tr("Accuracy · held out %1 · best %2 at step %3")
        .arg(shareText(newest->value, 1.0), shareText(best->value, 1.0), stepText(best->step));
}

void AccuracyPlot::refreshData()
{
    extendSeries();
    setEmptyText(digest().lastStep() == 0 ? tr("The accuracy appears with the first step.") : QString());
}

void AccuracyPlot::extendSeries()
{
    const std::size_t count = m_run != nullptr ? m_run->steps.size() : 0;
    if (m_source.changed(m_run, digest().headSwapped, m_smoothed.size())) {
        m_smoothed.clear();
        m_mean = {};
    }
    for (std::size_t i = m_smoothed.size(); i < count; ++i) {
        if (i + 1 == headSwap()) // from now on of classes, not of characters
            m_mean = {};
        m_smoothed.append(static_cast<float>(m_mean.add(percent(m_run->steps[i].accuracy), kSmoothing)));
    }
    m_heldOut.extend(m_run, digest().headSwapped);
}

double AccuracyPlot::smoothedAt(std::int64_t step) const
{
    if (step < 1 || step > static_cast<std::int64_t>(m_smoothed.size()))
        return kNone;
    return static_cast<double>(m_smoothed.value(static_cast<std::size_t>(step - 1))) / 100.0;
}

double AccuracyPlot::guessing() const
{
    const int classes = m_run != nullptr ? m_run->info.data.classes : 0;
    const bool pretraining = m_run != nullptr && m_run->live.pretraining; // which guesses characters
    return classes > 0 && !pretraining ? 100.0 / classes : kNone;
}

// The raw values of small batches jump about between a few shares; what they come to is what has to fit.
QCPRange AccuracyPlot::fittingYRange() const
{
    const QCPRange view = link()->range();
    const auto begin = static_cast<std::size_t>(std::max(1.0, std::ceil(view.lower))) - 1;
    const auto end = static_cast<std::size_t>(std::max(0.0, std::floor(view.upper)));
    MinMaxPyramid::Extent extent = m_smoothed.extent(begin, end);
    extent.include(m_heldOut.extent(view, percent));
    if (!extent.valid)
        return {0, 100};
    const double low = extent.min;
    const double high = extent.max;
    const double margin = std::max(0.1 * (high - low), 1.0);
    return {std::max(low - margin, -2.0), std::min(high + margin, 102.0)};
}

QStringList AccuracyPlot::describeStep(std::int64_t step, std::optional<double>) const
{
    const auto found = recordAt(step);
    if (!found)
        return {};
    const StepRecord& record = *found;
    QStringList lines{tr("Step %1").arg(stepText(record.step))};
    if (std::isfinite(record.accuracy))
        lines << tr("Right %1 of the batch").arg(shareText(record.accuracy, 1.0));
    if (const double smoothed = smoothedAt(step); std::isfinite(smoothed))
        lines << tr("Smoothed ≈ %1").arg(shareText(smoothed, 1.0));
    if (const double held = m_heldOut.at(step); std::isfinite(held))
        lines << tr("Held out %1").arg(shareText(held, 1.0));
    if (const QString skipped = skipText(step); !skipped.isEmpty())
        lines << skipped;
    return lines;
}

void AccuracyPlot::paintAccuracy(QCPPainter& painter)
{
    if (const double guess = guessing(); std::isfinite(guess)) {
        QPen pen(theme().textDim, 1);
        pen.setDashPattern({1, 3});
        painter.setPen(pen);
        const double begin = digest().headSwapped > 0 ? pixelOfStep(static_cast<double>(digest().headSwapped)) : 0.0;
        if (begin < inner().right())
            painter.drawLine(QPointF(std::max(inner().left(), begin), yPixel(guess)),
                             QPointF(inner().right(), yPixel(guess)));
    }
    paintSeries(painter, m_smoothed, QPen(theme().lossSmooth, isExporting() ? 1.5 : 1));
    m_heldOut.paint(
        painter, link()->range(), percent,
        [this](double step, double y) { return QPointF(pixelOfStep(step), yPixel(y)); }, heldOutStyle(theme()));
}

void AccuracyPlot::paintCaption(QCPPainter& painter)
{
    if (digest().lastStep() == 0)
        return;
    std::vector<LegendEntry> entries{{tr("training, smoothed"), tr("training"), legendLine(theme().lossSmooth)}};
    if (!m_heldOut.points().empty())
        entries.push_back({tr("held out"), {}, HeldOutSeries::legend(heldOutStyle(theme()))});
    if (std::isfinite(guessing()))
        entries.push_back({tr("guessing: %1").arg(shareText(guessing(), 100.0)), tr("guessing"),
                           legendLine(SeriesStyle{theme().textDim, {1, 3}})});
    paintLegend(painter, smallFont(), theme().textDim, inner().left(), inner().right(), captionTop(), entries);
}

QByteArray AccuracyPlot::visibleCsv() const
{
    CsvRows rows("step,outcome,accuracy,smoothed,validation_accuracy");
    for (const StepRecord& record : visibleRecords())
        rows.add(record.step, outcomeKey(record.outcome), record.accuracy, static_cast<float>(smoothedAt(record.step)),
                 record.validationAccuracy);
    return rows.text();
}

} // namespace halfscope
