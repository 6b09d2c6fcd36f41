// SPDX-License-Identifier: GPL-3.0-or-later
// The loss scale a plot shows and a hand moves: the run's own, or the one that was asked for until the run has it.
#pragma once

#include <QElapsedTimer>
#include <optional>

#include "ui/plots/spectrum_data.h"

namespace halfscope {

class ShownScale {
public:
    // The scale to show with `data`. `past`: of a step of the past, where nothing is pending; `held`: a hand is on it.
    double take(const RunModel* run, const SpectrumData& data, bool past, bool held);
    // What `wanted` becomes within the scaler's bounds and FP32; it is shown until the run has it.
    double ask(const RunModel& run, double wanted);
    void forget() { m_pending.reset(); } // as when the engine refused
    // Whether the scale can be moved in the state the run is in.
    static bool canMove(const RunModel* run, const SpectrumData& data);

private:
    std::optional<double> m_pending;
    double m_liveThen = 0.0;
    QElapsedTimer m_since;
};

// Powers of two times 1, 1.125, 1.25 ... 1.875: exact in FP32, and short as a decimal too.
double readableScale(double log2Scale);
double nextReadableScale(double scale, int direction);
double nextPowerOfTwo(double scale, int direction);

} // namespace halfscope
