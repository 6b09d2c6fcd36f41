// SPDX-License-Identifier: GPL-3.0-or-later
// What the series of a plot were made of, and the running mean that smooths them.
#pragma once

#include <cmath>
#include <limits>

#include "ui/run_model.h"

namespace halfscope {

class SeriesSource {
public:
    // Whether what was made has to be made again: of another run, of one that began anew, or of one whose head was
    // swapped at another step. `made`: steps taken over so far.
    bool changed(const RunModel* run, std::int64_t headSwapped, std::size_t made)
    {
        const std::size_t count = run != nullptr ? run->steps.size() : 0;
        const std::uint64_t generation = run != nullptr ? run->info.generation : 0;
        const bool other = run != m_run || generation != m_generation || headSwapped != m_headSwapped || count < made;
        m_run = run;
        m_generation = generation;
        m_headSwapped = headSwapped;
        return other;
    }

private:
    const RunModel* m_run = nullptr;
    std::uint64_t m_generation = 0;
    std::int64_t m_headSwapped = 0;
};

// An exponential moving average without the bias towards zero of its beginning.
class RunningMean {
public:
    // `past`: the weight of what came before, 0 to below 1. NaN for a value that is not finite, which is left out.
    double add(double value, double past)
    {
        if (!std::isfinite(value))
            return std::numeric_limits<double>::quiet_NaN();
        m_sum = past * m_sum + (1.0 - past) * value;
        m_weight = past * m_weight + (1.0 - past);
        return m_sum / m_weight;
    }

private:
    double m_sum = 0.0;
    double m_weight = 0.0; // 1 - past^n
};

} // namespace halfscope
