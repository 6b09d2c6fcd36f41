// SPDX-License-Identifier: GPL-3.0-or-later
// AdamW: unscaling, finiteness, global norm, clipping, update.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/model/transformer.h"
#include "engine/train/run_config.h"

namespace halfscope {

class Optimizer {
public:
    Optimizer(Backend& backend, Transformer& model);

    struct Gradients {
        bool foundInf = false;
        int firstParameter = -1; // whose gradient was not finite, in backward order; -1: none
        double norm = 0.0;       // global L2 norm of the unscaled gradients; nan when foundInf
    };
    // Unscales all gradients into FP32. After it weights and moments are still untouched.
    // `moduleScales` as in Transformer::StepOptions: the gradients of those modules are divided by their own.
    // `milliseconds`, where given: Backend::lap() after it.
    Gradients unscale(float inverseScale, std::span<const float> moduleScales = {}, float* milliseconds = nullptr);
    // Replaces every nonfinite unscaled gradient by zero and returns the norm of the rest.
    double sanitise();
    // One AdamW update with the gradients of the last unscale(); `norm` as it returned it.
    // `updates`, where given, is filled with what it did to the weights of each module.
    void update(const OptimizerConfig& config, float learningRate, double norm,
                std::vector<ModuleUpdates>* updates = nullptr);

    // After the model's parameters were replaced or its moments cleared: the first update comes next.
    void restart();
    // After the model took over another's weights and moments, which had been updated so often.
    void resume(std::int64_t updates) { m_updates = updates; }

    // The gradients of the last unscale(), FP32, one a parameter; not clipped.
    const std::vector<Tensor>& unscaled() const { return m_unscaled; }
    std::int64_t updates() const { return m_updates; } // Adam's t

private:
    Backend& m_backend;
    Transformer& m_model;
    std::vector<Tensor> m_unscaled; // FP32, one a parameter
    std::vector<Backend::Unscaled> m_found;
    std::int64_t m_updates = 0;
};

} // namespace halfscope
