// SPDX-License-Identifier: GPL-3.0-or-later
// The spectrum's data, axes and pointer. What it looks like is in spectrum_paint.cpp.
#include "ui/plots/spectrum_plot.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/plots/axis_tickers.h"
#include "ui/plots/csv_rows.h"
#include "ui/plots/strip_element.h"

namespace halfscope {

namespace {

constexpr double kGripWidth = 7.0;      // pixels either side of an edge that take hold of it
constexpr double kDragThreshold = 3.0;  // pixels before a press becomes a drag
constexpr double kMinimumOctaves = 6.0; // on the axis
constexpr int kPendingPatience = 2000;  // milliseconds a dropped scale is shown without the run having it
constexpr double kBase = -0.30103;      // log10(1/2): where bars stand, so that a single count is visible

} // namespace

QString tapText(Tap tap)
{
    switch (tap) {
    case Tap::WeightGrad:
        return QObject::tr("weight gradients");
    case Tap::ActivationGrad:
        return QObject::tr("activation gradients");
    case Tap::Activation:
        return QObject::tr("activations");
    }
    return {};
}

QString selectionText(const RunModel& run)
{
    const std::vector<int>& modules = run.selection.modules;
    if (modules.empty())
        return QObject::tr("all layers");
    if (modules.size() > 1)
        return QObject::tr("%n layers", nullptr, static_cast<int>(modules.size()));
    const auto module = static_cast<std::size_t>(modules.front());
    return modules.front() >= 0 && module < run.info.modules.size()
               ? QString::fromStdString(run.info.modules[module].name)
               : QObject::tr("one layer");
}

QString emptyText(const RunModel* run)
{
    if (run == nullptr || run->info.generation == 0)
        return QObject::tr("Waiting for the first step…");
    if (run->live.state == EngineState::Failed)
        return QObject::tr("The run ended before anything was measured.");
    if (run->latest == nullptr)
        return QObject::tr("Nothing has been measured yet.");
    if (run->selection.tap == Tap::Activation && !run->live.config.measureActivations)
        return QObject::tr("Activations are not measured. Switch them on under “Statistics”.");
    if (run->selection.tap == Tap::ActivationGrad && !run->live.config.measureActivationGrads)
        return QObject::tr("Activation gradients are not measured. Switch them on under “Statistics”.");
    return QObject::tr("%1 has no %2.").arg(selectionText(*run), tapText(run->selection.tap));
}

SpectrumPlot::SpectrumPlot(QWidget* parent) : Plot(parent), m_format(&floatFormat(FormatId::Fp16))
{
    m_window = formatWindow(*m_format, m_scale);
    xAxis->setTicker(QSharedPointer<QCPAxisTicker>(new ExponentTicker));
    xAxis->ticker()->setTickCount(9);
    yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new DecadeTicker(true)));
    yAxis->ticker()->setTickCount(6);
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
    const QMargins margins = stepPlotMargins(metrics, true, metrics.height() + 6);
    axisRect()->setMargins(margins);
}

QString SpectrumPlot::title() const
{
    return m_run == nullptr
               ? tr("Gradient spectrum")
               : tr("Gradient spectrum · %1 · %2").arg(selectionText(*m_run), tapText(m_run->selection.tap));
}

void SpectrumPlot::setScaledAxis(bool scaled)
{
    if (scaled == m_scaledAxis)
        return;
    m_scaledAxis = scaled;
    m_xByUser = false;
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
    m_pending.reset();
    refresh();
}

void SpectrumPlot::refresh()
{
    takeData();
    takeScale();
    setEmptyText(m_statistics ? QString() : emptyText(m_run));
    fitRanges();
    setAccessibleDescription(m_statistics ? headline() : emptyText(m_run));
    updateHover();
    queueReplot();
}

void SpectrumPlot::addPart(FormatId format, const TensorStatistics& statistics)
{
    const auto known = std::ranges::find(m_parts, format, &std::pair<FormatId, TensorStatistics>::first);
    if (known == m_parts.end())
        m_parts.emplace_back(format, statistics);
    else
        known->second.merge(statistics);
}

ClassEstimate SpectrumPlot::estimate() const
{
    ClassEstimate sum;
    for (const auto& [format, statistics] : m_parts) {
        const ClassEstimate part = estimateClasses(statistics, formatWindow(floatFormat(format), m_scale));
        sum.flushed += part.flushed;
        sum.subnormal += part.subnormal;
        sum.normal += part.normal;
        sum.overflow += part.overflow;
    }
    return sum;
}

// Of what is held in the window's own format: modules in FP32 or another format do not overflow where it ends. When
// there is nothing in that format, what it would be.
double SpectrumPlot::headroom() const
{
    const auto own = std::ranges::find(m_parts, m_format->id, &std::pair<FormatId, TensorStatistics>::first);
    return headroomOctaves(own != m_parts.end() ? own->second : *m_statistics, m_window);
}

void SpectrumPlot::takeData()
{
    m_statistics.reset();
    m_parts.clear();
    if (m_run == nullptr)
        return;
    m_format = &floatFormat(m_run->windowFormat());
    const TapSelection& selection = m_run->selection;
    const auto wanted = [&](int module) {
        return selection.modules.empty() || std::ranges::find(selection.modules, module) != selection.modules.end();
    };
    const std::optional<qint64> past = m_preview ? m_preview : m_frozen;
    if (past) {
        const std::size_t index = m_run->history.rowAt(*past);
        if (index >= m_run->history.rowCount())
            return;
        const HistoryRow& row = m_run->history.row(index);
        if (const auto histogram = m_run->selected(row))
            m_statistics = histogram->expand();
        for (int module = 0; module < m_run->history.moduleCount(); ++module) {
            const SparseHistogram& tap =
                row.taps[static_cast<std::size_t>(m_run->history.tapIndex(module, selection.tap))];
            if (wanted(module) && tap.classes.total() != 0)
                addPart(tap.format, tap.expand());
        }
        m_firstStep = row.firstStep;
        m_lastStep = row.lastStep;
        m_measuredScale = static_cast<double>(row.lastScale);
    } else if (m_run->latest != nullptr) {
        const Snapshot& snapshot = *m_run->latest;
        m_statistics = m_run->selected(snapshot);
        for (const TapStatistics& tap : snapshot.taps) {
            if (tap.tap == selection.tap && wanted(tap.module))
                addPart(tap.format, tap.statistics);
        }
        m_lastStep = snapshot.step;
        m_firstStep = snapshot.measuredSteps > 1 ? snapshot.firstStep : snapshot.step;
        m_measuredScale = static_cast<double>(snapshot.scale);
    }
}

void SpectrumPlot::takeScale()
{
    m_scale = m_measuredScale;
    const bool past = m_preview || m_frozen;
    if (m_run != nullptr && !past && m_run->live.scaler.scale > 0) {
        // A scale that merely is the automatic successor of the one under which these values were measured does not
        // count: after a skip the bars still stand outside the window they overflowed. One that somebody set does.
        const double live = m_run->live.scaler.scale;
        const auto index = static_cast<std::size_t>(std::max<qint64>(m_lastStep, 1) - 1);
        const bool successor = m_run->latest != nullptr && index < m_run->steps.size() &&
                               static_cast<double>(m_run->steps[index].scaleNext) == live;
        if (!successor)
            m_scale = live;
        if (m_pending) {
            const bool arrived = live != m_liveScaleAtPending || live == *m_pending;
            if (m_grip == Grip::None && (arrived || m_pendingSince.hasExpired(kPendingPatience)))
                m_pending.reset();
            else
                m_scale = *m_pending;
        }
    }
    m_window = formatWindow(*m_format, m_scale);
}

double SpectrumPlot::shift() const { return m_scaledAxis ? std::log2(m_scale) : 0.0; }

void SpectrumPlot::fitRanges()
{
    double low = m_window.flush;
    double high = m_window.overflow;
    std::uint64_t fullest = 1;
    if (m_statistics) {
        for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e) {
            const std::uint64_t count = m_statistics->histogram.at(e);
            if (count == 0)
                continue;
            low = std::min(low, static_cast<double>(e));
            high = std::max(high, e + 1.0);
            fullest = std::max(fullest, count);
        }
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
    if (!m_yByUser && m_statistics) {
        // Room above the bars for two rows of labels.
        const double labels = 2.6 * QFontMetricsF(smallFont()).height() + 14;
        const double used = std::max(0.3, (inner().height() - labels) / std::max(1.0, inner().height()));
        const double decades = std::ceil(2 * std::log10(static_cast<double>(fullest)) + 0.2) / 2;
        const double top = kBase + (std::max(1.0, decades) - kBase) / used;
        const double now = yAxis->range().upper;
        if (top > now || top < now - 1.2 || yAxis->range().lower != kBase)
            yAxis->setRange(kBase, top);
    }
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

double SpectrumPlot::barTop(int exponent) const
{
    if (!m_statistics || exponent < ExponentHistogram::kMinExponent || exponent > ExponentHistogram::kMaxExponent ||
        m_statistics->histogram.at(exponent) == 0)
        return inner().bottom();
    const QCPRange range = yAxis->range();
    const double value = std::log10(static_cast<double>(m_statistics->histogram.at(exponent)));
    return inner().top() + (range.upper - value) / range.size() * inner().height();
}

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

bool SpectrumPlot::canDrag() const
{
    return m_run != nullptr && m_statistics && !m_preview && !m_frozen && m_run->live.scaler.config.enabled &&
           m_run->live.state != EngineState::Failed;
}

SpectrumPlot::Grip SpectrumPlot::gripAt(const QPointF& at) const
{
    if (!inner().contains(at))
        return Grip::None;
    if (!canDrag())
        return Grip::Pan;
    const double flush = pixelOf(m_window.flush);
    const double overflow = pixelOf(m_window.overflow);
    if (std::abs(at.x() - overflow) <= kGripWidth)
        return Grip::Overflow;
    if (std::abs(at.x() - flush) <= kGripWidth)
        return Grip::Flush;
    return at.x() > flush && at.x() < overflow ? Grip::Body : Grip::Pan;
}

void SpectrumPlot::moveScale(double log2Scale, bool dropped)
{
    const ScalerConfig& limits = m_run->live.config.scaler;
    const double scale = std::clamp(static_cast<double>(static_cast<float>(std::exp2(log2Scale))), lowestScale(limits),
                                    highestScale(limits));
    if (!m_pending)
        m_liveScaleAtPending = m_run->live.scaler.scale;
    const bool changed = scale != m_scale;
    m_pending = scale;
    m_pendingSince.start();
    refresh();
    if (changed)
        emit scaleDragged(scale);
    if (dropped)
        emit scaleDropped(scale);
}

void SpectrumPlot::dragTo(double pixel, bool free)
{
    const double octaves = (pixel - m_pressed.x()) / std::max(1.0, inner().width()) * xAxis->range().size();
    // Unscaled, the window moves right as the scale falls; on the scaled axis the bars move right as it rises.
    double log2Scale = std::log2(m_scaleAtPress) + (m_scaledAxis ? octaves : -octaves);
    if (!free)
        log2Scale = std::round(log2Scale);
    moveScale(log2Scale, false);
}

void SpectrumPlot::updateHover()
{
    if (!m_pointer || !m_statistics || !inner().contains(*m_pointer)) {
        hideReadout();
        replotPointer();
        return;
    }
    if (m_moved && m_grip != Grip::None && m_grip != Grip::Pan) {
        const auto count = static_cast<double>(m_statistics->count());
        const ClassEstimate guess = estimate();
        showReadout(*m_pointer,
                    {tr("Scale %1").arg(scaleText(m_scale)), tr("flushed ≈ %1").arg(shareText(guess.flushed, count)),
                     tr("subnormal ≈ %1").arg(shareText(guess.subnormal, count)),
                     tr("overflowing ≈ %1").arg(shareText(guess.overflow, count))});
    } else {
        const int exponent = static_cast<int>(std::floor(exponentAt(m_pointer->x())));
        showReadout(*m_pointer, describeBin(exponent));
    }
    replotPointer();
}

QString SpectrumPlot::windowClassText(int exponent) const
{
    // The classes at both ends of the bin; the window's edge may lie inside.
    const ValueClass first = m_window.classAt(exponent);
    const ValueClass last = m_window.classAt(std::nextafter(exponent + 1.0, exponent));
    const auto word = [](ValueClass c) {
        switch (c) {
        case ValueClass::Flushed:
            return tr("flushed to 0");
        case ValueClass::Subnormal:
            return tr("subnormal");
        case ValueClass::Saturating:
            return tr("overflows");
        default:
            return tr("normal");
        }
    };
    const QString name = QString::fromUtf8(m_format->name.data(), qsizetype(m_format->name.size()));
    if (first == last)
        return tr("%1 in %2").arg(word(first), name);
    // 65520 is 2^16 short of a 4096th: an edge that close to the bin's end divides nothing worth a word.
    const double edge = last == ValueClass::Saturating ? m_window.overflow
                        : first == ValueClass::Flushed ? m_window.flush
                                                       : m_window.subnormal;
    if (edge > exponent + 0.999)
        return tr("%1 in %2").arg(word(first), name);
    return tr("%1 or %2 in %3 (the edge cuts this bin)").arg(word(first), word(last), name);
}

QStringList SpectrumPlot::describeBin(int exponent) const
{
    if (exponent < ExponentHistogram::kMinExponent || exponent > ExponentHistogram::kMaxExponent)
        return {};
    const std::uint64_t count = m_statistics->histogram.at(exponent);
    const auto total = static_cast<double>(m_statistics->count());
    QStringList lines{
        tr("%1 of %2 (%3)")
            .arg(countText(count), countText(m_statistics->count()), shareText(static_cast<double>(count), total)),
        tr("%1 ≤ |g| < %2").arg(powerOfTwo(exponent), powerOfTwo(exponent + 1)),
        QStringLiteral("%1 … %2").arg(valueText(std::ldexp(1.0F, exponent)), valueText(std::ldexp(1.0, exponent + 1)))};
    if (m_scaledAxis)
        lines << tr("scaled: %1 … %2")
                     .arg(shortScaleText(std::ldexp(m_scale, exponent)),
                          shortScaleText(std::ldexp(m_scale, exponent + 1)));
    lines << windowClassText(exponent);
    return lines;
}

void SpectrumPlot::resizeEvent(QResizeEvent* event)
{
    Plot::resizeEvent(event);
    fitRanges();
    queueReplot();
}

void SpectrumPlot::leaveEvent(QEvent* event)
{
    m_pointer.reset();
    Plot::leaveEvent(event);
    replotPointer();
}

void SpectrumPlot::wheelEvent(QWheelEvent* event)
{
    event->accept();
    const double factor = std::pow(1.2, event->angleDelta().y() / 120.0);
    if (event->modifiers() & Qt::ControlModifier) {
        zoomY(factor);
        return;
    }
    if (event->angleDelta().y() == 0) {
        panX(-0.1 * event->angleDelta().x() / 120.0);
        return;
    }
    const QCPRange range = xAxis->range();
    const double share =
        std::clamp((event->position().x() - inner().left()) / std::max(1.0, inner().width()), 0.0, 1.0);
    const double span = std::clamp(range.size() / factor, kMinimumOctaves, 300.0);
    const double low = range.lower + share * (range.size() - span);
    m_xByUser = true;
    xAxis->setRange(low, low + span);
    updateHover();
    queueReplot();
    emit viewChanged();
}

void SpectrumPlot::mousePressEvent(QMouseEvent* event)
{
    m_pressed = m_lastPanned = event->position();
    m_moved = false;
    if (event->button() == Qt::LeftButton) {
        m_grip = gripAt(event->position());
        m_scaleAtPress = m_scale;
    }
}

void SpectrumPlot::mouseMoveEvent(QMouseEvent* event)
{
    m_pointer = event->position();
    if (m_grip == Grip::None) {
        switch (gripAt(event->position())) {
        case Grip::Flush:
        case Grip::Overflow:
            setCursor(Qt::SplitHCursor);
            break;
        case Grip::Body:
            setCursor(Qt::OpenHandCursor);
            break;
        default:
            unsetCursor();
        }
        updateHover();
        return;
    }
    if (!m_moved && std::abs(event->position().x() - m_pressed.x()) < kDragThreshold)
        return;
    m_moved = true;
    if (m_grip == Grip::Pan) {
        const double pixels = event->position().x() - m_lastPanned.x();
        m_lastPanned = event->position();
        panX(-pixels / std::max(1.0, inner().width()));
        return;
    }
    setCursor(m_grip == Grip::Body ? Qt::ClosedHandCursor : Qt::SplitHCursor);
    dragTo(event->position().x(), event->modifiers() & Qt::ShiftModifier);
}

void SpectrumPlot::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::RightButton) {
        emit customContextMenuRequested(event->position().toPoint());
        return;
    }
    if (event->button() != Qt::LeftButton)
        return;
    const Grip grip = m_grip;
    m_grip = Grip::None;
    unsetCursor();
    if (m_moved && grip != Grip::None && grip != Grip::Pan)
        emit scaleDropped(m_scale);
    m_moved = false;
    refresh();
}

void SpectrumPlot::mouseDoubleClickEvent(QMouseEvent* event)
{
    m_grip = Grip::None;
    if (event->button() == Qt::LeftButton)
        resetView();
}

void SpectrumPlot::keyPressEvent(QKeyEvent* event)
{
    const bool shift = event->modifiers() & Qt::ShiftModifier;
    const bool control = event->modifiers() & Qt::ControlModifier;
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right: {
        const int direction = event->key() == Qt::Key_Left ? -1 : 1;
        if (control) {
            panX(0.1 * direction);
        } else if (canDrag()) {
            // As if the window (on the scaled axis: the bars) had been dragged: to the next power of two, with Shift by
            // an eighth of an octave.
            const int sign = m_scaledAxis ? direction : -direction;
            const double now = std::log2(m_scale);
            double next = now + sign * 0.125;
            if (!shift)
                next = sign > 0 ? std::floor(now + 1e-9) + 1 : std::ceil(now - 1e-9) - 1;
            moveScale(next, true);
        }
        break;
    }
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        control ? zoomY(1.25) : zoomX(1.25);
        break;
    case Qt::Key_Minus:
        control ? zoomY(0.8) : zoomX(0.8);
        break;
    case Qt::Key_Home:
    case Qt::Key_0:
        resetView();
        break;
    case Qt::Key_Escape:
        if (m_grip != Grip::None && m_grip != Grip::Pan && m_moved) {
            m_grip = Grip::None; // as it was before the drag
            m_moved = false;
            moveScale(std::log2(m_scaleAtPress), true);
        } else if (m_frozen) {
            freezeStep(std::nullopt);
        } else {
            Plot::keyPressEvent(event);
        }
        break;
    default:
        Plot::keyPressEvent(event);
    }
}

QByteArray SpectrumPlot::visibleCsv() const
{
    CsvRows rows("bin,lower_edge,upper_edge,count");
    if (!m_statistics)
        return rows.text();
    const QCPRange range = xAxis->range();
    rows.add("zero", 0, 0, m_statistics->classes[ValueClass::Zero]);
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e) {
        if (m_statistics->histogram.at(e) != 0 && e + 1 + shift() > range.lower && e + shift() < range.upper)
            rows.add(e, std::ldexp(1.0, e), std::ldexp(1.0, e + 1), m_statistics->histogram.at(e));
    }
    rows.add("inf", "inf", "inf", m_statistics->classes[ValueClass::Inf]);
    rows.add("nan", "nan", "nan", m_statistics->classes[ValueClass::NaN]);
    return rows.text();
}

} // namespace halfscope
