# SPDX-License-Identifier: GPL-3.0-or-later
"""The same models in PyTorch on the same device: time of a step with autocast and GradScaler, as a Markdown table."""
import time

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {  # as in gpu_check.cpp
    "tiny": (64, 2, 2, 32, 8, 96),
    "S": (128, 4, 4, 64, 16, 96),
    "M": (256, 4, 4, 128, 16, 96),
    "large": (1024, 12, 16, 512, 16, 8192),
}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width)
        self.fc = nn.Linear(width, 4 * width)
        self.out = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, context, width = x.shape
        q, k, v = (t.view(batch, context, self.heads, -1).transpose(1, 2) for t in self.qkv(self.ln_1(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, context, width))
        return x + self.out(F.gelu(self.fc(self.ln_2(x))))


class Model(nn.Module):
    def __init__(self, width, depth, heads, context, vocabulary):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, targets):
        x = self.token(tokens) + self.position.weight
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def step_ms(size, precision):
    width, depth, heads, context, batch, vocabulary = size
    torch.manual_seed(1)
    model = Model(width, depth, heads, context, vocabulary).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    scaler = torch.amp.GradScaler("cuda", enabled=precision == "mixed-fp16")
    dtype = {"mixed-fp16": torch.float16, "mixed-bf16": torch.bfloat16}.get(precision)
    times = []
    for _ in range(25):
        tokens, targets = torch.randint(vocabulary, (2, batch, context), device="cuda")
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
            loss = model(tokens, targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - start))
    return sorted(times[5:])[10]


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"\n## PyTorch {torch.__version__} on the same device\n")
    print("Eager, autocast and GradScaler, AdamW fused, gradients clipped, the loss read every step.\n")
    print("| size | precision | step, ms |\n|---|---|---|")
    for name, size in SIZES.items():
        for precision in ("fp32", "mixed-fp16", "mixed-bf16"):
            print(f"| {name} | {precision} | {step_ms(size, precision):.3f} |")


if __name__ == "__main__":
    main()
