// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/loss_plot.h"

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

constexpr double kSmoothWidth = 1.75; // beside the raw curve's 1

SeriesStyle shadowStyle(const Theme& theme) { return {theme.formatColor(FormatId::Fp32), {4, 3}}; }

} // namespace

LossPlot::LossPlot(QWidget* parent) : StepPlot(parent), m_heldOut(&StepRecord::validationLoss, false)
{
    yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new NumberTicker));
    setMostMarks(9, 4);
    setAccessibleName(tr("Loss"));
    setAccessibleDescription(tr("Unscaled training loss of every step, raw and smoothed, with skipped steps marked. "
                                "Arrow keys move along the steps, plus and minus zoom."));
    new PaintLayer(this, kData, true, [this](QCPPainter& painter) { paintLoss(painter); });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) { paintMarks(painter); });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) { paintCaption(painter); });
    updateMargins(2 * QFontMetrics(smallFont()).height() + 2);
}

QString LossPlot::title() const
{
    const HeldOutSeries::Point* newest = m_heldOut.newest();
    if (newest == nullptr)
        return tr("Loss");
    const HeldOutSeries::Point* best = m_heldOut.best();
    return tr("Loss · held out %1 · best %2 at step %3")
        .arg(roundedText(newest->value, 4), roundedText(best->value, 4), stepText(best->step));
}

QString LossPlot::yTitle() const
{
    const bool tokens = m_run == nullptr || m_run->info.data.classes == 0;
    return tokens ? tr("loss, nats per token") : tr("loss, nats");
}

double LossPlot::drawn(double value) const
{
    if (!m_logarithmic)
        return value;
    return value > 0 ? std::log10(value) : std::numeric_limits<double>::quiet_NaN();
}

void LossPlot::setLogarithmic(bool on)
{
    if (on == m_logarithmic)
        return;
    m_logarithmic = on;
    yAxis->setTicker(on ? QSharedPointer<QCPAxisTicker>(new LogTicker)
                        : QSharedPointer<QCPAxisTicker>(new NumberTicker));
    m_source = {}; // draw from the records again
    extendSeries();
    resetY();
}

void LossPlot::setSmoothing(double weight)
{
    m_smoothing = std::clamp(weight, 0.0, 0.9999);
    m_source = {};
    refresh();
}

void LossPlot::refreshData()
{
    extendSeries();
    setEmptyText(digest().lastStep() == 0 ? tr("The loss appears with the first step.") : QString());
}

void LossPlot::extendSeries()
{
    const std::size_t count = m_run != nullptr ? m_run->steps.size() : 0;
    if (m_source.changed(m_run, digest().headSwapped, m_raw.size())) {
        m_raw.clear();
        m_smoothed.clear();
        m_shadow.clear();
        m_mean = m_shadowMean = {};
        m_hasShadow = false;
    }
    m_heldOut.extend(m_run, digest().headSwapped);
    // A value without a logarithm is a gap, like one that is not finite.
    const auto place = [this](double value) { return static_cast<float>(drawn(value)); };
    for (std::size_t i = m_raw.size(); i < count; ++i) {
        if (i + 1 == headSwap()) // what comes now is another quantity
            m_mean = m_shadowMean = {};
        const StepRecord record = m_run->steps[i];
        m_hasShadow = m_hasShadow || std::isfinite(record.shadowLoss);
        m_shadow.append(place(m_shadowMean.add(record.shadowLoss, m_smoothing)));
        m_raw.append(place(record.loss));
        m_smoothed.append(place(m_mean.add(record.loss, m_smoothing)));
    }
}

double LossPlot::smoothedAt(std::int64_t step) const
{
    if (step < 1 || step > static_cast<std::int64_t>(m_smoothed.size()))
        return std::numeric_limits<double>::quiet_NaN();
    const auto value = static_cast<double>(m_smoothed.value(static_cast<std::size_t>(step - 1)));
    return m_logarithmic ? std::pow(10.0, value) : value;
}

QCPRange LossPlot::fittingYRange() const
{
    const QCPRange view = link()->range();
    const auto begin = static_cast<std::size_t>(std::max(1.0, std::ceil(view.lower))) - 1;
    const auto end = static_cast<std::size_t>(std::max(0.0, std::floor(view.upper)));
    MinMaxPyramid::Extent extent = m_raw.extent(begin, end);
    for (const MinMaxPyramid::Extent& other :
         {m_shadow.extent(begin, end), m_heldOut.extent(view, [this](double value) { return drawn(value); })}) {
        if (other.valid)
            extent.include(other);
    }
    if (!extent.valid)
        return m_logarithmic ? QCPRange(-1, 1) : QCPRange(0, 5);
    const double low = extent.min;
    const double high = extent.max;
    const double margin = std::max(0.06 * (high - low), 1e-3 * std::max(1.0, std::abs(high)));
    return {low - margin, high + margin};
}

QStringList LossPlot::describeStep(std::int64_t step, std::optional<double>) const
{
    const auto found = recordAt(step);
    if (!found)
        return {};
    const StepRecord& record = *found;
    QStringList lines{tr("Step %1").arg(stepText(record.step)), tr("Loss %1").arg(roundedText(record.loss, 5))};
    const double smoothed = smoothedAt(step);
    if (m_smoothing > 0 && std::isfinite(smoothed))
        lines << tr("Smoothed ≈ %1").arg(roundedText(smoothed, 5));
    if (std::isfinite(record.validationLoss))
        lines << tr("Held out %1").arg(roundedText(record.validationLoss, 5));
    if (std::isfinite(record.shadowLoss))
        lines << tr("FP32 run %1").arg(roundedText(record.shadowLoss, 5));
    const QString skipped = skipText(step);
    if (!skipped.isEmpty())
        lines << skipped;
    return lines;
}

void LossPlot::paintLoss(QCPPainter& painter)
{
    paintSeries(painter, m_raw, QPen(m_smoothing > 0 ? theme().lossRaw : theme().lossSmooth, 1));
    if (m_smoothing > 0)
        paintSeries(painter, m_smoothed, QPen(theme().lossSmooth, kSmoothWidth));
    if (m_hasShadow) // over the smoothed one, which shows through its gaps: most of the way they are one line
        paintSeries(painter, m_shadow, shadowStyle(theme()).pen(kSmoothWidth));
    m_heldOut.paint(
        painter, link()->range(), [this](double value) { return drawn(value); },
        [this](double step, double y) { return QPointF(pixelOfStep(step), yPixel(y)); }, heldOutStyle(theme()));
}

void LossPlot::paintMarks(QCPPainter& painter)
{
    if (digest().lastStep() == 0)
        return;
    paintHeadSwap(painter);
    paintSkipMarks(painter);
}

void LossPlot::paintCaption(QCPPainter& painter)
{
    if (digest().lastStep() == 0)
        return;
    std::vector<LegendEntry> entries{
        {tr("loss, raw"), tr("raw"), legendLine(m_smoothing > 0 ? theme().lossRaw : theme().lossSmooth)}};
    if (m_smoothing > 0)
        entries.push_back({tr("smoothed"), {}, legendLine(theme().lossSmooth)});
    if (!m_heldOut.points().empty())
        entries.push_back({tr("held out"), {}, HeldOutSeries::legend(heldOutStyle(theme()))});
    if (m_hasShadow)
        entries.push_back({tr("FP32 run, smoothed"), tr("FP32"), legendLine(shadowStyle(theme()))});
    paintLegend(painter, smallFont(), theme().textDim, inner().left(), inner().right(), captionTop(), entries);
}

QByteArray LossPlot::visibleCsv() const
{
    const bool held = !m_heldOut.points().empty();
    QByteArray header("step,outcome,loss,smoothed");
    header += m_hasShadow ? ",shadow_loss" : "";
    header += held ? ",validation_loss" : "";
    CsvRows rows(header.constData());
    for (const StepRecord& record : visibleRecords()) {
        const auto add = [&](auto... more) {
            rows.add(record.step, outcomeKey(record.outcome), record.loss, static_cast<float>(smoothedAt(record.step)),
                     more...);
        };
        if (m_hasShadow && held)
            add(record.shadowLoss, record.validationLoss);
        else if (m_hasShadow)
            add(record.shadowLoss);
        else if (held)
            add(record.validationLoss);
        else
            add();
    }
    return rows.text();
}

} // namespace halfscope
