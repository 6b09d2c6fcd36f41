// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/shadow_run.h"

#include <cmath>

#include "engine/train/learning_rate.h"

namespace halfscope {

ShadowRun::ShadowRun(Backend& backend, const Transformer& like, std::uint64_t seed)
    : m_model(backend, like.config(), PrecisionPlan(like.modules().size(), FormatId::Fp32), seed),
      m_optimizer(backend, m_model)
{
}

double ShadowRun::step(const Transformer::Batch& batch, const OptimizerConfig& config, std::uint64_t dropoutSeed,
                       double rateFactor)
{
    Transformer::StepOptions options;
    options.measureWeightGrads = options.measureActivationGrads = options.measureActivations = false;
    options.dropoutSeed = dropoutSeed;
    const double loss = m_model.forward(batch, options);
    m_model.backward(batch);
    const Optimizer::Gradients gradients = m_optimizer.unscale(1.0F);
    if (std::isfinite(loss) && !gradients.foundInf) {
        const auto rate = static_cast<float>(learningRateAt(config, m_applied++) * rateFactor);
        m_optimizer.update(config, rate, gradients.norm);
    }
    return loss;
}

void ShadowRun::swapHead(std::uint64_t seed)
{
    m_model.swapHead(seed);
    m_optimizer.restart();
}

void ShadowRun::resume(const Transformer::Values& values, std::int64_t updates, std::int64_t applied)
{
    m_model.restore(values);
    m_optimizer.resume(updates);
    m_applied = applied;
}

std::size_t ShadowRun::bytes() const
{
    return m_model.bytes() + static_cast<std::size_t>(m_model.parameterCount()) * sizeof(float); // and unscaled
}

} // namespace halfscope
