// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/backend/backend.h"

namespace halfscope {

struct TransformerConfig {
    int vocabulary = 0; // of the text; set from the data
    int width = 128;
    int depth = 4;
    int heads = 4;
    int context = 64;
    int batch = 16;
    int mlpRatio = 4;
    bool preNorm = true; // pre-norm blocks and a final norm; false: post-norm blocks and none
    bool tiedHead = false;
    Activation activation = Activation::Gelu;
    float dropout = 0.0F;

    int tokens() const { return batch * context; }
    bool operator==(const TransformerConfig&) const = default;
};

enum class ModuleKind : std::uint8_t { Embedding, Norm, Linear, Attention, Loss };

struct ModuleInfo {
    std::string name; // "tok_emb", "pos_emb", "h0.ln_1", "h0.attn.qkv", "h0.attn.core", "h0.attn.proj", "h0.ln_2",
                      // "h0.mlp.fc", "h0.mlp.proj", ..., "ln_f", "lm_head", "loss": in forward order
    ModuleKind kind = ModuleKind::Linear;
    std::int64_t parameters = 0; // elements, biases included; 0 for attn.core and loss
};

// The modules of a model, in forward order. Index into this list = module id everywhere (plans, records, snapshots).
std::vector<ModuleInfo> listModules(const TransformerConfig& config);

} // namespace halfscope
