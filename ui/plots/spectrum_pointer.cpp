// SPDX-License-Identifier: GPL-3.0-or-later
// The spectrum under mouse and keyboard: dragging the window, zoom, read-out.
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ui/number_text.h"
#include "ui/plots/spectrum_plot.h"

namespace halfscope {

namespace {

constexpr double kGripWidth = 7.0; // pixels either side of an edge that take hold of it

} // namespace

bool SpectrumPlot::canDrag() const { return ShownScale::canMove(m_run, m_data); }

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

void SpectrumPlot::releasePast()
{
    m_preview.reset();
    if (std::exchange(m_frozen, std::nullopt))
        emit frozenStepChanged();
}

void SpectrumPlot::dragTo(double pixel, bool free)
{
    const double octaves = (pixel - m_pressed.x()) / std::max(1.0, inner().width()) * xAxis->range().size();
    // Unscaled, the window moves right as the scale falls; on the scaled axis the bars move right as it rises.
    double log2Scale = std::log2(m_scaleAtPress) + (m_scaledAxis ? octaves : -octaves);
    moveScale(free ? readableScale(log2Scale) : std::exp2(std::round(log2Scale)), false);
}

// Where a box hides the least of the bars, and never the top of the highest one if that can be helped: the peak is what
// one looks at while dragging.
QPointF SpectrumPlot::quietCorner(const QSizeF& box) const
{
    const QRectF area = inner();
    const double top = area.top() + 2 * QFontMetricsF(smallFont()).height() + 16; // below labels and capsules
    const double room = std::max(0.0, area.width() - box.width() - 12);
    QPointF best(area.left() + 6, top);
    double least = std::numeric_limits<double>::infinity();
    constexpr int kPlaces = 16;
    for (int place = 0; place <= kPlaces; ++place) {
        const QRectF rect(QPointF(area.left() + 6 + room * place / kPlaces, top), box);
        double hidden = 0;
        for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e) {
            if (pixelOf(e + 1.0) > rect.left() && pixelOf(e) < rect.right())
                hidden += std::max(0.0, rect.bottom() - barTop(e));
        }
        // Of equally good places the one farthest from the hand.
        hidden -= 1e-3 * std::abs(rect.center().x() - (m_pointer ? m_pointer->x() : 0.0)) / std::max(1.0, area.width());
        if (hidden < least) {
            least = hidden;
            best = rect.topLeft();
        }
    }
    return best;
}

void SpectrumPlot::updateHover()
{
    if (!m_pointer || m_data.isEmpty() || !inner().contains(*m_pointer)) {
        hideReadout();
        replotPointer();
        return;
    }
    if (m_moved && holdsScale()) {
        const auto count = static_cast<double>(m_data.all().count());
        const ClassEstimate guess = estimateClasses(m_data.parts(), m_scale);
        const QStringList lines{tr("Scale %1").arg(scaleText(m_scale)),
                                tr("flushed ≈ %1").arg(shareText(guess.flushed.value, count)),
                                tr("subnormal ≈ %1").arg(shareText(guess.subnormal.value, count)),
                                tr("overflowing ≈ %1").arg(shareText(guess.overflow.value, count))};
        showReadout(*m_pointer, lines, quietCorner(readoutSize(lines)));
    } else {
        const int exponent = static_cast<int>(std::floor(exponentAt(m_pointer->x())));
        showReadout(*m_pointer, describeBin(exponent));
    }
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
    if (event->button() != Qt::LeftButton)
        return;
    if (m_clicks.press(*event)) {
        m_grip = Grip::None;
        resetView();
        return;
    }
    m_grip = gripAt(event->position());
    m_scaleAtPress = m_scale;
    m_scaleToReturn = scaleInForce();
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
    if (!startsMove(event->position()))
        return;
    m_moved = true;
    if (m_grip == Grip::Pan) {
        panTo(event->position());
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
    m_clicks.release(*event);
    const Grip grip = m_grip;
    m_grip = Grip::None;
    unsetCursor();
    if (m_moved && grip != Grip::None && grip != Grip::Pan)
        emit scaleDropped(m_scale);
    m_moved = false;
    refresh();
}

void SpectrumPlot::mouseDoubleClickEvent(QMouseEvent* event) { mousePressEvent(event); }

bool SpectrumPlot::escape()
{
    if (!m_frozen)
        return false;
    freezeStep(std::nullopt);
    return true;
}

} // namespace halfscope
