// SPDX-License-Identifier: GPL-3.0-or-later
// Whole training steps on made-up tokens, from the engine's model and optimizer alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/rng.h"
#include "engine/model/transformer.h"
#include "engine/train/optimizer.h"

namespace halfscope::gpu {

struct Size {
    std::string name;
    int width;
    int depth;
    int heads;
    int context;
    int batch;
    int vocabulary;
};

class Training {
public:
    Training(Backend& backend, const Size& size, const std::string& precision);

    struct Step {
        double loss = 0.0;
        double gradNorm = 0.0;
        bool foundInf = false;
        bool applied = false;
        float scale = 0.0F;
        double forwardMs = 0.0;
        double backwardMs = 0.0;
        double optimizerMs = 0.0;
        double ms() const { return forwardMs + backwardMs + optimizerMs; }
    };
    Step step(bool measure);
    std::vector<float> weights();
    Transformer& model() { return m_model; }
    std::size_t bytes() const { return m_model.bytes(); }

private:
    Backend& m_backend;
    TransformerConfig m_config;
    Transformer m_model;
    Optimizer m_optimizer;
    OptimizerConfig m_settings;
    float m_scale;
    Rng m_rng;
    std::vector<std::int32_t> m_inputs;
    std::vector<std::int32_t> m_targets;
};

} // namespace halfscope::gpu
