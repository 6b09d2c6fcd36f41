// SPDX-License-Identifier: GPL-3.0-or-later
// What a step's gradients would be without low precision: the same batch, master weights and dropout, all in FP32 and
// without a loss scale. It reads the run's tensors and writes only its own, so the run goes on bit for bit as without.
#pragma once

#include <span>

#include "engine/model/transformer.h"
#include "engine/train/telemetry.h"

namespace halfscope {

// In double, in the order of the elements. Both have the same length.
class ComparisonSums {
public:
    void add(std::span<const float> gradient, std::span<const float> shadow);
    void add(const ComparisonSums& other);
    GradientComparison result() const;

private:
    double m_dot = 0.0;
    double m_squares = 0.0;
    double m_shadowSquares = 0.0;
    double m_differenceSquares = 0.0;
};

class GradientShadow {
public:
    // A model of its own of the same shape. Throws BackendError where there is no memory for it.
    GradientShadow(Backend& backend, const Transformer& like);

    // `unscaled`: the run's gradients, FP32, one a parameter of `run`. `options` as of the run's step; its dropout seed
    // counts, nothing is measured. Synchronises.
    ShadowPtr compare(std::int64_t step, const Transformer& run, const std::vector<Tensor>& unscaled,
                      const Transformer::Batch& batch, const Transformer::StepOptions& options);
    std::size_t bytes() const { return m_model.bytes(); }

private:
    Backend& m_backend;
    Transformer m_model;
    std::vector<float> m_left; // host copies of one parameter's gradients
    std::vector<float> m_right;
};

} // namespace halfscope
