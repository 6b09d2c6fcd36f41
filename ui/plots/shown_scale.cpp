// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/shown_scale.h"

#include <algorithm>
#include <cmath>

namespace halfscope {

namespace {

constexpr int kPatience = 2000; // milliseconds a dropped scale is shown without the run having it
constexpr double kParts = 8.0;  // of an octave, between powers of two

} // namespace

double ShownScale::take(const RunModel* run, const SpectrumData& data, bool past, bool held)
{
    double scale = data.measuredScale();
    if (!data.isScaled()) {
        m_pending.reset();
        return scale;
    }
    if (run == nullptr || past || data.hasOwnScale() || !(run->live.scaler.scale > 0))
        return scale;
    // A scale that merely is the automatic successor of the one under which these values were measured does not
    // count: after a skip the bars still stand outside the window they overflowed. One that somebody set does.
    const double live = run->live.scaler.scale;
    const auto index = static_cast<std::size_t>(std::max<qint64>(data.lastStep(), 1) - 1);
    const bool successor =
        run->latest != nullptr && index < run->steps.size() && static_cast<double>(run->steps[index].scaleNext) == live;
    if (!successor)
        scale = live;
    if (m_pending) {
        const bool arrived = live != m_liveThen || live == *m_pending;
        if (!held && (arrived || m_since.hasExpired(kPatience)))
            m_pending.reset();
        else
            scale = *m_pending;
    }
    return scale;
}

double ShownScale::ask(const RunModel& run, double wanted)
{
    const ScalerConfig& limits = run.live.config.scaler;
    if (!m_pending)
        m_liveThen = run.live.scaler.scale;
    m_pending = std::clamp(static_cast<double>(static_cast<float>(wanted)), lowestScale(limits), highestScale(limits));
    m_since.start();
    return *m_pending;
}

bool ShownScale::canMove(const RunModel* run, const SpectrumData& data)
{
    return run != nullptr && !data.isEmpty() && data.isScaled() && !data.hasOwnScale() &&
           run->live.scaler.config.enabled && run->live.state != EngineState::Failed;
}

double readableScale(double log2Scale)
{
    const double octave = std::floor(log2Scale);
    return std::ldexp(std::round(std::exp2(log2Scale - octave) * kParts) / kParts, static_cast<int>(octave));
}

double nextReadableScale(double scale, int direction)
{
    int exponent = 0;
    const double parts = 2.0 * std::frexp(scale, &exponent) * kParts; // 8 to below 16
    const double next = direction > 0 ? std::floor(parts) + 1 : std::ceil(parts) - 1;
    // Below a power of two the parts are half as long.
    return std::ldexp(next < kParts ? kParts - 0.5 : next, exponent - 1) / kParts;
}

double nextPowerOfTwo(double scale, int direction)
{
    const double now = std::log2(scale);
    return std::exp2(direction > 0 ? std::floor(now + 1e-9) + 1 : std::ceil(now - 1e-9) - 1);
}

} // namespace halfscope
