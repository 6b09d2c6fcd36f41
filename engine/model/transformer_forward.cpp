// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/transformer.h"

namespace halfscope {

// The forward probe of a module: its flags say whether a cast saturated, its statistics are the third tap.
CastProbe* Transformer::outputProbe(int module, FormatId stored)
{
    TapState& tap = m_taps[index(module, Tap::Activation)];
    tap.format = stored;
    return &tap.probe;
}

// A layer's input in its own format: FP32 layers read narrower inputs exactly, narrow ones need a copy only when what
// they are given is stored differently. castInput() makes the copy, linearInput() finds it again in the backward pass.
const Tensor& Transformer::castInput(int module, const Tensor& x, CastProbe& probe)
{
    if (!needsCast(module, x))
        return x;
    Tensor& copy = m_castInputs[module];
    if (copy.empty())
        copy = m_backend.makeTensor(forwardFormat(formatOf(module)), x.rows(), x.cols());
    InputProbe& input = m_inputProbes[module];
    input.reader = &probe;
    if (isFp8(module))
        castToFp8(x, copy, fp8(module).input, input.probe);
    else
        m_backend.cast(x, copy, &input.probe);
    return copy;
}

const Tensor& Transformer::linearInput(int module, const Tensor& x) const
{
    return needsCast(module, x) ? m_castInputs.at(module) : x;
}

bool Transformer::needsCast(int module, const Tensor& x) const
{
    const FormatId format = forwardFormat(formatOf(module));
    return format != FormatId::Fp32 && x.format() != format;
}

void Transformer::linearForward(const Linear& layer, const Tensor& x, Tensor& out)
{
    CastProbe* probe = outputProbe(layer.module, out.format());
    m_backend.gemm({.a = castInput(layer.module, x, *probe),
                    .b = layer.module == m_head.module ? headWeight() : weight(layer.weight),
                    .transposeB = true,
                    .c = out,
                    .bias = layer.bias < 0 ? nullptr : &weight(layer.bias),
                    .alpha = undoForward(layer.module),
                    .tf32 = isTf32(layer.module),
                    .probe = probe});
}

// sum = residual + dropout(layer(x)). In one pass, unless something has to look at the layer's own result in between.
void Transformer::residualForward(const Linear& layer, const Tensor& x, const Tensor& residual, Tensor& sum,
                                  std::uint64_t seed)
{
    const FormatId format = storedFormat(layer.module);
    const bool split = m_config.dropout > 0 || m_options.measureActivations;
    if (!split) {
        CastProbe* probe = outputProbe(layer.module, format);
        m_backend.gemm({.a = castInput(layer.module, x, *probe),
                        .b = weight(layer.weight),
                        .transposeB = true,
                        .c = sum,
                        .bias = &weight(layer.bias),
                        .epilogue = Epilogue::AddResidual,
                        .operand = &residual,
                        .productFormat = format,
                        .alpha = undoForward(layer.module),
                        .tf32 = isTf32(layer.module),
                        .probe = probe});
        return;
    }
    Tensor& product = scratch(Slot::Product, 0, format, sum.rows(), sum.cols());
    linearForward(layer, x, product);
    if (m_config.dropout > 0)
        m_backend.dropout(product, product, m_config.dropout, seed, nullptr);
    m_backend.add(residual, product, sum, nullptr);
}

void Transformer::normForward(Norm& norm, const Tensor& x, Tensor& out)
{
    m_backend.layerNormForward(x, weight(norm.gain), weight(norm.shift), out, norm.mean, norm.rstd,
                               outputProbe(norm.module, out.format()));
}

void Transformer::attentionSublayer(Block& block, const Tensor& input)
{
    linearForward(block.qkv, input, block.qkvOut);
    m_backend.attentionForward(attentionShape(), formatOf(block.core), block.qkvOut, block.mixed, block.probabilities,
                               outputProbe(block.core, block.mixed.format()));
}

void Transformer::clearTaps(const StepOptions& options)
{
    m_options = options;
    for (std::size_t i = 0; i < m_taps.size(); ++i) {
        CastProbe& probe = m_taps[i].probe;
        const Tap tap = static_cast<Tap>(i % kTapCount);
        m_taps[i].spike = probe.factor;
        m_taps[i].ownScale = 0.0F;
        const float spike = probe.factor;
        probe = CastProbe();
        probe.factor = spike;
        probe.measure = tap == Tap::WeightGrad       ? options.measureWeightGrads
                        : tap == Tap::ActivationGrad ? options.measureActivationGrads
                                                     : options.measureActivations;
        if (tap == Tap::Activation)
            continue;
        probe.inverseScale = options.inverseScale;
        const int module = static_cast<int>(i / kTapCount);
        if (!options.moduleScales.empty() && canHaveScale(module)) {
            m_taps[i].ownScale = scaleOf(module);
            probe.inverseScale = static_cast<float>(1.0 / static_cast<double>(scaleOf(module)));
        }
    }
    for (auto& [module, input] : m_inputProbes) // emptied, not removed: a steady step takes no memory
        input = {};
}

void Transformer::embed(const Batch& batch)
{
    std::span<const std::int32_t> tokens = batch.inputs;
    if (m_config.patches > 0) {
        m_backend.upload(batch.patches, m_patchInput);
        linearForward(m_patch, m_patchInput, m_patched);
        m_sequence.clear();
        m_tokenRows.clear();
        m_patchRows.clear();
        std::size_t next = 0;
        for (int row = 0; row < m_config.tokens(); ++row) {
            const bool patch = row % m_config.context < m_config.patches;
            (patch ? m_patchRows : m_tokenRows).push_back(row);
            m_sequence.push_back(patch ? -1 : batch.inputs[next++]);
        }
        tokens = m_sequence;
    }
    // The sum is the token embedding's output; where there are patches, which have a tap already, the position's.
    const int module = m_config.patches > 0 ? m_positionModule : m_tokenModule;
    const Tensor none;
    m_backend.embeddingForward(tokens, m_token < 0 ? none : weight(m_token), m_patched, weight(m_position), m_embedded,
                               outputProbe(module, m_embedded.format()));
    if (m_config.dropout > 0)
        m_backend.dropout(m_embedded, m_embedded, m_config.dropout, dropoutSeed(0), nullptr);
}

void Transformer::run(const Batch& batch)
{
    castFp8Weights();
    embed(batch);
    const Tensor* x = &m_embedded;
    int place = 1;
    for (Block& b : m_blocks) {
        const Tensor* attentionInput = x;
        if (m_config.preNorm) {
            normForward(b.norm1, *x, b.normed1);
            attentionInput = &b.normed1;
        }
        attentionSublayer(b, *attentionInput);
        residualForward(b.proj, b.mixed, *x, b.sum1, dropoutSeed(place++));

        const Tensor* middle = &b.sum1;
        const Tensor* mlpInput = nullptr;
        if (m_config.preNorm) {
            normForward(b.norm2, b.sum1, b.normed2);
            mlpInput = &b.normed2;
        } else {
            normForward(b.norm1, b.sum1, b.middle);
            middle = mlpInput = &b.middle;
        }
        CastProbe* fcProbe = outputProbe(b.fc.module, b.hidden.format());
        m_backend.gemm({.a = castInput(b.fc.module, *mlpInput, *fcProbe),
                        .b = weight(b.fc.weight),
                        .transposeB = true,
                        .c = b.hidden,
                        .bias = &weight(b.fc.bias),
                        .epilogue = Epilogue::Activate,
                        .activation = m_config.activation,
                        .activated = &b.activated,
                        .alpha = undoForward(b.fc.module),
                        .tf32 = isTf32(b.fc.module),
                        .probe = fcProbe});
        residualForward(b.fc2, b.activated, *middle, b.sum2, dropoutSeed(place++));
        x = &b.sum2;
        if (!m_config.preNorm) {
            normForward(b.norm2, b.sum2, b.out);
            x = &b.out;
        }
    }
    if (m_config.preNorm) {
        normForward(m_finalNorm, *x, m_finalNormed);
        x = &m_finalNormed;
    }
    if (pools()) {
        m_backend.meanPoolForward(*x, m_pooled, outputProbe(m_pool, m_pooled.format()));
        x = &m_pooled;
    }
    linearForward(m_head, *x, m_logits);
}

double Transformer::evaluate(const Batch& batch)
{
    m_training = false;
    StepOptions unmeasured;
    unmeasured.measureWeightGrads = unmeasured.measureActivationGrads = false;
    clearTaps(unmeasured);
    run(batch);
    return m_backend.crossEntropy(m_logits, batch.targets, 1.0F, nullptr, nullptr);
}

double Transformer::forward(const Batch& batch, const StepOptions& options)
{
    m_training = true;
    clearTaps(options);
    run(batch);
    const float scale = scaleOf(m_head.module);
    const double loss = m_backend.crossEntropy(m_logits, batch.targets, scale, &m_dLogits,
                                               storeProbe({.module = m_head.module}, m_dLogits.format(), scale));
    for (const auto& [module, input] : m_inputProbes) { // valid now: the loss had to be waited for
        if (input.reader != nullptr)
            input.reader->saturated |= input.probe.saturated;
    }
    return loss;
}

} // namespace halfscope
