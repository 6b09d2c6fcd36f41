// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/optimizer.h"

#include <cmath>
#include <limits>

namespace halfscope {

namespace {

// beta^t by repeated squaring: basic operations only, so that the same on every machine.
double power(double beta, std::int64_t t)
{
    double result = 1.0;
    for (double factor = beta; t > 0; t >>= 1, factor *= factor) {
        if ((t & 1) != 0)
            result *= factor;
    }
    return result;
}

} // namespace

Optimizer::Optimizer(Backend& backend, Transformer& model) : m_backend(backend), m_model(model) { restart(); }

void Optimizer::restart()
{
    m_updates = 0;
    m_unscaled.clear();
    for (const Parameter& p : m_model.parameters())
        m_unscaled.push_back(m_backend.makeTensor(FormatId::Fp32, p.master.rows(), p.master.cols()));
}

Optimizer::Gradients Optimizer::unscale(float inverseScale, std::span<const float> moduleScales, float* milliseconds)
{
    Gradients result;
    double sumSquares = 0.0;
    const auto& parameters = m_model.parameters();
    m_found.resize(parameters.size());
    for (std::size_t i = parameters.size(); i-- > 0;) {
        const int module = parameters[i].module;
        float inverse = inverseScale;
        if (!moduleScales.empty() && m_model.canHaveScale(module))
            inverse = static_cast<float>(1.0 / static_cast<double>(moduleScales[static_cast<std::size_t>(module)]));
        m_backend.unscale(parameters[i].gradient, inverse, m_unscaled[i], m_found[i]);
    }
    if (milliseconds != nullptr)
        m_backend.lap(milliseconds);
    m_backend.synchronize(); // once for all
    for (std::size_t i = parameters.size(); i-- > 0;) {
        const Backend::Unscaled& unscaled = m_found[i];
        if (unscaled.foundInf && !result.foundInf) {
            result.foundInf = true;
            result.firstParameter = static_cast<int>(i);
        }
        sumSquares += unscaled.sumSquares;
    }
    result.norm = result.foundInf ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(sumSquares);
    return result;
}

double Optimizer::sanitise()
{
    double sumSquares = 0.0;
    std::vector<float> host;
    for (Tensor& gradient : m_unscaled) {
        host.resize(static_cast<std::size_t>(gradient.size()));
        m_backend.download(gradient, host);
        for (float& g : host) {
            if (!std::isfinite(g))
                g = 0.0F;
            sumSquares += static_cast<double>(g) * static_cast<double>(g);
        }
        m_backend.upload(host, gradient);
    }
    return std::sqrt(sumSquares);
}

void Optimizer::update(const OptimizerConfig& config, float learningRate, double norm,
                       std::vector<ModuleUpdates>* updates)
{
    ++m_updates;
    AdamW hyper;
    hyper.learningRate = learningRate;
    hyper.beta1 = config.beta1;
    hyper.beta2 = config.beta2;
    hyper.epsilon = config.epsilon;
    hyper.weightDecay = config.weightDecay;
    hyper.biasCorrection1 = static_cast<float>(1.0 - power(config.beta1, m_updates));
    hyper.biasCorrection2 = static_cast<float>(1.0 - power(config.beta2, m_updates));
    // torch.nn.utils.clip_grad_norm_: clip / (norm + 1e-6), at most 1.
    if (config.clipNorm > 0 && norm > config.clipNorm)
        hyper.gradientFactor = static_cast<float>(config.clipNorm / (norm + 1e-6));
    auto& parameters = m_model.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        Parameter& p = parameters[i];
        UpdateProbe probe = m_model.updateProbe(p);
        m_backend.adamw(hyper, m_unscaled[i], p.master, p.moment1, p.moment2, updates ? &probe : nullptr);
        if (!updates)
            continue;
        // The parameters of a module follow one another, its weights first.
        if (updates->empty() || updates->back().module != p.module)
            updates->push_back({static_cast<std::int16_t>(p.module), probe.format, {}});
        updates->back().statistics.merge(probe.statistics);
    }
    m_model.refreshCompute();
}

} // namespace halfscope
