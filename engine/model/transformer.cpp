// SPDX-License-Identifier: GPL-3.0-or-later
// Construction, plans and buffers. The passes themselves are in transformer_forward.cpp and transformer_backward.cpp.
#include "engine/model/transformer.h"

#include <cmath>
#include <set>

namespace halfscope {

namespace {

// torch's type promotion for two floating-point operands: equal stay, anything else meets in FP32.
FormatId promote(FormatId a, FormatId b) { return a == b ? a : FormatId::Fp32; }

// In which format a norm's result is stored: its own if that is narrow, else what its only reader will make of it.
FormatId normStorage(FormatId norm, FormatId reader) { return norm == FormatId::Fp32 ? reader : norm; }

constexpr float kWeightDeviation = 0.02F; // GPT-2's initialisation

// That of torch.nn.Linear, so that patches of few numbers weigh as much as those of many.
float patchDeviation(int inputs) { return 1.0F / std::sqrt(3.0F * static_cast<float>(inputs)); }

} // namespace

Transformer::Transformer(Backend& backend, const TransformerConfig& config, const PrecisionPlan& plan,
                         std::uint64_t seed, const std::function<void()>& whileBuilding)
    : m_backend(backend), m_whileBuilding(whileBuilding), m_config(config), m_modules(listModules(config)), m_plan(plan)
{
    for (std::size_t i = 0; i < m_modules.size(); ++i)
        m_moduleIds.emplace(m_modules[i].name, static_cast<int>(i));
    m_taps.resize(m_modules.size() * kTapCount);
    m_fp8 = std::make_shared<std::vector<Fp8Scales>>(m_modules.size());

    Rng rng(seed);
    const int width = config.width;
    // Each residual branch adds to the stream; GPT-2 scales their last layers so that the sum keeps its variance.
    const float residualDeviation = kWeightDeviation / std::sqrt(2.0F * static_cast<float>(config.depth));
    m_tokenModule = moduleId("tok_emb");
    m_positionModule = moduleId("pos_emb");
    m_pool = moduleId("pool");
    m_lossModule = moduleId("loss");
    if (config.patches > 0)
        m_patch = addLinear("patch_emb", width, config.patchWidth, true, patchDeviation(config.patchWidth), rng);
    if (config.hasTokens())
        m_token = addParameter(m_tokenModule, "tok_emb.weight", config.vocabulary, width, kWeightDeviation, 0, rng);
    m_position = addParameter(m_positionModule, "pos_emb.weight", config.context, width, kWeightDeviation, 0, rng);
    for (int i = 0; i < config.depth; ++i) {
        const std::string prefix = "h" + std::to_string(i) + ".";
        Block block;
        block.norm1 = addNorm(prefix + "ln_1", rng);
        block.qkv = addLinear(prefix + "attn.qkv", 3L * width, width, true, kWeightDeviation, rng);
        block.core = moduleId(prefix + "attn.core");
        block.proj = addLinear(prefix + "attn.proj", width, width, true, residualDeviation, rng);
        block.norm2 = addNorm(prefix + "ln_2", rng);
        const std::int64_t hidden = static_cast<std::int64_t>(config.mlpRatio) * width;
        block.fc = addLinear(prefix + "mlp.fc", hidden, width, true, kWeightDeviation, rng);
        block.fc2 = addLinear(prefix + "mlp.proj", width, hidden, true, residualDeviation, rng);
        m_blocks.push_back(std::move(block));
    }
    if (config.preNorm)
        m_finalNorm = addNorm("ln_f", rng);
    if (config.classes > 0)
        m_head = addLinear("head", config.outputs(), width, true, kWeightDeviation, rng);
    else if (!config.tiedHead)
        m_head = addLinear("lm_head", config.vocabulary, width, false, kWeightDeviation, rng);
    else
        m_head = {.module = moduleId("lm_head"), .weight = m_token};

    for (int module = static_cast<int>(m_modules.size()) - 1; module >= 0; --module) {
        for (const Tap tap : {Tap::ActivationGrad, Tap::WeightGrad}) {
            if (hasTap(module, tap))
                m_backwardOrder.emplace_back(module, tap);
        }
    }
    setPlan(plan);
    m_whileBuilding = nullptr;
}

Transformer::Transformer(const Transformer& trained, int batch) : Transformer(trained)
{
    m_config.batch = batch;
    m_config.dropout = 0.0F;
    makeActivations();
}

void Transformer::swapHead(std::uint64_t seed)
{
    m_config.pretraining = false;
    m_modules = listModules(m_config);
    Rng rng(seed);
    initialise(parameter(m_head.weight), m_config.classes, m_config.width, kWeightDeviation, 0, rng);
    initialise(parameter(m_head.bias), 1, m_config.classes, 0, 0, rng);
    for (Parameter& p : m_parameters) {
        m_backend.fillZero(p.moment1);
        m_backend.fillZero(p.moment2);
    }
    // What was largest in the old head says nothing about the new one's tensors: gradients of a mean over few examples
    // are far larger than those of one over many tokens, and would be clamped.
    fp8(m_head.module) = {};
    setPlan(m_plan);
}

int Transformer::moduleId(std::string_view name) const
{
    const auto it = m_moduleIds.find(name);
    return it == m_moduleIds.end() ? -1 : it->second;
}

std::int64_t Transformer::parameterCount() const
{
    std::int64_t count = 0;
    for (const Parameter& p : m_parameters)
        count += p.master.size();
    return count;
}

MemoryUse Transformer::memory() const
{
    std::set<const void*> seen; // a computed copy may be the master itself
    MemoryUse use;
    const auto add = [&](double& to, const Tensor& t) {
        if (!t.empty() && seen.insert(t.data()).second)
            to += static_cast<double>(t.bytes());
    };
    for (const Parameter& p : m_parameters) {
        add(use.weights, p.master);
        add(use.weights, p.compute);
        add(use.gradients, p.gradient);
        add(use.moments, p.moment1);
        add(use.moments, p.moment2);
    }
    add(use.weights, m_tiedWeight);
    add(use.gradients, m_tiedGradient);
    add(use.gradients, m_tokenShare);
    for (const Block& b : m_blocks) {
        for (const Tensor* t :
             {&b.norm1.mean, &b.norm1.rstd, &b.norm2.mean, &b.norm2.rstd, &b.normed1, &b.qkvOut, &b.probabilities,
              &b.mixed, &b.sum1, &b.middle, &b.normed2, &b.hidden, &b.activated, &b.sum2, &b.out})
            add(use.activations, *t);
    }
    for (const Tensor* t : {&m_finalNorm.mean, &m_finalNorm.rstd, &m_patchInput, &m_patched, &m_embedded,
                            &m_finalNormed, &m_pooled, &m_logits, &m_dLogits})
        add(use.activations, *t);
    for (const auto& [module, t] : m_castInputs)
        add(use.activations, t);
    for (const auto& [key, t] : m_scratch)
        add(use.activations, t);
    return use;
}

bool Transformer::hasTap(int module, Tap tap) const
{
    switch (m_modules[static_cast<std::size_t>(module)].kind) {
    case ModuleKind::Loss:
        return false;
    case ModuleKind::Attention:
    case ModuleKind::Pool:
        return tap != Tap::WeightGrad;
    default:
        return true;
    }
}

int Transformer::addParameter(int module, std::string name, std::int64_t rows, std::int64_t cols, float deviation,
                              float constant, Rng& rng)
{
    if (m_whileBuilding)
        m_whileBuilding();
    Parameter p;
    p.name = std::move(name);
    p.module = module;
    initialise(p, rows, cols, deviation, constant, rng);
    m_parameters.push_back(std::move(p));
    return static_cast<int>(m_parameters.size()) - 1;
}

// What is computed from the master is left for setPlan() to make.
void Transformer::initialise(Parameter& p, std::int64_t rows, std::int64_t cols, float deviation, float constant,
                             Rng& rng)
{
    p.master = m_backend.makeTensor(FormatId::Fp32, rows, cols);
    p.moment1 = m_backend.makeTensor(FormatId::Fp32, rows, cols);
    p.moment2 = m_backend.makeTensor(FormatId::Fp32, rows, cols);
    p.compute = p.gradient = Tensor();
    std::vector<float> values(static_cast<std::size_t>(rows * cols), constant);
    if (deviation > 0) {
        for (float& v : values)
            v = static_cast<float>(rng.normal()) * deviation;
    }
    m_backend.upload(values, p.master);
}

Transformer::Linear Transformer::addLinear(const std::string& module, std::int64_t out, std::int64_t in, bool bias,
                                           float deviation, Rng& rng)
{
    Linear layer;
    layer.module = moduleId(module);
    layer.weight = addParameter(layer.module, module + ".weight", out, in, deviation, 0, rng);
    parameter(layer.weight).product = true;
    if (bias)
        layer.bias = addParameter(layer.module, module + ".bias", 1, out, 0, 0, rng);
    return layer;
}

Transformer::Norm Transformer::addNorm(const std::string& module, Rng& rng)
{
    Norm norm;
    norm.module = moduleId(module);
    norm.gain = addParameter(norm.module, module + ".weight", 1, m_config.width, 0, 1, rng);
    norm.shift = addParameter(norm.module, module + ".bias", 1, m_config.width, 0, 0, rng);
    return norm;
}

Tensor Transformer::recast(const Tensor& from, FormatId format)
{
    if (from.format() == format)
        return from;
    Tensor to = m_backend.makeTensor(format, from.rows(), from.cols());
    m_backend.cast(from, to, nullptr);
    return to;
}

// All of a parameter's tensors, in the formats that plan and storage want; what has the right one stays.
void Transformer::makeWeights(Parameter& p)
{
    const FormatId format = formatOf(p.module);
    p.master = recast(p.master, m_storage.weights(format));
    p.moment1 = recast(p.moment1, m_storage.moments(format));
    p.moment2 = recast(p.moment2, m_storage.moments(format));
    const auto make = [&](Tensor& t, FormatId wanted) {
        if (t.empty() || t.format() != wanted)
            t = m_backend.makeTensor(wanted, p.master.rows(), p.master.cols());
    };
    make(p.gradient, storageFormat(format));
    const FormatId computed = p.product ? forwardFormat(format) : storageFormat(format);
    if (computed == p.master.format())
        p.compute = p.master;
    else if (p.compute.data() == p.master.data() || p.compute.empty() || p.compute.format() != computed)
        p.compute = m_backend.makeTensor(computed, p.master.rows(), p.master.cols());
}

void Transformer::setPlan(const PrecisionPlan& plan)
{
    for (std::size_t i = 0; i < plan.size(); ++i) {
        if (plan[i] != m_plan[i])
            fp8(static_cast<int>(i)) = {};
    }
    m_plan = plan;
    for (Parameter& p : m_parameters) {
        if (m_whileBuilding)
            m_whileBuilding();
        makeWeights(p);
    }
    if (m_config.tiedHead) {
        const FormatId format = forwardFormat(formatOf(m_head.module));
        const Tensor& master = parameter(m_token).master;
        m_tiedWeight =
            format == master.format() ? master : m_backend.makeTensor(format, m_config.vocabulary, m_config.width);
        m_tiedGradient = m_backend.makeTensor(storedFormat(m_head.module), m_config.vocabulary, m_config.width);
        m_tokenShare = formatOf(m_tokenModule) == FormatId::Fp32
                           ? Tensor()
                           : m_backend.makeTensor(FormatId::Fp32, m_config.vocabulary, m_config.width);
    }
    makeActivations();
    refreshCompute();
}

void Transformer::setWeightStorage(const WeightStorage& storage)
{
    if (m_storage == storage)
        return;
    m_storage = storage;
    setPlan(PrecisionPlan(m_plan));
}

// FP8 weights are cast when a forward pass begins, with the scale they have by then.
void Transformer::refreshCompute()
{
    for (Parameter& p : m_parameters) {
        if (p.compute.data() != p.master.data() && !(p.product && isFp8(p.module)))
            m_backend.cast(p.master, p.compute, nullptr);
    }
    if (m_config.tiedHead && m_tiedWeight.data() != parameter(m_token).master.data() && !isFp8(m_head.module))
        m_backend.cast(parameter(m_token).master, m_tiedWeight, nullptr);
}

void Transformer::makeActivations()
{
    const std::int64_t n = m_config.tokens();
    const std::int64_t width = m_config.width;
    const auto make = [&](Tensor& t, FormatId format, std::int64_t cols, std::int64_t rows) {
        if (t.format() != format || t.rows() != rows || t.cols() != cols)
            t = m_backend.makeTensor(format, rows, cols);
    };
    m_castInputs.clear();
    m_scratch.clear();

    const auto makeNorm = [&](Norm& norm) {
        make(norm.mean, FormatId::Fp32, 1, n);
        make(norm.rstd, FormatId::Fp32, 1, n);
    };

    FormatId stream = storedFormat(m_positionModule);
    if (m_config.patches > 0) {
        const std::int64_t patches = std::int64_t{m_config.batch} * m_config.patches;
        make(m_patchInput, FormatId::Fp32, m_config.patchWidth, patches);
        make(m_patched, storedFormat(m_patch.module), width, patches);
        stream = promote(stream, m_patched.format());
    }
    if (m_config.hasTokens())
        stream = promote(stream, storedFormat(m_tokenModule));
    make(m_embedded, stream, width, n);
    for (Block& b : m_blocks) {
        makeNorm(b.norm1);
        makeNorm(b.norm2);
        if (m_config.preNorm)
            make(b.normed1, normStorage(storedFormat(b.norm1.module), storedFormat(b.qkv.module)), width, n);
        make(b.qkvOut, storedFormat(b.qkv.module), 3 * width, n);
        make(b.probabilities, storedFormat(b.core), m_config.context,
             static_cast<std::int64_t>(m_config.batch) * m_config.heads * m_config.context);
        make(b.mixed, storedFormat(b.core), width, n);
        stream = promote(stream, storedFormat(b.proj.module));
        make(b.sum1, stream, width, n);
        if (m_config.preNorm) {
            make(b.normed2, normStorage(storedFormat(b.norm2.module), storedFormat(b.fc.module)), width, n);
        } else {
            stream = storedFormat(b.norm1.module);
            make(b.middle, stream, width, n);
        }
        make(b.hidden, storedFormat(b.fc.module), width * m_config.mlpRatio, n);
        make(b.activated, storedFormat(b.fc.module), width * m_config.mlpRatio, n);
        stream = promote(stream, storedFormat(b.fc2.module));
        make(b.sum2, stream, width, n);
        if (!m_config.preNorm) {
            stream = storedFormat(b.norm2.module);
            make(b.out, stream, width, n);
        }
    }
    const FormatId head = storedFormat(m_head.module);
    if (m_config.preNorm) {
        const FormatId norm = storedFormat(m_finalNorm.module);
        makeNorm(m_finalNorm);
        make(m_finalNormed, pools() ? norm : normStorage(norm, head), width, n);
    }
    if (pools())
        make(m_pooled, normStorage(storedFormat(m_pool), head), width, m_config.batch);
    make(m_logits, head, m_config.outputs(), m_config.predictions());
    make(m_dLogits, head, m_config.outputs(), m_config.predictions());
}

AttentionShape Transformer::attentionShape() const
{
    return {m_config.batch, m_config.context, m_config.heads, m_config.width / m_config.heads,
            m_config.causal || m_config.predictsNext()};
}

int Transformer::embeddingModule() const
{
    return joins() ? m_positionModule : m_config.hasTokens() ? m_tokenModule : m_patch.module;
}

Tensor& Transformer::scratch(Slot slot, int instance, FormatId format, std::int64_t rows, std::int64_t cols)
{
    Tensor& t = m_scratch[{slot, instance, format}];
    if (t.empty())
        t = m_backend.makeTensor(format, rows, cols);
    return t;
}

Tensor& Transformer::stream(FormatId format)
{
    // A gradient of the stream is made from the one before it, so two buffers would do; three leave room for post-norm,
    // where the sum's gradient lies between them.
    m_streamTurn = (m_streamTurn + 1) % 3;
    return scratch(Slot::Stream, m_streamTurn, format, m_config.tokens(), m_config.width);
}

std::uint64_t Transformer::dropoutSeed(int place) const
{
    return hash64(m_options.dropoutSeed, static_cast<std::uint64_t>(place));
}

} // namespace halfscope
