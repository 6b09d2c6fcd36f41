// SPDX-License-Identifier: GPL-3.0-or-later
// How far two right implementations of a training step may lie apart, measured rather than bounded: a bound that adds
// up all roundings of a step at their worst is a hundred times what they do. Weights moved by one unit in the last
// place make every rounding of the steps that follow fall anew, as another order of sums does, and add what the move
// itself does. So runs from moved weights scatter around the unmoved one by at least as much as another implementation
// may.
#pragma once

#include <cmath>
#include <vector>

#include "engine/core/rng.h"
#include "engine/model/transformer.h"

namespace halfscope::test {

inline constexpr int kMovedRuns = 8;
// Of a Gaussian error whose deviation is known from 8 samples (Student's t with 8 degrees of freedom), less than one in
// 20,000 lies beyond 8 of them.
inline constexpr double kDeviations = 8.0;

// Every weight by one unit in the last place of `format`, up or down.
inline void moveWeights(Backend& backend, Transformer& model, FormatId format, std::uint64_t seed)
{
    Rng rng(seed);
    const double unit = floatFormat(format).epsilon;
    for (Parameter& p : model.parameters()) {
        std::vector<float> values(static_cast<std::size_t>(p.master.size()));
        backend.download(p.master, values);
        for (float& x : values)
            x = static_cast<float>(static_cast<double>(x) * (1.0 + (rng.below(2) == 0 ? unit : -unit)));
        backend.upload(values, p.master);
    }
    model.refreshCompute();
}

// The deviation of samples from a known middle. The gradient norm of a skipped step, which is NaN, says nothing.
class Scatter {
public:
    void add(double sample, double middle)
    {
        if (!std::isfinite(sample - middle))
            return;
        m_sum += (sample - middle) * (sample - middle);
        ++m_count;
    }
    double allowed() const { return kDeviations * std::sqrt(m_sum / m_count); }

private:
    double m_sum = 0.0;
    int m_count = 0;
};

} // namespace halfscope::test
