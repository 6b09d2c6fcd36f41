// SPDX-License-Identifier: GPL-3.0-or-later
// FP8 tensors and their scales.
#include "engine/model/transformer.h"

namespace halfscope {

void Transformer::setFp8Scaling(const Fp8Scaling& scaling)
{
    if (m_fp8Scaling.delayed && !scaling.delayed)
        m_fp8->assign(m_fp8->size(), {});
    m_fp8Scaling = scaling;
}

// `to` = from * the probe's factor * the tensor's scale, which its largest magnitude so far decided.
void Transformer::castToFp8(const Tensor& from, Tensor& to, DelayedScale& scale, CastProbe& probe)
{
    if (m_fp8Scaling.delayed) {
        if (m_training)
            scale.observe(m_backend.largestMagnitude(from));
        probe.clamp = true;
        probe.factor *= scale.scale();
    }
    m_backend.cast(from, to, &probe);
}

void Transformer::castFp8Weights()
{
    const auto cast = [&](int module, const Tensor& from, Tensor& to) {
        CastProbe probe;
        castToFp8(from, to, fp8(module).weight, probe);
        m_backend.synchronize();
        m_taps[index(module, Tap::Activation)].probe.saturated |= probe.saturated;
    };
    for (Parameter& p : m_parameters) {
        if (p.product && isFp8(p.module))
            cast(p.module, p.master, p.compute);
    }
    if (m_config.tiedHead && isFp8(m_head.module))
        cast(m_head.module, parameter(m_token).master, m_tiedWeight);
}

void Transformer::finishStep()
{
    for (int module = 0; module < static_cast<int>(m_modules.size()); ++module) {
        if (!isFp8(module))
            continue;
        fp8(module).input.advance(m_fp8Scaling, FormatId::Fp8E4M3);
        fp8(module).weight.advance(m_fp8Scaling, FormatId::Fp8E4M3);
        fp8(module).gradient.advance(m_fp8Scaling, FormatId::Fp8E5M2);
    }
}

float Transformer::undoForward(int module) const
{
    return isFp8(module) ? 1.0F / (fp8(module).input.scale() * fp8(module).weight.scale()) : 1.0F;
}

float Transformer::undoInputGradient(int module) const
{
    return isFp8(module) ? 1.0F / (fp8(module).gradient.scale() * fp8(module).weight.scale()) : 1.0F;
}

float Transformer::undoWeightGradient(int module) const
{
    return isFp8(module) ? 1.0F / (fp8(module).gradient.scale() * fp8(module).input.scale()) : 1.0F;
}

// Leaves the gradient at the module's loss scale, in BF16 or wider for the bias and in E5M2 for the products.
Transformer::OutputGradient Transformer::arriveAtLinear(const Arrival& to, const Tensor& gradient, float scale,
                                                        Slot slot)
{
    if (!isFp8(to.module)) {
        const Tensor& arrived = arrive(to, gradient, scale, slot);
        return {&arrived, &arrived};
    }
    TapState& tap = m_taps[index(to.module, Tap::ActivationGrad)];
    const float factor = tap.spike * scaleOf(to.module) / scale;
    const Tensor* precise = &gradient;
    if (to.dropout || factor != 1.0F) {
        Tensor& own = scratch(Slot::Precise, static_cast<int>(slot), FormatId::Bf16, gradient.rows(), gradient.cols());
        CastProbe probe;
        probe.factor = factor;
        if (to.dropout)
            m_backend.dropout(gradient, own, m_config.dropout, to.seed, &probe);
        else
            m_backend.cast(gradient, own, &probe);
        precise = &own;
    }
    Tensor& arrived = scratch(slot, 0, FormatId::Fp8E5M2, gradient.rows(), gradient.cols());
    DelayedScale& tensorScale = fp8(to.module).gradient;
    const float all = scaleOf(to.module) * tensorScale.scale();
    tap.format = FormatId::Fp8E5M2;
    tap.probe.factor = 1.0F;
    tap.probe.inverseScale = static_cast<float>(1.0 / static_cast<double>(all));
    tap.ownScale = m_fp8Scaling.delayed ? all : tap.ownScale;
    castToFp8(*precise, arrived, tensorScale, tap.probe);
    return {&arrived, precise};
}

UpdateProbe Transformer::updateProbe(const Parameter& p) const
{
    UpdateProbe probe;
    probe.format = p.compute.format();
    if (!m_storage.master) {
        probe.format = p.master.format();
    } else if (p.product && isTf32(p.module)) {
        probe.format = FormatId::Tf32;
    } else if (p.product && isFp8(p.module)) {
        probe.factor = fp8(p.module).weight.scale();
    }
    return probe;
}

} // namespace halfscope
