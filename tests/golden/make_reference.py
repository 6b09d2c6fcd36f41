#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes gpt_reference.json: a small GPT's weights, inputs, logits, loss, every gradient and ten AdamW losses, by PyTorch.

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
STEPS = 10
OPTIMIZER = dict(lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
CLIP = 1.0


class Block(nn.Module):
    def __init__(self, pre_norm, act):
        super().__init__()
        self.pre_norm, self.act = pre_norm, act
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
        mask = torch.ones(t, t, dtype=torch.bool).triu(1)
        weights = F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
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
    return logits, F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


def reference(**options):
    generator = torch.Generator().manual_seed(7)
    model = GPT(**options)
    randomise(model, generator)
    batches = [tuple(torch.randint(0, VOCABULARY, (BATCH, CONTEXT), generator=generator) for _ in range(2))
               for _ in range(STEPS)]
    exact = GPT(**options).double()
    exact.load_state_dict(model.state_dict())

    out = {
        "weights": {engine_name(n): hexes(p) for n, p in model.named_parameters()},
        "inputs": [b[0].flatten().tolist() for b in batches],
        "targets": [b[1].flatten().tolist() for b in batches],
    }
    logits, loss = loss_of(exact, *batches[0])
    loss.backward()
    out["logits"] = hexes(logits)
    out["loss"] = float(loss).hex()
    out["gradients"] = {engine_name(n): hexes(p.grad) for n, p in exact.named_parameters()}

    for key, m in (("losses_fp32", model), ("losses_fp64", exact)):
        optimizer = torch.optim.AdamW(m.parameters(), **OPTIMIZER)
        losses, norms = [], []
        for inputs, targets in batches:
            optimizer.zero_grad()
            _, loss = loss_of(m, inputs, targets)
            loss.backward()
            norms.append(float(nn.utils.clip_grad_norm_(m.parameters(), CLIP)).hex())
            optimizer.step()
            losses.append(float(loss).hex())
        out[key] = losses
        out[key.replace("losses", "norms")] = norms
    return out


def main():
    torch.set_num_threads(1)
    result = {
        "torch": torch.__version__,
        "config": dict(width=WIDTH, depth=DEPTH, heads=HEADS, context=CONTEXT, batch=BATCH, vocabulary=VOCABULARY),
        "optimizer": dict(lr=OPTIMIZER["lr"], beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1, clip=CLIP),
        "models": {
            "pre_norm_gelu": reference(),
            "post_norm_relu": reference(pre_norm=False, act=F.relu),
            "tied_head": reference(tied=True),
        },
    }
    path = pathlib.Path(__file__).with_name("gpt_reference.json")
    path.write_text(json.dumps(result, indent=0) + "\n")
    print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
