// SPDX-License-Identifier: GPL-3.0-or-later
#include "training.h"

#include <chrono>
#include <cmath>

#include "engine/core/rng.h"
#include "engine/model/precision_plan.h"

namespace halfscope::gpu {

namespace {

TransformerConfig modelOf(const Size& size)
{
    TransformerConfig config;
    config.vocabulary = size.vocabulary;
    config.width = size.width;
    config.depth = size.depth;
    config.heads = size.heads;
    config.context = size.context;
    config.batch = size.batch;
    return config;
}

using Clock = std::chrono::steady_clock;

double lap(Clock::time_point& since)
{
    const Clock::time_point now = Clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - since).count();
    since = now;
    return ms;
}

} // namespace

Training::Training(Backend& backend, const Size& size, const std::string& precision)
    : m_backend(backend),
      m_config(modelOf(size)),
      m_model(backend, m_config, makePlan(precision, listModules(m_config)).value(), 1),
      m_optimizer(backend, m_model),
      m_scale(precision.find("fp16") == std::string::npos ? 1.0F : 65536.0F),
      m_rng(7)
{
    m_inputs.resize(static_cast<std::size_t>(m_config.tokens()));
    m_targets.resize(m_inputs.size());
}

Training::Step Training::step(bool measure)
{
    for (auto* tokens : {&m_inputs, &m_targets}) {
        for (std::int32_t& t : *tokens)
            t = static_cast<std::int32_t>(m_rng.below(static_cast<std::uint64_t>(m_config.vocabulary)));
    }
    Transformer::StepOptions options;
    options.lossScale = m_scale;
    options.inverseScale = 1.0F / m_scale;
    options.measureWeightGrads = options.measureActivationGrads = measure;
    const Transformer::Batch batch{m_inputs, m_targets};
    Step result;
    result.scale = m_scale;
    Clock::time_point clock = Clock::now();
    result.loss = m_model.forward(batch, options);
    result.forwardMs = lap(clock);
    m_model.backward(batch);
    result.backwardMs = lap(clock);
    const Optimizer::Gradients gradients = m_optimizer.unscale(1.0F / m_scale);
    result.foundInf = gradients.foundInf;
    result.gradNorm = gradients.norm;
    result.applied = !gradients.foundInf && std::isfinite(result.loss);
    if (result.applied)
        m_optimizer.update(m_settings, m_settings.learningRate, gradients.norm);
    else
        m_scale *= 0.5F;
    m_backend.synchronize();
    result.optimizerMs = lap(clock);
    return result;
}

std::vector<float> Training::weights()
{
    std::vector<float> all;
    for (const Parameter& p : m_model.parameters()) {
        std::vector<float> values(static_cast<std::size_t>(p.master.size()));
        m_backend.download(p.master, values);
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

} // namespace halfscope::gpu
