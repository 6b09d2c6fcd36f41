// SPDX-License-Identifier: GPL-3.0-or-later
// A run in FP32 alongside: the same seed, batches, dropout and optimizer settings, but no low precision and no loss
// scale. Its loss is what the run's would be if only precision were different.
#pragma once

#include <cstdint>

#include "engine/model/transformer.h"
#include "engine/train/optimizer.h"

namespace halfscope {

class ShadowRun {
public:
    // `seed`: of the weights, as the run's own. Throws BackendError where there is no memory for it.
    ShadowRun(Backend& backend, const Transformer& like, std::uint64_t seed);

    // One training step; returns the loss. Like the run's, a step whose loss or gradients are not finite is skipped.
    // `rateFactor`: an injected jump of the learning rate.
    double step(const Transformer::Batch& batch, const OptimizerConfig& config, std::uint64_t dropoutSeed,
                double rateFactor);
    void swapHead(std::uint64_t seed); // as the run's own
    std::size_t bytes() const;
    // What it takes to go on elsewhere: the values, updates of the optimizer, applied steps.
    void copyTo(Transformer::Values& values) const { m_model.copyTo(values); }
    std::int64_t updates() const { return m_optimizer.updates(); }
    std::int64_t applied() const { return m_applied; }
    void resume(const Transformer::Values& values, std::int64_t updates, std::int64_t applied);
    Transformer& model() { return m_model; } // for tests: between two steps only

private:
    Transformer m_model;
    Optimizer m_optimizer;
    std::int64_t m_applied = 0; // steps; the schedule goes on where the optimizer begins anew
};

} // namespace halfscope
