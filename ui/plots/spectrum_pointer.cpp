// SPDX-License-Identifier: GPL-3.0-or-later
// The spectrum under mouse and keyboard: dragging the window, zoom, read-out.
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/plots/spectrum_plot.h"

namespace halfscope {

namespace {

constexpr double kGripWidth = 7.0;     // pixels either side of an edge that take hold of it
constexpr double kDragThreshold = 3.0; // pixels before a press becomes a drag

} // namespace

bool SpectrumPlot::canDrag() const
{
    return m_run != nullptr && !m_data.isEmpty() && m_data.isScaled() && !m_preview && !m_frozen &&
           m_run->live.scaler.config.enabled && m_run->live.state != EngineState::Failed;
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
    if (!m_pointer || m_data.isEmpty() || !inner().contains(*m_pointer)) {
        hideReadout();
        replotPointer();
        return;
    }
    if (m_moved && m_grip != Grip::None && m_grip != Grip::Pan) {
        const auto count = static_cast<double>(m_data.all().count());
        const ClassEstimate guess = m_data.estimateAt(m_scale);
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

} // namespace halfscope
