// SPDX-License-Identifier: GPL-3.0-or-later
// Follows Transformer::makeActivations() and setPlan(): a tensor made there is counted here.
#include "engine/model/memory_estimate.h"

#include <optional>
#include <string_view>

namespace halfscope {

namespace {

FormatId promote(FormatId a, FormatId b) { return a == b ? a : FormatId::Fp32; }
FormatId normStorage(FormatId norm, FormatId reader) { return norm == FormatId::Fp32 ? reader : norm; }

double bytesOf(FormatId format) { return floatFormat(format).storageBytes; }

// A copy to compute with, where that is another format than the one weights are kept in.
double copyBytes(double count, FormatId kept, FormatId computed)
{
    return kept == computed ? 0.0 : count * bytesOf(computed);
}

// A linear layer (out, in) has out * (in + 1) parameters, `out` of them biases; a language model's head has none.
double biasCount(const TransformerConfig& config, const ModuleInfo& linear)
{
    if (linear.name == "lm_head")
        return 0.0;
    std::int64_t in = config.width;
    if (linear.name == "patch_emb")
        in = config.patchWidth;
    else if (linear.name.ends_with("mlp.proj"))
        in *= config.mlpRatio;
    return static_cast<double>(linear.parameters / (in + 1));
}

} // namespace

MemoryUse modelMemory(const TransformerConfig& config, const PrecisionPlan& formats, const WeightStorage& storage)
{
    constexpr double kFp32 = 4.0;
    const std::vector<ModuleInfo> modules = listModules(config);
    PrecisionPlan plan; // what tensors are kept in
    for (const FormatId format : formats)
        plan.push_back(storageFormat(format));
    const double width = config.width;
    const double tokens = static_cast<double>(config.batch) * config.context;
    MemoryUse use;
    const auto values = [&](double columns, FormatId format) { use.activations += tokens * columns * bytesOf(format); };
    const auto norm = [&] { use.activations += 2.0 * tokens * kFp32; };

    for (std::size_t i = 0; i < modules.size(); ++i) {
        const auto count = static_cast<double>(modules[i].parameters);
        const FormatId kept = storage.weights(formats[i]);
        use.weights += count * bytesOf(kept);
        use.gradients += count * bytesOf(plan[i]);
        use.moments += 2.0 * count * bytesOf(storage.moments(formats[i]));
        // Biases beside FP8 weights are kept as all else is.
        const double biases = modules[i].kind == ModuleKind::Linear ? biasCount(config, modules[i]) : 0.0;
        use.weights += copyBytes(count - biases, kept, forwardFormat(formats[i])) + copyBytes(biases, kept, plan[i]);
    }
    std::size_t next = 0;
    const auto take = [&] { return plan[next++]; };
    const double patches = static_cast<double>(config.batch) * config.patches;
    std::optional<FormatId> joined;
    const auto join = [&](FormatId part) { joined = joined ? promote(*joined, part) : part; };
    if (config.patches > 0) {
        join(take());
        use.activations += patches * (config.patchWidth * kFp32 + width * bytesOf(*joined));
    }
    if (config.hasTokens())
        join(take());
    join(take()); // positions
    FormatId stream = *joined;
    values(width, stream);
    for (int i = 0; i < config.depth; ++i) {
        const FormatId norm1 = config.preNorm ? take() : FormatId::Fp32;
        const FormatId qkv = take();
        const FormatId core = take();
        const FormatId proj = take();
        const FormatId norm1After = config.preNorm ? FormatId::Fp32 : take();
        const FormatId norm2 = config.preNorm ? take() : FormatId::Fp32;
        const FormatId fc = take();
        const FormatId fc2 = take();
        const FormatId norm2After = config.preNorm ? FormatId::Fp32 : take();
        norm();
        norm();
        if (config.preNorm) {
            values(width, normStorage(norm1, qkv));
            values(width, normStorage(norm2, fc));
        }
        values(3.0 * width, qkv);
        values(static_cast<double>(config.heads) * config.context, core);
        values(width, core);
        stream = promote(stream, proj);
        values(width, stream);
        if (!config.preNorm) {
            stream = norm1After;
            values(width, stream);
        }
        values(2.0 * width * config.mlpRatio, fc);
        stream = promote(stream, fc2);
        values(width, stream);
        if (!config.preNorm) {
            stream = norm2After;
            values(width, stream);
        }
    }
    const FormatId finalNorm = config.preNorm ? take() : FormatId::Fp32;
    const bool pools = !config.predictsNext();
    const FormatId pool = config.classes > 0 ? take() : FormatId::Fp32;
    const FormatId head = take();
    if (config.preNorm) {
        norm();
        values(width, pools ? finalNorm : normStorage(finalNorm, head));
    }
    if (pools)
        use.activations += config.batch * width * bytesOf(normStorage(pool, head));
    use.activations += 2.0 * config.predictions() * config.outputs() * bytesOf(head);
    if (config.tiedHead) {
        // A gradient of its own, and a copy to compute with where the format is another than the embedding's weights'.
        const double count = static_cast<double>(config.vocabulary) * width;
        const std::size_t headModule = modules.size() - 2; // before the loss
        use.gradients += count * bytesOf(head);
        use.weights += copyBytes(count, storage.weights(formats.front()), forwardFormat(formats[headModule]));
        use.gradients += plan.front() == FormatId::Fp32 ? 0.0 : count * kFp32; // the embedding's own share
    }
    return use;
}

namespace {

double fp32Bytes(const TransformerConfig& config, double bytesMoreAParameter)
{
    const std::vector<ModuleInfo> modules = listModules(config);
    double parameters = 0.0;
    for (const ModuleInfo& module : modules)
        parameters += static_cast<double>(module.parameters);
    return modelBytes(config, PrecisionPlan(modules.size(), FormatId::Fp32)) + bytesMoreAParameter * parameters;
}

} // namespace

double gradientShadowBytes(const TransformerConfig& config) { return fp32Bytes(config, -8.0); }

double shadowRunBytes(const TransformerConfig& config) { return fp32Bytes(config, 4.0); }

} // namespace halfscope
