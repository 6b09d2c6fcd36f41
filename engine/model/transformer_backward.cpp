// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/transformer.h"

namespace halfscope {

Transformer::Arrival Transformer::branchArrival(int module, int place) const
{
    return {.module = module,
            .dropout = m_config.dropout > 0,
            .seed = dropoutSeed(place),
            .spike = probe(module, Tap::ActivationGrad).factor != 1.0F};
}

// Whether the gradient of a module's output, stored in `stored`, has to be rewritten before the module can use it.
bool Transformer::changesOnArrival(const Arrival& to, FormatId stored) const
{
    const FormatId format = formatOf(to.module);
    return to.dropout || to.spike || (format != FormatId::Fp32 && format != stored);
}

// The probe for the store of a gradient that is on its way to a module: its tap, unless it is counted on arrival.
CastProbe* Transformer::storeProbe(const Arrival& to, FormatId stored)
{
    if (changesOnArrival(to, stored))
        return nullptr;
    TapState& tap = m_taps[index(to.module, Tap::ActivationGrad)];
    tap.format = stored;
    return &tap.probe;
}

const Tensor& Transformer::arrive(const Arrival& to, const Tensor& gradient, Slot slot)
{
    if (!changesOnArrival(to, gradient.format()))
        return gradient;
    TapState& tap = m_taps[index(to.module, Tap::ActivationGrad)];
    tap.format = formatOf(to.module);
    Tensor& arrived = scratch(slot, 0, tap.format, gradient.rows(), gradient.cols());
    if (to.dropout)
        m_backend.dropout(gradient, arrived, m_config.dropout, to.seed, &tap.probe);
    else
        m_backend.cast(gradient, arrived, &tap.probe);
    return arrived;
}

// dW (out, in) = dOut^T x; db = column sums of dOut
void Transformer::weightGradients(const Linear& layer, const Tensor& dOut, const Tensor& x)
{
    TapState& tap = m_taps[index(layer.module, Tap::WeightGrad)];
    tap.format = formatOf(layer.module);
    const bool tied = layer.module == m_head.module && m_config.tiedHead;
    m_backend.gemm({.a = dOut,
                    .transposeA = true,
                    .b = linearInput(layer.module, x),
                    .c = tied ? m_tiedGradient : parameter(layer.weight).gradient,
                    .probe = &tap.probe});
    if (layer.bias >= 0)
        m_backend.columnSum(dOut, parameter(layer.bias).gradient, &tap.probe);
}

// dInput = dOut W, or residual + that, rounded into the layer's format first
void Transformer::inputGradient(const Linear& layer, const Tensor& dOut, Tensor& dInput, const Tensor* residual,
                                CastProbe* probe)
{
    m_backend.gemm({.a = dOut,
                    .b = layer.module == m_head.module ? headWeight() : weight(layer.weight),
                    .c = dInput,
                    .epilogue = residual ? Epilogue::AddResidual : Epilogue::Store,
                    .operand = residual,
                    .productFormat = formatOf(layer.module),
                    .probe = probe});
}

void Transformer::normBackward(Norm& norm, const Tensor& dOut, const Tensor& x, const Tensor* residual, Tensor& dx,
                               CastProbe* probe)
{
    TapState& tap = m_taps[index(norm.module, Tap::WeightGrad)];
    tap.format = formatOf(norm.module);
    m_backend.layerNormBackward(dOut, x, weight(norm.gain), norm.mean, norm.rstd, residual, dx, probe,
                                parameter(norm.gain).gradient, parameter(norm.shift).gradient, &tap.probe);
}

// From the gradient of sum2 to that of mlp.fc's output; leaves the weight gradients of both layers.
const Tensor& Transformer::mlpBackward(Block& b, int place, const Tensor& dSum, const Tensor& input)
{
    const Tensor& dOut = arrive(branchArrival(b.fc2.module, place), dSum, Slot::Branch);
    weightGradients(b.fc2, dOut, b.activated);
    Tensor& dHidden = scratch(Slot::Hidden, 0, b.hidden.format(), b.hidden.rows(), b.hidden.cols());
    m_backend.gemm({.a = dOut,
                    .b = weight(b.fc2.weight),
                    .c = dHidden,
                    .epilogue = Epilogue::ActivationBackward,
                    .activation = m_config.activation,
                    .operand = &b.hidden,
                    .probe = storeProbe({.module = b.fc.module}, dHidden.format())});
    weightGradients(b.fc, dHidden, input);
    return dHidden;
}

// From the gradient of sum1 to that of attn.qkv's output; leaves the weight gradients of both layers.
const Tensor& Transformer::attentionBackward(Block& b, int place, const Tensor& dSum, const Tensor& input)
{
    const Tensor& dOut = arrive(branchArrival(b.proj.module, place), dSum, Slot::Branch);
    weightGradients(b.proj, dOut, b.mixed);
    Tensor& dMixed = scratch(Slot::Mixed, 0, formatOf(b.proj.module), b.mixed.rows(), b.mixed.cols());
    inputGradient(b.proj, dOut, dMixed, nullptr, storeProbe({.module = b.core}, dMixed.format()));
    const Tensor& dCore = arrive({.module = b.core}, dMixed, Slot::Arrived);

    const AttentionShape shape{m_config.batch, m_config.context, m_config.heads, m_config.width / m_config.heads, true};
    Tensor& dQkv = scratch(Slot::Qkv, 0, formatOf(b.core), b.qkvOut.rows(), b.qkvOut.cols());
    m_backend.attentionBackward(shape, formatOf(b.core), dCore, b.qkvOut, b.probabilities, dQkv,
                                storeProbe({.module = b.qkv.module}, dQkv.format()));
    const Tensor& dQkvOut = arrive({.module = b.qkv.module}, dQkv, Slot::Qkv);
    weightGradients(b.qkv, dQkvOut, input);
    return dQkvOut;
}

// From the gradient of the logits to that of the features: what the head reads, or what is pooled for it.
void Transformer::featureGradient(Tensor& dFeatures, const Arrival& to)
{
    const Tensor& features = m_config.preNorm ? m_finalNormed : m_blocks.back().out;
    weightGradients(m_head, m_dLogits, pools() ? m_pooled : features);
    CastProbe* probe = storeProbe(to, dFeatures.format());
    if (!pools()) {
        inputGradient(m_head, m_dLogits, dFeatures, nullptr, probe);
        return;
    }
    const Arrival pool{.module = m_pool};
    Tensor& dPooled = scratch(Slot::Pooled, 1, formatOf(m_head.module), m_pooled.rows(), m_pooled.cols());
    inputGradient(m_head, m_dLogits, dPooled, nullptr, storeProbe(pool, dPooled.format()));
    m_backend.meanPoolBackward(arrive(pool, dPooled, Slot::Pooled), dFeatures, probe);
}

void Transformer::backward(const Batch& batch)
{
    const std::int64_t n = m_config.tokens();
    const std::int64_t width = m_config.width;
    const auto normed = [&](const Linear& reader) -> Tensor& {
        return scratch(Slot::Normed, 0, formatOf(reader.module), n, width);
    };

    const Block& last = m_blocks.back();
    const Tensor* dx = nullptr; // the gradient of the stream, walking down
    if (m_config.preNorm) {
        const FormatId format = pools() ? m_finalNormed.format() : formatOf(m_head.module);
        Tensor& dNormed = scratch(Slot::Normed, 0, format, n, width);
        featureGradient(dNormed, {.module = m_finalNorm.module});
        const Tensor& dNorm = arrive({.module = m_finalNorm.module}, dNormed, Slot::Arrived);
        Tensor& to = stream(last.sum2.format());
        normBackward(m_finalNorm, dNorm, last.sum2, nullptr, to,
                     storeProbe(branchArrival(last.fc2.module, 0), to.format()));
        dx = &to;
    } else {
        Tensor& to = stream(last.out.format());
        featureGradient(to, {.module = last.norm2.module});
        dx = &to;
    }

    for (std::size_t i = m_blocks.size(); i-- > 0;) {
        Block& b = m_blocks[i];
        const Tensor& input = i == 0 ? m_embedded : m_config.preNorm ? m_blocks[i - 1].sum2 : m_blocks[i - 1].out;
        // What the gradient of this block's input arrives at: the block below, or the embeddings.
        const int below = i == 0             ? embeddingModule()
                          : m_config.preNorm ? m_blocks[i - 1].fc2.module
                                             : m_blocks[i - 1].norm2.module;
        const Arrival belowArrival = i > 0 && !m_config.preNorm ? Arrival{.module = below} : branchArrival(below, 0);
        // Patches and tokens take their rows out of it, and only then it is rounded: there it is counted.
        const FormatId inputGradientFormat = i == 0 && joins() ? FormatId::Fp32 : input.format();
        const int mlpPlace = static_cast<int>(2 * i + 2);
        const int attentionPlace = static_cast<int>(2 * i + 1);

        if (m_config.preNorm) {
            const Tensor& dHidden = mlpBackward(b, mlpPlace, *dx, b.normed2);
            Tensor& dNormed2 = normed(b.fc);
            inputGradient(b.fc, dHidden, dNormed2, nullptr, storeProbe({.module = b.norm2.module}, dNormed2.format()));
            const Tensor& dNorm2 = arrive({.module = b.norm2.module}, dNormed2, Slot::Arrived);
            Tensor& dSum1 = stream(b.sum1.format());
            normBackward(b.norm2, dNorm2, b.sum1, dx, dSum1,
                         storeProbe(branchArrival(b.proj.module, 0), dSum1.format()));

            const Tensor& dQkv = attentionBackward(b, attentionPlace, dSum1, b.normed1);
            Tensor& dNormed1 = normed(b.qkv);
            inputGradient(b.qkv, dQkv, dNormed1, nullptr, storeProbe({.module = b.norm1.module}, dNormed1.format()));
            const Tensor& dNorm1 = arrive({.module = b.norm1.module}, dNormed1, Slot::Arrived);
            Tensor& dInput = stream(inputGradientFormat);
            normBackward(b.norm1, dNorm1, input, &dSum1, dInput, storeProbe(belowArrival, dInput.format()));
            dx = &dInput;
        } else {
            const Tensor& dNorm2 = arrive({.module = b.norm2.module}, *dx, Slot::Arrived);
            Tensor& dSum2 = stream(b.sum2.format());
            normBackward(b.norm2, dNorm2, b.sum2, nullptr, dSum2,
                         storeProbe(branchArrival(b.fc2.module, 0), dSum2.format()));
            const Tensor& dHidden = mlpBackward(b, mlpPlace, dSum2, b.middle);
            Tensor& dMiddle = stream(b.middle.format());
            inputGradient(b.fc, dHidden, dMiddle, &dSum2, storeProbe({.module = b.norm1.module}, dMiddle.format()));
            const Tensor& dNorm1 = arrive({.module = b.norm1.module}, dMiddle, Slot::Arrived);
            Tensor& dSum1 = stream(b.sum1.format());
            normBackward(b.norm1, dNorm1, b.sum1, nullptr, dSum1,
                         storeProbe(branchArrival(b.proj.module, 0), dSum1.format()));
            const Tensor& dQkv = attentionBackward(b, attentionPlace, dSum1, input);
            Tensor& dInput = stream(inputGradientFormat);
            inputGradient(b.qkv, dQkv, dInput, &dSum1, storeProbe(belowArrival, dInput.format()));
            dx = &dInput;
        }
    }
    embeddingBackward(batch, *dx);
    for (TapState& tap : m_taps)
        tap.probe.factor = 1.0F;
}

const Tensor& Transformer::arriveRows(int module, const Tensor& gradient, std::span<const std::int32_t> rows, Slot slot)
{
    TapState& tap = m_taps[index(module, Tap::ActivationGrad)];
    tap.format = formatOf(module);
    Tensor& arrived = scratch(slot, 0, tap.format, static_cast<std::int64_t>(rows.size()), gradient.cols());
    m_backend.gatherRows(gradient, rows, arrived, &tap.probe);
    return arrived;
}

// Positions see the same gradient as tokens and patches. The store that made it was the tap of embeddingModule(), if
// it needed no cast.
void Transformer::embeddingBackward(const Batch& batch, const Tensor& dx)
{
    const int first = embeddingModule();
    const Tensor& dFirst = arrive(branchArrival(first, 0), dx, Slot::Branch);
    const Tensor* dPosition = &dFirst;
    if (first != m_positionModule) {
        const bool sameTensor = formatOf(m_positionModule) == formatOf(first) &&
                                probe(m_positionModule, Tap::ActivationGrad).factor == 1.0F &&
                                probe(first, Tap::ActivationGrad).factor == 1.0F;
        TapState& positionTap = m_taps[index(m_positionModule, Tap::ActivationGrad)];
        if (sameTensor) {
            positionTap = m_taps[index(first, Tap::ActivationGrad)];
        } else {
            positionTap.format = formatOf(m_positionModule);
            Tensor& own = scratch(Slot::Branch, 1, positionTap.format, dx.rows(), dx.cols());
            if (m_config.dropout > 0)
                m_backend.dropout(dx, own, m_config.dropout, dropoutSeed(0), &positionTap.probe);
            else
                m_backend.cast(dx, own, &positionTap.probe);
            dPosition = &own;
        }
    }
    if (joins()) {
        const Tensor* rest = &dx;
        if (m_config.dropout > 0) {
            Tensor& dropped = scratch(Slot::Arrived, 1, dx.format(), dx.rows(), dx.cols());
            m_backend.dropout(dx, dropped, m_config.dropout, dropoutSeed(0), nullptr);
            rest = &dropped;
        }
        tokenGradient(batch, arriveRows(m_tokenModule, *rest, m_tokenRows, Slot::TokenRows));
        weightGradients(m_patch, arriveRows(m_patch.module, *rest, m_patchRows, Slot::PatchRows), m_patchInput);
    } else if (m_config.patches > 0) {
        weightGradients(m_patch, dFirst, m_patchInput);
    } else {
        tokenGradient(batch, dFirst);
    }
    TapState& positionWeights = m_taps[index(m_positionModule, Tap::WeightGrad)];
    positionWeights.format = formatOf(m_positionModule);
    m_backend.positionEmbeddingBackward(*dPosition, parameter(m_position).gradient, &positionWeights.probe);
}

void Transformer::tokenGradient(const Batch& batch, const Tensor& dToken)
{
    TapState& tokenWeights = m_taps[index(m_tokenModule, Tap::WeightGrad)];
    tokenWeights.format = formatOf(m_tokenModule);
    Parameter& token = parameter(m_token);
    if (m_config.tiedHead) {
        // The sum with the head's share is what is rounded last, and what found_inf sees: there it is counted.
        Tensor& share = token.gradient.format() == FormatId::Fp32 ? token.gradient : m_tokenShare;
        m_backend.tokenEmbeddingBackward(batch.inputs, dToken, share, nullptr);
        m_backend.add(share, m_tiedGradient, token.gradient, &tokenWeights.probe);
    } else {
        m_backend.tokenEmbeddingBackward(batch.inputs, dToken, token.gradient, &tokenWeights.probe);
    }
}

} // namespace halfscope
