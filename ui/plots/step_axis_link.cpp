// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/step_axis_link.h"

#include <algorithm>
#include <cmath>

namespace halfscope {

namespace {

// While a run is young its axis grows in leaps, so that it is still most of the time.
double leap(double lastStep)
{
    double room = 100;
    while (room < lastStep)
        room *= room < 1000 ? 2.0 : 1.25;
    return std::ceil(room);
}

} // namespace

StepAxisLink::StepAxisLink(QObject* parent) : QObject(parent) {}

void StepAxisLink::setRun(const RunModel* run)
{
    m_run = run;
    refresh();
}

void StepAxisLink::refresh()
{
    const std::int64_t before = m_digest.lastStep();
    if (!m_digest.update(m_run))
        return;
    const std::int64_t now = m_digest.lastStep();
    if (now < before) { // another run
        m_crosshair.reset();
        emit crosshairChanged();
        if (m_mode == Mode::Free)
            follow();
    }
    applyMode();
    emit dataChanged();
}

void StepAxisLink::applyMode()
{
    const auto last = static_cast<double>(m_digest.lastStep());
    if (m_mode == Mode::WholeRun) {
        assign(0, leap(last));
    } else if (m_mode == Mode::Follow) {
        if (last <= m_followSpan * 0.98)
            assign(0, std::min(leap(last), m_followSpan));
        else
            assign(last - m_followSpan * 0.98, last + m_followSpan * 0.02);
    }
}

void StepAxisLink::assign(double low, double high)
{
    const QCPRange range(low, high);
    if (range.lower == m_range.lower && range.upper == m_range.upper)
        return;
    m_range = range;
    emit rangeChanged();
}

void StepAxisLink::follow()
{
    const bool changed = m_mode != Mode::Follow;
    m_mode = Mode::Follow;
    applyMode();
    if (changed)
        emit modeChanged();
}

void StepAxisLink::reset()
{
    m_followSpan = kDefaultFollowSpan;
    follow();
}

void StepAxisLink::wholeRun()
{
    const bool changed = m_mode != Mode::WholeRun;
    m_mode = Mode::WholeRun;
    m_followSpan = kDefaultFollowSpan;
    applyMode();
    if (changed)
        emit modeChanged();
}

void StepAxisLink::setRange(double low, double high)
{
    if (!std::isfinite(low) || !std::isfinite(high) || !(high > low))
        return;
    const double limit = leap(static_cast<double>(m_digest.lastStep()));
    double span = std::clamp(high - low, kMinimumSpan, 1.2 * limit);
    const double middle = 0.5 * (low + high);
    low = middle - 0.5 * span;
    // A tenth of the view may lie outside the run, no more: nobody gets lost.
    low = std::clamp(low, -0.1 * span, std::max(-0.1 * span, limit - 0.9 * span));
    const bool changed = m_mode != Mode::Free;
    m_mode = Mode::Free;
    assign(low, low + span);
    if (changed)
        emit modeChanged();
}

void StepAxisLink::zoom(double factor, double center)
{
    if (!(factor > 0) || !std::isfinite(factor))
        return;
    const double span =
        std::clamp(m_range.size() / factor, kMinimumSpan, 1.2 * leap(static_cast<double>(m_digest.lastStep())));
    if (m_mode == Mode::Follow) {
        m_followSpan = std::max(span, kMinimumSpan);
        applyMode();
        return;
    }
    const double share = (center - m_range.lower) / m_range.size();
    const double low = center - share * span;
    setRange(low, low + span);
}

void StepAxisLink::pan(double steps) { setRange(m_range.lower + steps, m_range.upper + steps); }

void StepAxisLink::setCrosshair(std::optional<std::int64_t> step)
{
    if (step) {
        if (m_digest.lastStep() == 0)
            step.reset();
        else
            step = std::clamp<std::int64_t>(*step, 1, m_digest.lastStep());
    }
    if (step == m_crosshair)
        return;
    m_crosshair = step;
    emit crosshairChanged();
}

void StepAxisLink::moveCrosshair(std::int64_t by)
{
    setCrosshair(m_crosshair ? *m_crosshair + by : m_digest.lastStep());
}

} // namespace halfscope
