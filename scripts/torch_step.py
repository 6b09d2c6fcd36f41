#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The peer of tests/bench/bench_torch.cpp: the same language model in PyTorch, in FP32, on the CPU.

torch_step.py WIDTH DEPTH HEADS CONTEXT BATCH VOCABULARY THREADS
For every number N that it reads it trains N steps and prints the median time of one in seconds: of the processor for one
thread, of the clock for more.
"""
import math
import os
import pathlib
import statistics
import sys
import time

TUNED = "HALFSCOPE_TORCH_TUNED"


def tune(threads):
    """Starts this script anew in the environment in which PyTorch is fastest, which libraries read as they are loaded."""
    environment = dict(os.environ)
    environment[TUNED] = "1"
    # As installed, PyTorch's OpenMP threads and those of OpenBLAS's pthread build spin against each other.
    libraries = [str(p) for p in pathlib.Path("/usr/lib").glob("*-linux-gnu/openblas-openmp")]
    if libraries:
        environment["LD_LIBRARY_PATH"] = ":".join(libraries)
    else:
        print("torch_step.py: libopenblas0-openmp is not installed; PyTorch is slower without it", file=sys.stderr)
    environment["OMP_NUM_THREADS"] = str(threads)
    # Else every step maps and unmaps the memory of its activations.
    environment["MALLOC_MMAP_THRESHOLD_"] = str(1 << 30)
    environment["MALLOC_TRIM_THRESHOLD_"] = str(1 << 32)
    environment["MALLOC_TOP_PAD_"] = str(1 << 28)
    environment.pop("OPENBLAS_CORETYPE", None)
    if os.environ.get("HALFSCOPE_SIMD") == "avx2":  # hold it to the same instructions
        environment["OPENBLAS_CORETYPE"] = "Haswell"
        environment["ATEN_CPU_CAPABILITY"] = "avx2"
        environment["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def main():
    if len(sys.argv) != 8:
        sys.exit(__doc__)
    width, depth, heads, context, batch, vocabulary, threads = map(int, sys.argv[1:])
    if TUNED not in os.environ:
        tune(threads)

    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(threads)
    torch.manual_seed(1)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1 = nn.LayerNorm(width)
            self.qkv = nn.Linear(width, 3 * width)
            self.proj = nn.Linear(width, width)
            self.norm2 = nn.LayerNorm(width)
            self.up = nn.Linear(width, 4 * width)
            self.down = nn.Linear(4 * width, width)
            self.register_buffer("mask", torch.ones(context, context).triu(1).bool())

        def forward(self, x):
            q, k, v = (
                t.view(batch, context, heads, width // heads).transpose(1, 2)
                for t in self.qkv(self.norm1(x)).split(width, dim=2)
            )
            scores = q @ k.transpose(2, 3) / math.sqrt(width // heads)
            scores = scores.masked_fill(self.mask, float("-inf"))
            attended = (scores.softmax(dim=3) @ v).transpose(1, 2).reshape(batch, context, width)
            x = x + self.proj(attended)
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.positions = nn.Embedding(context, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(depth)))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens):
            return self.head(self.norm(self.blocks(self.tokens(tokens) + self.positions.weight)))

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    inputs = torch.randint(vocabulary, (batch, context))
    targets = torch.randint(vocabulary, (batch * context,))
    clock = time.process_time if threads == 1 else time.perf_counter

    def step():
        begin = clock()
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(inputs).view(-1, vocabulary), targets)
        loss.backward()
        optimizer.step()
        loss.item()
        return clock() - begin

    for line in sys.stdin:
        print(statistics.median(step() for _ in range(int(line))), flush=True)


if __name__ == "__main__":
    main()
