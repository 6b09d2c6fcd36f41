// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/transformer.h"

namespace halfscope {

Transformer::Arrival Transformer::branchArrival(int module, int place) const
{
    return {.module = module,
            .dropout = m_config.dropout > 0,
            .seed = dropoutSeed(place),
            .spike = m_taps[index(module, Tap::ActivationGrad)].spike != 1.0F,
            .shared = true};
}

bool Transformer::canHaveScale(int module) const
{
    const ModuleKind kind = m_modules[static_cast<std::size_t>(module)].kind;
    const FormatId format = backwardFormat(formatOf(module));
    const bool scaledAnyway = isFp8(module) && m_fp8Scaling.delayed;
    return (kind == ModuleKind::Linear || kind == ModuleKind::Attention) && !scaledAnyway &&
           floatFormat(format).exponentBits < floatFormat(FormatId::Fp32).exponentBits;
}

float Transformer::scaleOf(int module) const
{
    return m_options.moduleScales.empty() || !canHaveScale(module)
               ? m_options.lossScale
               : m_options.moduleScales[static_cast<std::size_t>(module)];
}

// Whether the gradient of a module's output, stored in `stored`, has to be rewritten before the module can use it.
bool Transformer::countedOnArrival(const Arrival& to, FormatId stored) const
{
    const FormatId format = backwardFormat(formatOf(to.module));
    const bool rescaled = to.shared && scaleOf(to.module) != m_options.lossScale;
    return to.dropout || to.spike || (format != FormatId::Fp32 && (format != stored || rescaled));
}

// A module's tap for a tensor that is stored in `counted`, after it was multiplied by `factor`.
CastProbe* Transformer::tapProbe(int module, FormatId counted, float factor)
{
    TapState& tap = m_taps[index(module, Tap::ActivationGrad)];
    const bool asTf32 = isTf32(module) && counted == FormatId::Fp32;
    tap.format = asTf32 ? FormatId::Tf32 : counted;
    if (asTf32)
        tap.probe.countedAs = FormatId::Tf32;
    tap.probe.factor = tap.spike * factor;
    return &tap.probe;
}

// The probe for the store of a gradient that is on its way to a module: its tap, unless it is counted on arrival. The
// values have loss scale `scale`; what is counted here is stored with the module's.
CastProbe* Transformer::storeProbe(const Arrival& to, FormatId stored, float scale)
{
    return countedOnArrival(to, stored) ? nullptr : tapProbe(to.module, stored, scaleOf(to.module) / scale);
}

// `scale` as storeProbe() was told.
const Tensor& Transformer::arrive(const Arrival& to, const Tensor& gradient, float scale, Slot slot)
{
    if (!countedOnArrival(to, gradient.format()))
        return gradient;
    const FormatId format = backwardFormat(formatOf(to.module));
    CastProbe* probe = tapProbe(to.module, format, scaleOf(to.module) / scale);
    Tensor& arrived = scratch(slot, 0, format, gradient.rows(), gradient.cols());
    if (to.dropout)
        m_backend.dropout(gradient, arrived, m_config.dropout, to.seed, probe);
    else
        m_backend.cast(gradient, arrived, probe);
    return arrived;
}

// dW (out, in) = dOut^T x; db = column sums of dOut
void Transformer::weightGradients(const Linear& layer, const OutputGradient& dOut, const Tensor& x)
{
    TapState& tap = m_taps[index(layer.module, Tap::WeightGrad)];
    tap.format = storedFormat(layer.module);
    const bool tied = layer.module == m_head.module && m_config.tiedHead;
    m_backend.gemm({.a = *dOut.product,
                    .transposeA = true,
                    .b = linearInput(layer.module, x),
                    .c = tied ? m_tiedGradient : parameter(layer.weight).gradient,
                    .alpha = undoWeightGradient(layer.module),
                    .tf32 = isTf32(layer.module),
                    .probe = &tap.probe});
    if (layer.bias >= 0)
        m_backend.columnSum(*dOut.precise, parameter(layer.bias).gradient, &tap.probe);
}

// dInput = dOut W, or residual + factor * that, rounded into the layer's format first
void Transformer::inputGradient(const Linear& layer, const OutputGradient& dOut, Tensor& dInput, const Tensor* residual,
                                CastProbe* probe, float factor)
{
    m_backend.gemm({.a = *dOut.product,
                    .b = layer.module == m_head.module ? headWeight() : weight(layer.weight),
                    .c = dInput,
                    .epilogue = residual ? Epilogue::AddResidual : Epilogue::Store,
                    .operand = residual,
                    .productFormat = storedFormat(layer.module),
                    .productFactor = factor,
                    .alpha = undoInputGradient(layer.module),
                    .tf32 = isTf32(layer.module),
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
Transformer::OutputGradient Transformer::mlpBackward(Block& b, int place, const Tensor& dSum, const Tensor& input)
{
    const OutputGradient dOut =
        arriveAtLinear(branchArrival(b.fc2.module, place), dSum, m_options.lossScale, Slot::Branch);
    weightGradients(b.fc2, dOut, b.activated);
    Tensor& dHidden = scratch(Slot::Hidden, 0, b.hidden.format(), b.hidden.rows(), b.hidden.cols());
    const float scale = scaleOf(b.fc2.module);
    m_backend.gemm({.a = *dOut.product,
                    .b = weight(b.fc2.weight),
                    .c = dHidden,
                    .epilogue = Epilogue::ActivationBackward,
                    .activation = m_config.activation,
                    .operand = &b.hidden,
                    .alpha = undoInputGradient(b.fc2.module),
                    .tf32 = isTf32(b.fc2.module),
                    .probe = storeProbe({.module = b.fc.module}, dHidden.format(), scale)});
    const OutputGradient arrived = arriveAtLinear({.module = b.fc.module}, dHidden, scale, Slot::Hidden);
    weightGradients(b.fc, arrived, input);
    return arrived;
}

// From the gradient of sum1 to that of attn.qkv's output; leaves the weight gradients of both layers.
Transformer::OutputGradient Transformer::attentionBackward(Block& b, int place, const Tensor& dSum, const Tensor& input)
{
    const OutputGradient dOut =
        arriveAtLinear(branchArrival(b.proj.module, place), dSum, m_options.lossScale, Slot::Branch);
    weightGradients(b.proj, dOut, b.mixed);
    Tensor& dMixed = scratch(Slot::Mixed, 0, storedFormat(b.proj.module), b.mixed.rows(), b.mixed.cols());
    const float mixedScale = scaleOf(b.proj.module);
    inputGradient(b.proj, dOut, dMixed, nullptr, storeProbe({.module = b.core}, dMixed.format(), mixedScale));
    const Tensor& dCore = arrive({.module = b.core}, dMixed, mixedScale, Slot::Arrived);

    Tensor& dQkv = scratch(Slot::Qkv, 0, storedFormat(b.core), b.qkvOut.rows(), b.qkvOut.cols());
    const float coreScale = scaleOf(b.core);
    m_backend.attentionBackward(attentionShape(), formatOf(b.core), dCore, b.qkvOut, b.probabilities, dQkv,
                                storeProbe({.module = b.qkv.module}, dQkv.format(), coreScale));
    const OutputGradient dQkvOut = arriveAtLinear({.module = b.qkv.module}, dQkv, coreScale, Slot::Qkv);
    weightGradients(b.qkv, dQkvOut, input);
    return dQkvOut;
}

// From the gradient of the logits to that of the features: what the head reads, or what is pooled for it. Returns the
// loss scale it has unless it is counted on its store.
float Transformer::featureGradient(Tensor& dFeatures, const Arrival& to)
{
    const Tensor& features = m_config.preNorm ? m_finalNormed : m_blocks.back().out;
    const float scale = scaleOf(m_head.module);
    const OutputGradient dLogits = arriveAtLinear({.module = m_head.module}, m_dLogits, scale, Slot::Logits);
    weightGradients(m_head, dLogits, pools() ? m_pooled : features);
    if (!pools()) {
        inputGradient(m_head, dLogits, dFeatures, nullptr, storeProbe(to, dFeatures.format(), scale));
        return scale;
    }
    const Arrival pool{.module = m_pool};
    Tensor& dPooled = scratch(Slot::Pooled, 1, storedFormat(m_head.module), m_pooled.rows(), m_pooled.cols());
    inputGradient(m_head, dLogits, dPooled, nullptr, storeProbe(pool, dPooled.format(), scale));
    m_backend.meanPoolBackward(arrive(pool, dPooled, scale, Slot::Pooled), dFeatures,
                               storeProbe(to, dFeatures.format(), m_options.lossScale));
    return m_options.lossScale;
}

void Transformer::backward(const Batch& batch)
{
    const std::int64_t n = m_config.tokens();
    const std::int64_t width = m_config.width;
    const float streamScale = m_options.lossScale;
    // What a norm is given by the linear layer that reads its result.
    const auto intoNorm = [&](const Linear& reader, const OutputGradient& dOut, const Norm& norm) -> const Tensor& {
        Tensor& dNormed = scratch(Slot::Normed, 0, storedFormat(reader.module), n, width);
        const float scale = scaleOf(reader.module);
        inputGradient(reader, dOut, dNormed, nullptr, storeProbe({.module = norm.module}, dNormed.format(), scale));
        return arrive({.module = norm.module}, dNormed, scale, Slot::Arrived);
    };
    // What the stream is given by the linear layer that reads it: the sum has the stream's scale.
    const auto intoStream = [&](const Linear& reader, const OutputGradient& dOut, Tensor& to, const Tensor* residual,
                                const Arrival& next) {
        inputGradient(reader, dOut, to, residual, storeProbe(next, to.format(), streamScale),
                      streamScale / scaleOf(reader.module));
    };

    const Block& last = m_blocks.back();
    const Tensor* dx = nullptr; // the gradient of the stream, walking down
    float dxScale = streamScale;
    if (m_config.preNorm) {
        const FormatId format = pools() ? m_finalNormed.format() : storedFormat(m_head.module);
        Tensor& dNormed = scratch(Slot::Normed, 0, format, n, width);
        const float scale = featureGradient(dNormed, {.module = m_finalNorm.module});
        const Tensor& dNorm = arrive({.module = m_finalNorm.module}, dNormed, scale, Slot::Arrived);
        Tensor& to = stream(last.sum2.format());
        normBackward(m_finalNorm, dNorm, last.sum2, nullptr, to,
                     storeProbe(branchArrival(last.fc2.module, 0), to.format(), streamScale));
        dx = &to;
    } else {
        Tensor& to = stream(last.out.format());
        dxScale = featureGradient(to, {.module = last.norm2.module});
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
            const OutputGradient dHidden = mlpBackward(b, mlpPlace, *dx, b.normed2);
            const Tensor& dNorm2 = intoNorm(b.fc, dHidden, b.norm2);
            Tensor& dSum1 = stream(b.sum1.format());
            normBackward(b.norm2, dNorm2, b.sum1, dx, dSum1,
                         storeProbe(branchArrival(b.proj.module, 0), dSum1.format(), streamScale));

            const OutputGradient dQkv = attentionBackward(b, attentionPlace, dSum1, b.normed1);
            const Tensor& dNorm1 = intoNorm(b.qkv, dQkv, b.norm1);
            Tensor& dInput = stream(inputGradientFormat);
            normBackward(b.norm1, dNorm1, input, &dSum1, dInput,
                         storeProbe(belowArrival, dInput.format(), streamScale));
            dx = &dInput;
        } else {
            const Tensor& dNorm2 = arrive({.module = b.norm2.module}, *dx, dxScale, Slot::Arrived);
            Tensor& dSum2 = stream(b.sum2.format());
            normBackward(b.norm2, dNorm2, b.sum2, nullptr, dSum2,
                         storeProbe(branchArrival(b.fc2.module, 0), dSum2.format(), streamScale));
            const OutputGradient dHidden = mlpBackward(b, mlpPlace, dSum2, b.middle);
            Tensor& dMiddle = stream(b.middle.format());
            intoStream(b.fc, dHidden, dMiddle, &dSum2, {.module = b.norm1.module});
            const Tensor& dNorm1 = arrive({.module = b.norm1.module}, dMiddle, streamScale, Slot::Arrived);
            Tensor& dSum1 = stream(b.sum1.format());
            normBackward(b.norm1, dNorm1, b.sum1, nullptr, dSum1,
                         storeProbe(branchArrival(b.proj.module, 0), dSum1.format(), streamScale));
            const OutputGradient dQkv = attentionBackward(b, attentionPlace, dSum1, input);
            Tensor& dInput = stream(inputGradientFormat);
            intoStream(b.qkv, dQkv, dInput, &dSum1, belowArrival);
            dx = &dInput;
            dxScale = streamScale;
        }
    }
    embeddingBackward(batch, *dx);
    m_backend.synchronize();
    for (TapState& tap : m_taps)
        tap.probe.factor = 1.0F;
}

const Tensor& Transformer::arriveRows(int module, const Tensor& gradient, std::span<const std::int32_t> rows, Slot slot)
{
    const FormatId format = backwardFormat(formatOf(module));
    CastProbe* probe = tapProbe(module, format, scaleOf(module) / m_options.lossScale);
    Tensor& arrived = scratch(slot, 0, format, static_cast<std::int64_t>(rows.size()), gradient.cols());
    m_backend.gatherRows(gradient, rows, arrived, probe);
    return arrived;
}

Transformer::OutputGradient Transformer::arriveAtPatches(const Tensor& gradient)
{
    if (!isFp8(m_patch.module)) {
        const Tensor& arrived = arriveRows(m_patch.module, gradient, m_patchRows, Slot::PatchRows);
        return {&arrived, &arrived};
    }
    Tensor& rows =
        scratch(Slot::PatchRows, 0, gradient.format(), static_cast<std::int64_t>(m_patchRows.size()), gradient.cols());
    m_backend.gatherRows(gradient, m_patchRows, rows, nullptr);
    return arriveAtLinear({.module = m_patch.module}, rows, m_options.lossScale, Slot::PatchRows);
}

// Positions see the same gradient as tokens and patches. The store that made it was the tap of embeddingModule(), if
// it needed no cast.
void Transformer::embeddingBackward(const Batch& batch, const Tensor& dx)
{
    const int first = embeddingModule();
    // In FP8 only where that is the patches' linear layer.
    const OutputGradient dFirst = arriveAtLinear(branchArrival(first, 0), dx, m_options.lossScale, Slot::Branch);
    const Tensor* dPosition = dFirst.product;
    if (first != m_positionModule) {
        const bool sameTensor = formatOf(m_positionModule) == formatOf(first) &&
                                scaleOf(first) == m_options.lossScale &&
                                m_taps[index(m_positionModule, Tap::ActivationGrad)].spike == 1.0F &&
                                m_taps[index(first, Tap::ActivationGrad)].spike == 1.0F;
        if (sameTensor) {
            m_backend.synchronize(); // what is copied must be there
            m_taps[index(m_positionModule, Tap::ActivationGrad)] = m_taps[index(first, Tap::ActivationGrad)];
        } else {
            const FormatId format = storedFormat(m_positionModule);
            CastProbe* probe = tapProbe(m_positionModule, format, 1.0F);
            Tensor& own = scratch(Slot::Branch, 1, format, dx.rows(), dx.cols());
            if (m_config.dropout > 0)
                m_backend.dropout(dx, own, m_config.dropout, dropoutSeed(0), probe);
            else
                m_backend.cast(dx, own, probe);
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
        weightGradients(m_patch, arriveAtPatches(*rest), m_patchInput);
    } else if (m_config.patches > 0) {
        weightGradients(m_patch, dFirst, m_patchInput);
    } else {
        tokenGradient(batch, *dFirst.product);
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
        const Tensor* headShare = &m_tiedGradient;
        if (const float headScale = scaleOf(m_head.module); headScale != m_options.lossScale) {
            Tensor& rescaled = scratch(Slot::Tied, 0, FormatId::Fp32, share.rows(), share.cols());
            CastProbe toStream;
            toStream.factor = m_options.lossScale / headScale;
            m_backend.cast(m_tiedGradient, rescaled, &toStream);
            headShare = &rescaled;
        }
        m_backend.add(share, *headShare, token.gradient, &tokenWeights.probe);
    } else {
        m_backend.tokenEmbeddingBackward(batch.inputs, dToken, token.gradient, &tokenWeights.probe);
    }
}

} // namespace halfscope
