// SPDX-License-Identifier: GPL-3.0-or-later
// The spectrum's data and axes. What it looks like is in spectrum_paint.cpp, what it says in spectrum_text.cpp, and how
// it is used in spectrum_pointer.cpp.
#include "ui/plots/spectrum_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/plots/axis_tickers.h"
#include "ui/plots/csv_rows.h"
#include "ui/plots/strip_element.h"

namespace halfscope {

namespace {

constexpr double kBase = -0.30103; // log10(1/2): where bars stand, so that a single count is visible

} // namespace

SpectrumPlot::SpectrumPlot(QWidget* parent) : ScaleSettingPlot(parent)
{
    m_window = formatWindow(m_data.format(), m_scale);
    xAxis->setTicker(QSharedPointer<QCPAxisTicker>(new ExponentTicker));
    yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new DecadeTicker));
    setMostMarks(9, 6);
    xAxis->setRange(-44, 4);
    yAxis->setRange(kBase, 6);
    xAxis->setLabelPadding(2);
    setAccessibleName(tr("Gradient spectrum"));

    auto* headline =
        new StripElement(this, [this](QCPPainter& painter, const QRectF& rect) { paintHeadline(painter, rect); });
    headline->setLayer(kMarks);
    headline->setHeight(2 * QFontMetrics(font()).height() + 8);
    plotLayout()->addElement(1, 0, headline);
    plotLayout()->setRowSpacing(2);
    axisRect()->setAutoMargins(QCP::msBottom);

    new PaintLayer(this, kShading, true, [this](QCPPainter& painter) { paintShading(painter); });
    new PaintLayer(this, kData, true, [this](QCPPainter& painter) { paintBars(painter); });
    new PaintLayer(this, kMarks, true, [this](QCPPainter& painter) { paintMarks(painter); });
    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) {
        paintCapsules(painter);
        paintCaption(painter);
    });
    new PaintLayer(this, kPointer, true, [this](QCPPainter& painter) { paintHoverBin(painter); });
    SpectrumPlot::applyTheme();
}

void SpectrumPlot::applyTheme()
{
    Plot::applyTheme();
    const QFontMetrics metrics(smallFont());
    QMargins margins = stepPlotMargins(metrics, true, metrics.height() + 6);
    axisRect()->setMargins(margins);
}

// A picture of another size has other room above its bars.
void SpectrumPlot::updateLayout()
{
    Plot::updateLayout();
    if (!isExporting() || m_yByUser)
        return;
    yAxis->setRange(0, 1);
    fitRanges();
    Plot::updateLayout();
}

void SpectrumPlot::setScaledAxis(bool scaled)
{
    if (scaled == m_scaledAxis)
        return;
    m_scaledAxis = scaled;
    m_xByUser = false;
    xAxis->setRange(0, 1); // nothing of the old range is kept
    refresh();
    emit viewChanged();
}

void SpectrumPlot::previewStep(std::optional<qint64> step)
{
    if (step == m_preview)
        return;
    m_preview = step;
    refresh();
}

void SpectrumPlot::freezeStep(std::optional<qint64> step)
{
    if (step == m_frozen)
        return;
    m_frozen = step;
    refresh();
    emit frozenStepChanged();
}

void SpectrumPlot::clearPendingScale()
{
    m_hand.forget();
    refresh();
}

void SpectrumPlot::refresh()
{
    m_data.take(m_run, m_preview ? m_preview : m_frozen);
    takeScale();
    setEmptyText(m_data.isEmpty() ? emptyText(m_run) : QString());
    fitRanges();
    setAccessibleDescription(m_data.isEmpty() ? emptyText(m_run) : headline());
    updateHover();
    queueReplot();
}

void SpectrumPlot::takeScale()
{
    m_scale = m_hand.take(m_run, m_data, m_preview || m_frozen, m_grip != Grip::None);
    m_window = formatWindow(m_data.format(), m_scale);
    updateAxisTitles();
}

double SpectrumPlot::shift() const { return m_scaledAxis ? std::log2(m_scale) : 0.0; }

void SpectrumPlot::fitRanges()
{
    double low = m_window.flush;
    double high = m_window.overflow;
    double highest = std::numeric_limits<double>::infinity(); // power of ten worth a number; all in the user's range
    std::uint64_t fullest = 1;
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e) {
        const std::uint64_t count = m_data.countAt(e);
        if (count == 0)
            continue;
        low = std::min(low, static_cast<double>(e));
        high = std::max(high, e + 1.0);
        fullest = std::max(fullest, count);
    }
    if (!m_xByUser && m_grip == Grip::None) {
        low = std::floor((low + shift() - 4) / 4) * 4;
        high = std::ceil((high + shift() + 4) / 4) * 4;
        const QCPRange now = xAxis->range();
        // Grows at once; shrinks only when much is empty, so that the picture rests.
        if (low < now.lower || low > now.lower + 12)
            xAxis->setRangeLower(low);
        if (high > now.upper || high < now.upper - 12)
            xAxis->setRangeUpper(high);
    }
    if (!m_yByUser && !m_data.isEmpty()) {
        // Room above the bars for two rows of labels.
        const double labels = 2.6 * QFontMetricsF(smallFont()).height() + 14;
        // In a flat plot the bars may reach between them: a scale that has them in its lowest third is no use.
        const double used = std::max(0.6, (inner().height() - labels) / std::max(1.0, inner().height()));
        const double decades = std::ceil(2 * std::log10(static_cast<double>(fullest)) + 0.2) / 2;
        const double top = kBase + (std::max(1.0, decades) - kBase) / used;
        const double now = yAxis->range().upper;
        if (top > now || top < now - 1.2 || yAxis->range().lower != kBase)
            yAxis->setRange(kBase, top);
        highest = std::ceil(decades);
    }
    static_cast<DecadeTicker*>(yAxis->ticker().get())->setHighest(highest);
}

double SpectrumPlot::pixelOf(double exponent) const
{
    const QCPRange range = xAxis->range();
    return inner().left() + (exponent + shift() - range.lower) / range.size() * inner().width();
}

double SpectrumPlot::exponentAt(double pixel) const
{
    const QCPRange range = xAxis->range();
    return range.lower + (pixel - inner().left()) / std::max(1.0, inner().width()) * range.size() - shift();
}

double SpectrumPlot::countTop(std::uint64_t count) const
{
    if (count == 0)
        return inner().bottom();
    const QCPRange range = yAxis->range();
    return inner().top() + (range.upper - std::log10(static_cast<double>(count))) / range.size() * inner().height();
}

double SpectrumPlot::barTop(int exponent) const { return countTop(m_data.countAt(exponent)); }
double SpectrumPlot::ownBarTop(int exponent) const { return countTop(m_data.ownAt(exponent)); }

void SpectrumPlot::zoomX(double factor)
{
    const QCPRange range = xAxis->range();
    const double span = std::clamp(range.size() / factor, kMinimumOctaves, 300.0);
    m_xByUser = true;
    xAxis->setRange(range.center(), span, Qt::AlignCenter);
    queueReplot();
    emit viewChanged();
}

void SpectrumPlot::zoomY(double factor)
{
    m_yByUser = true;
    yAxis->setRange(kBase, kBase + std::clamp((yAxis->range().upper - kBase) / factor, 0.5, 24.0));
    queueReplot();
    emit viewChanged();
}

void SpectrumPlot::panX(double fraction)
{
    const double span = xAxis->range().size();
    const double low = std::clamp(xAxis->range().lower + fraction * span, -260.0, 260.0 - span);
    m_xByUser = true;
    xAxis->setRange(low, low + span);
    updateHover();
    queueReplot();
    emit viewChanged();
}

void SpectrumPlot::resetView()
{
    m_xByUser = m_yByUser = false;
    xAxis->setRange(0, 1); // so that nothing of the old range is kept
    yAxis->setRange(0, 1);
    fitRanges();
    queueReplot();
    emit viewChanged();
}

void SpectrumPlot::resizeEvent(QResizeEvent* event)
{
    Plot::resizeEvent(event);
    fitRanges();
    queueReplot();
}

QByteArray SpectrumPlot::visibleCsv() const
{
    // The last two: whose window is drawn, and how many of the values are held in it.
    CsvRows rows("bin,lower_edge,upper_edge,count,format,in_format");
    if (m_data.isEmpty())
        return rows.text();
    const QCPRange range = xAxis->range();
    const std::string_view format = m_data.format().key;
    const ClassCounts& classes = m_data.all().classes;
    const ClassCounts own = m_data.ownClasses();
    rows.add("zero", 0, 0, classes[ValueClass::Zero], format, own[ValueClass::Zero]);
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e) {
        if (m_data.countAt(e) != 0 && e + 1 + shift() > range.lower && e + shift() < range.upper)
            rows.add(e, std::ldexp(1.0, e), std::ldexp(1.0, e + 1), m_data.countAt(e), format, m_data.ownAt(e));
    }
    rows.add("inf", "inf", "inf", classes[ValueClass::Inf], format, own[ValueClass::Inf]);
    rows.add("nan", "nan", "nan", classes[ValueClass::NaN], format, own[ValueClass::NaN]);
    return rows.text();
}

} // namespace halfscope
