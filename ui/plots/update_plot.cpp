// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/update_plot.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <algorithm>
#include <cmath>
#include <map>

#include "ui/number_text.h"
#include "ui/plots/axis_tickers.h"
#include "ui/plots/csv_rows.h"
#include "ui/plots/legend.h"
#include "ui/plots/spectrum_data.h"

namespace halfscope {

namespace {

constexpr double kBase = -0.30103; // log10(1/2): where bars stand, so that a single count is visible
const QCPRange kEmptyRange(-30, 2);

} // namespace

UpdatePlot::UpdatePlot(QWidget* parent) : Plot(parent)
{
    xAxis->setTicker(QSharedPointer<QCPAxisTicker>(new ExponentTicker));
    yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new DecadeTicker));
    setMostMarks(9, 6);
    xAxis->setRange(kEmptyRange);
    yAxis->setRange(kBase, 6);
    xAxis->setLabelPadding(2);
    axisRect()->setAutoMargins(QCP::msNone);
    setAccessibleName(tr("Sizes of the updates"));
    setFocusPolicy(Qt::StrongFocus);
    new PaintLayer(this, kShading, true, [this](QCPPainter& painter) { paintBand(painter); });
    new PaintLayer(this, kData, true, [this](QCPPainter& painter) { paintBars(painter); });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) { paintCaption(painter); });
    UpdatePlot::applyTheme();
}

void UpdatePlot::applyTheme()
{
    Plot::applyTheme();
    const QFontMetrics metrics(smallFont());
    QMargins margins = stepPlotMargins(metrics, true, metrics.height() + 8);
    margins.setBottom(margins.bottom() + metrics.height() + 2); // the axis' title
    axisRect()->setMargins(margins);
}

QString UpdatePlot::widestXLabel() const { return powerOfTwo(-100); }

QString UpdatePlot::title() const
{
    if (m_run == nullptr || m_run->selection.modules.empty())
        return tr("Updates of all weights");
    if (m_run->selection.modules.size() > 1)
        return tr("Updates of %1 modules").arg(m_run->selection.modules.size());
    const auto module = static_cast<std::size_t>(m_run->selection.modules.front());
    return tr("Updates of %1").arg(QString::fromStdString(m_run->info.modules.at(module).name));
}

void UpdatePlot::take()
{
    m_updates.reset();
    m_band.reset();
    if (m_run == nullptr || m_run->latest == nullptr)
        return;
    const auto& modules = m_run->selection.modules;
    const auto wanted = [&](const ModuleUpdates& update) {
        return modules.empty() || std::ranges::find(modules, update.module) != modules.end();
    };
    std::map<FormatId, std::uint64_t> weights;
    for (const ModuleUpdates& update : m_run->latest->updates) {
        if (wanted(update))
            weights[update.format] += update.statistics.weights;
    }
    if (weights.empty())
        return;
    // One band can be drawn: that of the format most weights have to move in, and these are shown.
    m_format = std::ranges::max_element(weights, {}, [](const auto& entry) { return entry.second; })->first;
    m_updates.emplace();
    for (const ModuleUpdates& update : m_run->latest->updates) {
        if (wanted(update) && update.format == m_format)
            m_updates->merge(update.statistics);
    }
    m_step = m_run->latest->step;
    // Half a unit in the last place, relative to a weight of significand 2 and of significand 1.
    const double half = -floatFormat(m_format).mantissaBits - 1;
    if (m_format != FormatId::Fp32)
        m_band = QCPRange(half - 1, half);
}

QString UpdatePlot::headline() const
{
    if (!m_updates)
        return {};
    const auto updates = static_cast<double>(m_updates->updates());
    return tr("Step %1: %2 of %3 updates of weights that have to move in %4 leave them where they are")
        .arg(stepText(m_step), shareText(static_cast<double>(m_updates->lost), updates),
             countText(m_updates->updates()), formatText(m_format));
}

void UpdatePlot::refresh()
{
    take();
    QString empty;
    if (!m_updates) {
        empty = m_run != nullptr && !m_run->live.config.measureUpdates
                    ? tr("Updates are not measured: switch that on above.")
                    : tr("The updates appear with the next applied step.");
    }
    setEmptyText(empty);
    updateAxisTitles();
    setAccessibleDescription(m_updates ? headline() : empty);
    fitRanges();
    queueReplot();
}

void UpdatePlot::fitRanges()
{
    if (!m_updates || m_byUser)
        return;
    const auto& bins = m_updates->ratios.bins;
    const auto occupied = [](std::uint64_t n) { return n != 0; };
    const auto first = std::ranges::find_if(bins, occupied);
    double low = kEmptyRange.lower;
    double high = kEmptyRange.upper;
    if (first != bins.end()) {
        const auto last = std::find_if(bins.rbegin(), bins.rend(), occupied).base();
        low = static_cast<double>(first - bins.begin()) + ExponentHistogram::kMinExponent - 1;
        high = static_cast<double>(last - bins.begin()) + ExponentHistogram::kMinExponent + 1;
    }
    if (m_band) {
        low = std::min(low, m_band->lower - 3);
        high = std::max(high, m_band->upper + 3);
    }
    // Grows at once, shrinks only by much: the axis does not twitch.
    const QCPRange now = xAxis->range();
    if (low < now.lower || high > now.upper || high - low < 0.6 * now.size())
        xAxis->setRange(low, high);
    const double most = static_cast<double>(*std::ranges::max_element(bins));
    yAxis->setRange(kBase, std::max(1.0, std::log10(std::max(most, 1.0)) + 0.4));
}

double UpdatePlot::x(double exponent) const
{
    return inner().left() + (exponent - xAxis->range().lower) / xAxis->range().size() * inner().width();
}

double UpdatePlot::y(double count) const
{
    return inner().bottom() - (std::log10(count) - yAxis->range().lower) / yAxis->range().size() * inner().height();
}

void UpdatePlot::paintBand(QCPPainter& painter)
{
    if (!m_updates || !m_band)
        return;
    QColor lost = theme().flushed;
    lost.setAlpha(34);
    painter.setPen(Qt::NoPen);
    painter.fillRect(QRectF(inner().left(), inner().top(), x(m_band->lower) - inner().left(), inner().height()), lost);
    QColor maybe = theme().subnormal;
    maybe.setAlpha(50);
    painter.fillRect(QRectF(QPointF(x(m_band->lower), inner().top()), QPointF(x(m_band->upper), inner().bottom())),
                     maybe);
    painter.setAntialiasing(false);
    painter.setPen(QPen(theme().accent, 1.2));
    for (const double edge : {m_band->lower, m_band->upper})
        painter.drawLine(QPointF(x(edge), inner().top()), QPointF(x(edge), inner().bottom()));
}

void UpdatePlot::paintBars(QCPPainter& painter)
{
    if (!m_updates)
        return;
    painter.setAntialiasing(false);
    painter.setPen(Qt::NoPen);
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e) {
        const std::uint64_t count = m_updates->ratios.at(e);
        if (count == 0)
            continue;
        QColor color = theme().normal;
        if (m_band)
            color = e < m_band->lower ? theme().flushed : e < m_band->upper ? theme().subnormal : theme().normal;
        const double gap = x(1) - x(0) > 5 ? 1.0 : 0.0;
        painter.fillRect(QRectF(QPointF(std::round(x(e)) + gap, y(static_cast<double>(count))),
                                QPointF(std::round(x(e + 1)), inner().bottom())),
                         color);
    }
}

void UpdatePlot::paintCaption(QCPPainter& painter)
{
    if (!m_updates)
        return;
    std::vector<LegendEntry> entries;
    const auto square = [](const QColor& color) {
        return [color](QCPPainter& p, const QPointF& at) {
            p.setPen(Qt::NoPen);
            p.setBrush(color);
            p.drawRect(QRectF(at.x() - 4, at.y() - 4, 8, 8));
        };
    };
    if (m_band) {
        const QString format = formatText(m_format);
        entries.push_back({tr("never moves a weight in %1").arg(format), tr("lost"), square(theme().flushed)});
        entries.push_back(
            {tr("moves some: half a unit in the last place"), tr("some lost"), square(theme().subnormal)});
        entries.push_back({tr("moves, unless it is subnormal"), tr("moves"), square(theme().normal)});
    } else {
        entries.push_back({tr("weights in FP32"), {}, square(theme().normal)});
    }
    painter.setAntialiasing(true);
    paintLegend(painter, smallFont(), theme().textDim, inner().left() + 4, inner().right(), captionTop(), entries);
}

void UpdatePlot::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (!m_updates || !inner().contains(at)) {
        hideReadout();
        return;
    }
    const double exponent = xAxis->range().lower + (at.x() - inner().left()) / inner().width() * xAxis->range().size();
    const int e = static_cast<int>(std::floor(exponent));
    if (e < ExponentHistogram::kMinExponent || e > ExponentHistogram::kMaxExponent) {
        hideReadout();
        return;
    }
    const std::uint64_t count = m_updates->ratios.at(e);
    QStringList lines{
        tr("|Δw| / |w| from %1 to %2").arg(powerOfTwo(e), powerOfTwo(e + 1)),
        tr("%1 weights, %2 of the updates")
            .arg(countText(count), shareText(static_cast<double>(count), static_cast<double>(m_updates->updates())))};
    if (m_band)
        lines << (e < m_band->lower ? tr("Too small to move any weight in %1").arg(formatText(m_format))
                  : e < m_band->upper
                      ? tr("Moves a weight in %1 or not, as its significand has it").arg(formatText(m_format))
                      : tr("Moves a weight in %1, unless it is subnormal there").arg(formatText(m_format)));
    showReadout(at, lines);
    replotPointer();
}

void UpdatePlot::leaveEvent(QEvent* event)
{
    hideReadout();
    Plot::leaveEvent(event);
}

void UpdatePlot::zoomX(double factor)
{
    m_byUser = true;
    xAxis->scaleRange(1.0 / factor, xAxis->range().center());
    queueReplot();
}

void UpdatePlot::zoomY(double factor)
{
    m_byUser = true;
    yAxis->setRange(kBase, kBase + (yAxis->range().upper - kBase) / factor);
    queueReplot();
}

void UpdatePlot::panX(double fraction)
{
    m_byUser = true;
    xAxis->moveRange(fraction * xAxis->range().size());
    queueReplot();
}

void UpdatePlot::resetView()
{
    m_byUser = false;
    xAxis->setRange(0, 1);
    fitRanges();
    queueReplot();
}

QByteArray UpdatePlot::visibleCsv() const
{
    CsvRows rows("step,exponent,count");
    for (int e = ExponentHistogram::kMinExponent; m_updates && e <= ExponentHistogram::kMaxExponent; ++e) {
        if (m_updates->ratios.at(e) != 0 && xAxis->range().contains(e))
            rows.add(m_step, e, m_updates->ratios.at(e));
    }
    return rows.text();
}

} // namespace halfscope
