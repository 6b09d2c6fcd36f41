// SPDX-License-Identifier: GPL-3.0-or-later
// The curve's data, axes and words. What it looks like is in what_if_paint.cpp, how it is used in what_if_pointer.cpp.
#include "ui/plots/what_if_plot.h"

#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/plots/axis_tickers.h"
#include "ui/plots/csv_rows.h"
#include "ui/plots/spectrum_plot.h"

namespace halfscope {

namespace {

constexpr double kLowest = -126.0; // log2 of the scales a run can have
constexpr double kHighest = 127.0;
constexpr double kAround = 5.0;   // octaves either side of what is marked
constexpr double kTop = 0.12;     // log10 above 100 %
constexpr double kShortest = 6.0; // octaves on the axis

Bounded measured(std::uint64_t count)
{
    const auto n = static_cast<double>(count);
    return {n, n, n};
}

} // namespace

WhatIfPlot::WhatIfPlot(QWidget* parent) : ScaleSettingPlot(parent)
{
    xAxis->setTicker(QSharedPointer<QCPAxisTicker>(new ExponentTicker));
    yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new ShareTicker));
    setMostMarks(9, 6);
    xAxis->setRange(-4, 40);
    yAxis->setRange(-6, kTop);
    xAxis->setLabelPadding(2);
    setAccessibleName(tr("What if"));
    new PaintLayer(this, kShading, true, [this](QCPPainter& painter) { paintShading(painter); });
    new PaintLayer(this, kData, true, [this](QCPPainter& painter) { paintCurves(painter); });
    new PaintLayer(this, kMarks, true, [this](QCPPainter& painter) { paintMarks(painter); });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) { paintCaption(painter); });
    new PaintLayer(this, kPointer, true, [this](QCPPainter& painter) { paintHover(painter); });
    axisRect()->setAutoMargins(QCP::msBottom);
    WhatIfPlot::applyTheme();
}

void WhatIfPlot::applyTheme()
{
    Plot::applyTheme();
    const QFontMetrics metrics(smallFont());
    axisRect()->setMargins(stepPlotMargins(metrics, true, metrics.height() + 6));
}

void WhatIfPlot::showStep(std::optional<qint64> step)
{
    if (step == m_step)
        return;
    m_step = step;
    if (isVisible())
        refresh();
}

void WhatIfPlot::clearPendingScale()
{
    m_hand.forget();
    refresh();
}

void WhatIfPlot::refresh()
{
    m_data.take(m_run, m_step);
    m_scale = m_hand.take(m_run, m_data, m_step.has_value(), m_grip == Grip::Scale);
    takeParts();
    setEmptyText(!m_data.isEmpty() && !m_data.isScaled()
                     ? tr("Activations are cast as they are: no loss scale changes what they lose.")
                 : m_data.isEmpty() ? emptyText(m_run)
                 : m_parts.empty()
                     ? tr("Each of these tensors has an FP8 scale of its own, which follows its largest value: no loss "
                          "scale changes what they lose. A single one can be looked at.")
                     : QString());
    fitRanges();
    m_points.clear();
    if (!m_parts.empty())
        m_points = whatIfCurve(m_parts, std::floor(xAxis->range().lower), std::ceil(xAxis->range().upper));
    setAccessibleDescription(m_parts.empty() ? emptyText(m_run) : headline());
    updateAxisTitles();
    updateHover();
    queueReplot();
}

void WhatIfPlot::takeParts()
{
    m_parts.clear();
    m_range.reset();
    if (m_data.isEmpty() || !m_data.isScaled() || m_data.parts().empty())
        return;
    if (m_data.isComparison())
        m_parts.emplace_back(m_data.format().id, m_data.all());
    else
        m_parts = m_data.parts();
    m_range = scaleRange(m_parts, m_run->live.config.lowQuantile);
}

double WhatIfPlot::total() const { return m_data.isEmpty() ? 0.0 : static_cast<double>(m_data.all().count()); }

ClassEstimate WhatIfPlot::classesAt(double scale) const
{
    if (m_data.isComparison() || scale != m_data.measuredScale())
        return estimateClasses(m_parts, scale);
    ClassEstimate sum;
    for (const auto& [format, statistics] : m_parts) {
        const ClassCounts& n = statistics.classes;
        sum += {measured(n[ValueClass::Flushed]), measured(n[ValueClass::Subnormal]), measured(n[ValueClass::Normal]),
                measured(n[ValueClass::Saturating])};
    }
    return sum;
}

void WhatIfPlot::fitRanges()
{
    if (m_parts.empty())
        return;
    if (!m_xByUser && m_grip == Grip::None) {
        // Everything that is marked; the true minimum only as far as it is near.
        double low = std::log2(m_scale);
        double high = low;
        if (m_range) {
            const StabilityBand& band = m_range->band;
            low = std::min({low, band.low, band.high});
            high = std::max({high, band.low, band.high, std::min(band.trueMinimum, band.high + 2 * kAround)});
        }
        low = std::max(kLowest, std::floor((low - kAround) / 4) * 4);
        high = std::min(kHighest, std::ceil((high + kAround) / 4) * 4);
        const QCPRange now = xAxis->range();
        // Grows at once; shrinks only when much is empty, so that the picture rests.
        if (low < now.lower || low > now.lower + 12)
            xAxis->setRangeLower(low);
        if (high > now.upper || high < now.upper - 12)
            xAxis->setRangeUpper(high);
    }
    if (!m_yByUser) {
        // Down to a single value.
        const double bottom = std::floor(-std::log10(std::max(10.0, total()))) - 0.1;
        if (bottom < yAxis->range().lower || bottom > yAxis->range().lower + 1.5 || yAxis->range().upper != kTop)
            yAxis->setRange(bottom, kTop);
    }
}

double WhatIfPlot::pixelOf(double scale) const
{
    const QCPRange range = xAxis->range();
    return inner().left() + (std::log2(scale) - range.lower) / range.size() * inner().width();
}

double WhatIfPlot::scaleAt(double pixel) const
{
    const QCPRange range = xAxis->range();
    const double at = range.lower + (pixel - inner().left()) / std::max(1.0, inner().width()) * range.size();
    return std::exp2(std::clamp(at, kLowest, kHighest));
}

double WhatIfPlot::pixelOfShare(double share) const
{
    if (!(share > 0))
        return inner().bottom() + 1;
    const QCPRange range = yAxis->range();
    return std::min(inner().bottom() + 1,
                    inner().top() + (range.upper - std::log10(share)) / range.size() * inner().height());
}

void WhatIfPlot::zoomX(double factor)
{
    const double span = std::clamp(xAxis->range().size() / factor, kShortest, kHighest - kLowest);
    m_xByUser = true;
    xAxis->setRange(std::log2(m_scale), span, Qt::AlignCenter); // about the scale: it is what one zooms in on
    refresh();
    emit viewChanged();
}

void WhatIfPlot::zoomY(double factor)
{
    m_yByUser = true;
    yAxis->setRange(kTop - std::clamp((kTop - yAxis->range().lower) / factor, 0.5, 15.0), kTop);
    queueReplot();
    emit viewChanged();
}

void WhatIfPlot::panX(double fraction)
{
    const double span = xAxis->range().size();
    const double low = std::clamp(xAxis->range().lower + fraction * span, kLowest - 0.5 * span, kHighest - 0.5 * span);
    m_xByUser = true;
    xAxis->setRange(low, low + span);
    refresh();
    emit viewChanged();
}

void WhatIfPlot::resetView()
{
    m_xByUser = m_yByUser = false;
    xAxis->setRange(0, 1); // so that nothing of the old range is kept
    yAxis->setRange(0, 1);
    refresh();
    emit viewChanged();
}

void WhatIfPlot::resizeEvent(QResizeEvent* event)
{
    Plot::resizeEvent(event);
    queueReplot();
}

QString WhatIfPlot::title() const
{
    if (m_run == nullptr)
        return tr("What if");
    return tr("What if · %1 · %2").arg(selectionText(*m_run), tapText(m_run->selection.tap));
}

QString WhatIfPlot::widestXLabel() const { return powerOfTwo(-100); }
QString WhatIfPlot::xTitle() const { return tr("loss scale, power of two"); }
QString WhatIfPlot::yTitle() const { return tr("share of all values"); }
QString WhatIfPlot::screenXTitle() const { return m_parts.empty() ? QString() : tr("loss scale"); }

// Exact, or an estimate with the bounds it cannot leave.
QString WhatIfPlot::boundedText(const Bounded& count) const
{
    if (count.exact())
        return shareText(count.value, total());
    const QString low = shareText(count.low, total());
    const QString high = shareText(count.high, total());
    const QString value = shareText(count.value, total());
    if (low == high) // a bound is no estimate
        return value.startsWith(QLatin1Char('<')) ? value : QStringLiteral("≈ ") + value;
    return tr("≈ %1 (%2 to %3)").arg(value, low, high);
}

// FP8 clamps what is finite; every other format makes it infinite, and the step is skipped.
bool WhatIfPlot::skipsAt(double scale) const
{
    return std::ranges::any_of(m_parts, [scale](const FormatPart& part) {
        return part.first != FormatId::Fp8E4M3 && part.first != FormatId::Fp8E5M2 &&
               estimateClasses(part.second, floatFormat(part.first), scale).overflow.low > 0;
    });
}

QStringList WhatIfPlot::describe(double scale) const
{
    const ClassEstimate at = classesAt(scale);
    QStringList lines{tr("Scale %1").arg(scaleText(scale)), tr("flushed %1").arg(boundedText(at.flushed)),
                      tr("subnormal %1").arg(boundedText(at.subnormal)),
                      tr("overflowing %1").arg(boundedText(at.overflow))};
    if (m_data.isComparison())
        lines << tr("if it were %1").arg(m_data.formatName());
    else if (skipsAt(scale))
        lines << tr("Such a step would be skipped.");
    else if (at.overflow.low > 0)
        lines << tr("Such values would be clamped, as FP8 does it; the step is taken.");
    else if (m_range && std::log2(scale) >= m_range->band.low && std::log2(scale) < m_range->band.high)
        lines << tr("Within the stable band.");
    const ClassCounts& classes = m_data.all().classes;
    if (const std::uint64_t lost = classes[ValueClass::Inf] + classes[ValueClass::NaN]; lost > 0)
        lines << tr("Besides %1 inf or NaN before the cast, in no bin.").arg(countText(lost));
    return lines;
}

QString WhatIfPlot::headline() const
{
    if (m_parts.empty())
        return {};
    const ClassEstimate at = classesAt(m_scale);
    const qint64 first = m_data.firstStep();
    const qint64 last = m_data.lastStep();
    const QString steps =
        first == last ? tr("step %1").arg(stepText(last)) : tr("steps %1–%2").arg(stepText(first), stepText(last));
    QString text =
        (m_data.isComparison()
             ? tr("%1 at scale %2, if it were %3: flushed %4, subnormal %5, overflowing %6")
                   .arg(steps, shortScaleText(m_scale), m_data.formatName())
             : tr("%1 at scale %2: flushed %3, subnormal %4, overflowing %5").arg(steps, shortScaleText(m_scale)))
            .arg(WhatIfPlot::boundedText(at.flushed), WhatIfPlot::boundedText(at.subnormal),
                 WhatIfPlot::boundedText(at.overflow));
    const ClassCounts& classes = m_data.all().classes;
    if (const std::uint64_t lost = classes[ValueClass::Inf] + classes[ValueClass::NaN]; lost > 0)
        text += tr("; %1 inf or NaN before the cast").arg(countText(lost));
    return text;
}

QByteArray WhatIfPlot::visibleCsv() const
{
    CsvRows rows("scale,total,flushed,flushed_low,flushed_high,subnormal,subnormal_low,subnormal_high,overflow,"
                 "overflow_low,overflow_high");
    const QCPRange range = xAxis->range();
    for (const WhatIfPoint& point : m_points) {
        const double at = std::log2(point.scale);
        if (at < range.lower || at > range.upper)
            continue;
        const ClassEstimate c = classesAt(point.scale);
        rows.add(point.scale, total(), c.flushed.value, c.flushed.low, c.flushed.high, c.subnormal.value,
                 c.subnormal.low, c.subnormal.high, c.overflow.value, c.overflow.low, c.overflow.high);
    }
    return rows.text();
}

} // namespace halfscope
