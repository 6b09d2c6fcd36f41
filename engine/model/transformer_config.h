// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/backend/backend.h"

namespace halfscope {

struct TransformerConfig {
    // Of the data, set from it (see task.h).
    int vocabulary = 0; // tokens there are
    int patches = 0;    // of an image, at the beginning of each sequence
    int patchWidth = 0; // numbers a patch is made of
    int classes = 0;    // 0: a language model, which predicts the next token everywhere

    int width = 128;
    int depth = 4;
    int heads = 4;
    int context = 64; // length of a sequence: its patches, then its tokens
    int batch = 16;
    int mlpRatio = 4;
    bool preNorm = true; // pre-norm blocks and a final norm; false: post-norm blocks and none
    bool tiedHead = false;
    bool causal = false; // a classifier's attention looks back only; where the next token is predicted it always does
    bool pretraining = false; // a classifier that for now predicts the next token; see Transformer::swapHead()
    Activation activation = Activation::Gelu;
    float dropout = 0.0F;

    int tokens() const { return batch * context; } // rows of a batch, patches included
    bool hasTokens() const { return vocabulary > 0 || patches == 0; }
    bool predictsNext() const { return classes == 0 || pretraining; }
    int outputs() const { return predictsNext() ? vocabulary : classes; } // numbers a prediction is made of
    int predictions() const { return predictsNext() ? tokens() : batch; } // of a batch
    bool operator==(const TransformerConfig&) const = default;
};

enum class ModuleKind : std::uint8_t { Embedding, Norm, Linear, Attention, Pool, Loss };

struct ModuleInfo {
    // "tok_emb", "pos_emb", "h0.ln_1", "h0.attn.qkv", "h0.attn.core", "h0.attn.proj", "h0.ln_2", "h0.mlp.fc",
    // "h0.mlp.proj", ..., "ln_f", "lm_head", "loss": in forward order. A model of images begins with "patch_emb"; a
    // classifier ends with "pool", "head", "loss".
    std::string name;
    ModuleKind kind = ModuleKind::Linear;
    std::int64_t parameters = 0; // elements, biases included; 0 for attn.core, pool and loss
};

// The modules of a model, in forward order. Index into this list = module id everywhere (plans, records, snapshots).
std::vector<ModuleInfo> listModules(const TransformerConfig& config);

} // namespace halfscope
