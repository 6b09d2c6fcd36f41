// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/module_scalers.h"

#include <cmath>

namespace halfscope {

namespace {

float powerOfTwoBelow(double scale) { return static_cast<float>(std::exp2(std::floor(std::log2(scale)))); }

bool saturated(const Transformer& model, int module)
{
    for (const Tap tap : {Tap::ActivationGrad, Tap::WeightGrad}) {
        if (model.hasTap(module, tap) && model.probe(module, tap).saturated)
            return true;
    }
    return false;
}

} // namespace

void ModuleScalers::start(const ScalerConfig& config, std::size_t modules, double scale)
{
    m_scalers.assign(modules, LossScaler(config));
    setScale(scale);
}

void ModuleScalers::stop()
{
    m_scalers.clear();
    m_scales.clear();
}

void ModuleScalers::reconfigure(const ScalerConfig& config)
{
    for (LossScaler& scaler : m_scalers)
        scaler.reconfigure(config);
    refresh();
}

void ModuleScalers::setScale(double scale)
{
    for (LossScaler& scaler : m_scalers)
        scaler.setScale(scale);
    refresh();
}

bool ModuleScalers::update(const Transformer& model, bool foundInf)
{
    bool blamed = !foundInf;
    for (std::size_t i = 0; i < m_scalers.size(); ++i) {
        const int module = static_cast<int>(i);
        if (!model.canHaveScale(module))
            continue;
        const bool own = foundInf && saturated(model, module);
        blamed |= own;
        if (!foundInf || own) {
            m_scalers[i].update(own);
            m_scalers[i].holdUsable();
        }
    }
    refresh();
    return blamed;
}

void ModuleScalers::refresh()
{
    m_scales.resize(m_scalers.size());
    for (std::size_t i = 0; i < m_scalers.size(); ++i)
        m_scales[i] = powerOfTwoBelow(static_cast<double>(m_scalers[i].scale()));
}

} // namespace halfscope
