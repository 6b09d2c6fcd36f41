#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes gpt_reference.json and encoder_reference.json: weights, inputs, logits, loss, every gradient and ten AdamW losses
of small GPTs, and of encoders that classify images, texts, and images with a text, by PyTorch.

Run by hand where python3-torch is installed:  /usr/bin/python3 tests/golden/make_reference.py
Everything is FP32 on one thread. The losses are also computed in FP64 (same weights), which is what the engine's
tolerance is derived from: it must be as close to the FP64 result as FP32 rounding allows, not close to PyTorch's FP32.
Numbers are written as C99 hex floats so that nothing is lost.
"""
import json
import math
import pathlib

import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH, DEPTH, HEADS, CONTEXT, BATCH, VOCABULARY = 8, 2, 2, 6, 2, 11
PATCHES, PATCH_WIDTH, CLASSES = 3, 5, 4
STEPS = 10
OPTIMIZER = dict(lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
CLIP = 1.0


class Block(nn.Module):
    def __init__(self, pre_norm, act, causal=True):
        super().__init__()
        self.pre_norm, self.act, self.causal = pre_norm, act, causal
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.fc = nn.Linear(WIDTH, 4 * WIDTH)
        self.fc2 = nn.Linear(4 * WIDTH, WIDTH)

    def attention(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, HEADS, c // HEADS).transpose(1, 2) for z in self.qkv(x).split(c, dim=2))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(c // HEADS)
        if self.causal:
            mask = torch.ones(t, t, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(mask, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(b, t, c))

    def mlp(self, x):
        return self.fc2(self.act(self.fc(x)))

    def forward(self, x):
        if self.pre_norm:
            x = x + self.attention(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))
        x = self.ln_1(x + self.attention(x))
        return self.ln_2(x + self.mlp(x))


class GPT(nn.Module):
    def __init__(self, pre_norm=True, tied=False, act=F.gelu):
        super().__init__()
        self.pre_norm = pre_norm
        self.tok_emb = nn.Embedding(VOCABULARY, WIDTH)
        self.pos_emb = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block(pre_norm, act) for _ in range(DEPTH))
        if pre_norm:
            self.ln_f = nn.LayerNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        if tied:
            self.lm_head.weight = self.tok_emb.weight

    def forward(self, tokens):
        x = self.tok_emb(tokens) + self.pos_emb(torch.arange(CONTEXT))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x) if self.pre_norm else x)


class Encoder(nn.Module):
    """Patches, tokens, or patches and then tokens; the mean of the outputs is classified."""

    def __init__(self, patches, tokens, pre_norm=True, act=F.gelu):
        super().__init__()
        self.patches, self.tokens, self.pre_norm = patches, tokens, pre_norm
        if patches:
            self.patch_emb = nn.Linear(PATCH_WIDTH, WIDTH)
        if tokens:
            self.tok_emb = nn.Embedding(VOCABULARY, WIDTH)
        self.pos_emb = nn.Embedding(patches + tokens, WIDTH)
        self.blocks = nn.ModuleList(Block(pre_norm, act, causal=False) for _ in range(DEPTH))
        if pre_norm:
            self.ln_f = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, inputs):
        patches, tokens = inputs
        parts = ([self.patch_emb(patches)] if self.patches else []) + ([self.tok_emb(tokens)] if self.tokens else [])
        x = torch.cat(parts, dim=1) + self.pos_emb(torch.arange(self.patches + self.tokens))
        for block in self.blocks:
            x = block(x)
        return self.head((self.ln_f(x) if self.pre_norm else x).mean(dim=1))


def check_against_torch():
    """Our post-norm block is torch's own nn.TransformerEncoderLayer."""
    torch.manual_seed(3)
    ours = Block(False, F.relu, causal=False).double()
    theirs = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True).double()
    names = {"self_attn.in_proj_": "qkv.", "self_attn.out_proj.": "proj.", "linear1.": "fc.", "linear2.": "fc2.",
             "norm1.": "ln_1.", "norm2.": "ln_2."}
    for name, p in theirs.named_parameters():
        for theirs_prefix, ours_prefix in names.items():
            if name.startswith(theirs_prefix):
                p.data = ours.get_parameter(name.replace(theirs_prefix, ours_prefix)).data
    x = torch.randn(2, 5, WIDTH, dtype=torch.double)
    assert torch.allclose(ours(x), theirs(x), rtol=0, atol=1e-12)


def engine_name(name):
    """PyTorch's parameter name -> the engine's."""
    for i in range(DEPTH):
        for ours, theirs in (("ln_1", "ln_1"), ("attn.qkv", "qkv"), ("attn.proj", "proj"), ("ln_2", "ln_2"),
                             ("mlp.fc", "fc"), ("mlp.proj", "fc2")):
            name = name.replace(f"blocks.{i}.{theirs}.", f"h{i}.{ours}.")
    return name


def hexes(tensor):
    return " ".join(float(v).hex() for v in tensor.detach().flatten().tolist())


def randomise(model, generator):
    """Weights larger than at a usual start, so that every path carries a gradient worth comparing."""
    for name, p in model.named_parameters():
        with torch.no_grad():
            p.copy_(torch.randn(p.shape, generator=generator) * 0.2)
            if ".ln_" in name or name.startswith("ln_f"):
                p.add_(1.0 if name.endswith("weight") else 0.0)


def loss_of(model, inputs, targets):
    logits = model(inputs)
    return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def gpt_batch(generator):
    return tuple(torch.randint(0, VOCABULARY, (BATCH, CONTEXT), generator=generator) for _ in range(2))


def encoder_batch(patches, tokens):
    return lambda generator: (
        (torch.randn(BATCH, patches, PATCH_WIDTH, generator=generator),
         torch.randint(0, VOCABULARY, (BATCH, tokens), generator=generator)),
        torch.randint(0, CLASSES, (BATCH,), generator=generator))


def as_double(inputs):
    """Patches in FP64; tokens as they are."""
    return (inputs[0].double(), inputs[1]) if isinstance(inputs, tuple) else inputs


def reference(make=GPT, batch=gpt_batch, **options):
    generator = torch.Generator().manual_seed(7)
    model = make(**options)
    randomise(model, generator)
    batches = [batch(generator) for _ in range(STEPS)]
    exact = make(**options).double()
    exact.load_state_dict(model.state_dict())

    out = {"weights": {engine_name(n): hexes(p) for n, p in model.named_parameters()}}
    if make is GPT:
        out["inputs"] = [b[0].flatten().tolist() for b in batches]
    else:
        out["patches"] = [hexes(b[0][0]) for b in batches]
        out["inputs"] = [b[0][1].flatten().tolist() for b in batches]
    out["targets"] = [b[1].flatten().tolist() for b in batches]
    logits, loss = loss_of(exact, as_double(batches[0][0]), batches[0][1])
    loss.backward()
    out["logits"] = hexes(logits)
    out["loss"] = float(loss.detach()).hex()
    out["gradients"] = {engine_name(n): hexes(p.grad) for n, p in exact.named_parameters()}

    for key, m in (("losses_fp32", model), ("losses_fp64", exact)):
        optimizer = torch.optim.AdamW(m.parameters(), **OPTIMIZER)
        losses, norms = [], []
        for inputs, targets in batches:
            optimizer.zero_grad()
            _, loss = loss_of(m, as_double(inputs) if m is exact else inputs, targets)
            loss.backward()
            norms.append(float(nn.utils.clip_grad_norm_(m.parameters(), CLIP)).hex())
            optimizer.step()
            losses.append(float(loss).hex())
        out[key] = losses
        out[key.replace("losses", "norms")] = norms
    return out


def encoder(patches, tokens, **options):
    out = reference(Encoder, encoder_batch(patches, tokens), patches=patches, tokens=tokens, **options)
    return {"patch_count": patches, "token_count": tokens, **out}


def write(name, models, **sizes):
    config = dict(width=WIDTH, depth=DEPTH, heads=HEADS, batch=BATCH, vocabulary=VOCABULARY, **sizes)
    optimizer = dict(lr=OPTIMIZER["lr"], beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1, clip=CLIP)
    result = {"torch": torch.__version__, "config": config, "optimizer": optimizer, "models": models}
    path = pathlib.Path(__file__).with_name(name)
    path.write_text(json.dumps(result, indent=0) + "\n")
    print(path, path.stat().st_size, "bytes")


def main():
    torch.set_num_threads(1)
    check_against_torch()
    write("gpt_reference.json", {
        "pre_norm_gelu": reference(),
        "post_norm_relu": reference(pre_norm=False, act=F.relu),
        "tied_head": reference(tied=True),
    }, context=CONTEXT)
    write("encoder_reference.json", {
        "image_post_norm_relu": encoder(PATCHES, 0, pre_norm=False, act=F.relu),
        "text_pre_norm_gelu": encoder(0, CONTEXT),
        "image_and_text": encoder(PATCHES, CONTEXT - PATCHES),
    }, patch_width=PATCH_WIDTH, classes=CLASSES)


if __name__ == "__main__":
    main()
