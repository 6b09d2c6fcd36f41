// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/transformer_config.h"

namespace halfscope {

std::vector<ModuleInfo> listModules(const TransformerConfig& config)
{
    const std::int64_t width = config.width;
    const std::int64_t hidden = width * config.mlpRatio;
    std::vector<ModuleInfo> modules;
    const auto norm = [&](const std::string& name) { modules.push_back({name, ModuleKind::Norm, 2 * width}); };
    const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
        modules.push_back({name, ModuleKind::Linear, in * out + out});
    };

    if (config.patches > 0)
        linear("patch_emb", config.patchWidth, width);
    if (config.hasTokens())
        modules.push_back({"tok_emb", ModuleKind::Embedding, config.vocabulary * width});
    modules.push_back({"pos_emb", ModuleKind::Embedding, config.context * width});
    for (int i = 0; i < config.depth; ++i) {
        const std::string block = "h" + std::to_string(i) + ".";
        // A post-norm block normalises each sum, a pre-norm block what each branch reads.
        if (config.preNorm)
            norm(block + "ln_1");
        linear(block + "attn.qkv", width, 3 * width);
        modules.push_back({block + "attn.core", ModuleKind::Attention, 0});
        linear(block + "attn.proj", width, width);
        if (!config.preNorm)
            norm(block + "ln_1");
        if (config.preNorm)
            norm(block + "ln_2");
        linear(block + "mlp.fc", width, hidden);
        linear(block + "mlp.proj", hidden, width);
        if (!config.preNorm)
            norm(block + "ln_2");
    }
    if (config.preNorm)
        norm("ln_f");
    if (config.classes > 0) {
        modules.push_back({"pool", ModuleKind::Pool, 0});
        linear("head", width, config.outputs());
    } else {
        // No bias; a tied head uses the token embedding's weights, which are counted there.
        modules.push_back({"lm_head", ModuleKind::Linear, config.tiedHead ? 0 : config.vocabulary * width});
    }
    modules.push_back({"loss", ModuleKind::Loss, 0});
    return modules;
}

} // namespace halfscope
