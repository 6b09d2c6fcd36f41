#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes formats_reference.json: FP8 casts and AdamW on half parameters, by PyTorch.

Run by hand where PyTorch 2.1 or later is installed:  python3 tests/golden/make_formats_reference.py
FP8: inputs as FP32 bit patterns, results as the bits of torch.float8_e4m3fn and torch.float8_e5m2 (the plain cast, which
does not saturate). AdamW: torch.optim.AdamW(foreach=False, fused=False), its default on a CPU, on FP16 and BF16
parameters, one step and ten; everything as FP32 hex floats.
"""
import json
import pathlib
import random
import struct

import torch

HYPER = dict(lr=1e-2, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def casts():
    random.seed(3)
    values = [0.0, -0.0, float("inf"), -float("inf"), 448.0, 464.0, 465.0, 57344.0, 61439.0, 61440.0, -70000.0]
    values += [2.0**-9, 2.0**-10, 2.0**-10 * 1.001, 2.0**-16, 2.0**-17, 2.0**-17 * 1.001, 2.0**-6, 2.0**-14]
    for exponent in range(-20, 18):
        for _ in range(12):
            values.append(random.choice([-1, 1]) * (1 + random.getrandbits(23) / 2**23) * 2.0**exponent)
        for eighth in range(16):  # numbers and ties of both formats
            values.append((1 + eighth / 16) * 2.0**exponent)
    x = torch.tensor(values, dtype=torch.float32)
    return {
        "input": [bits(v) for v in x.tolist()],
        "e4m3": x.to(torch.float8_e4m3fn).view(torch.uint8).tolist(),
        "e5m2": x.to(torch.float8_e5m2).view(torch.uint8).tolist(),
    }


def adamw(dtype, eps, steps):
    torch.manual_seed(5)
    weight = torch.randn(24).to(dtype)
    gradients = [(torch.randn(24) * 10.0 ** torch.linspace(-6, -1, 24)).to(dtype) for _ in range(steps)]
    for g in gradients:
        g[0] = 0
    parameter = torch.nn.Parameter(weight.clone())
    optimizer = torch.optim.AdamW([parameter], foreach=False, fused=False, **dict(HYPER, eps=eps))
    for g in gradients:
        parameter.grad = g.clone()
        optimizer.step()
    state = optimizer.state[parameter]
    text = lambda t: [v.hex() for v in t.detach().float().tolist()]
    return {
        "format": {torch.float16: "fp16", torch.bfloat16: "bf16"}[dtype],
        "epsilon": eps,
        "weights": text(weight),
        "gradients": [text(g) for g in gradients],
        "after": text(parameter),
        "moment1": text(state["exp_avg"]),
        "moment2": text(state["exp_avg_sq"]),
    }


def main():
    runs = [adamw(d, e, n) for d in (torch.float16, torch.bfloat16) for e in (1e-8, 1e-4) for n in (1, 10)]
    document = {"torch": torch.__version__, "hyper": HYPER, "casts": casts(), "adamw": runs}
    path = pathlib.Path(__file__).with_name("formats_reference.json")
    path.write_text(json.dumps(document, separators=(",", ":")).replace('"adamw"', '\n"adamw"').replace("{\"format\"", "\n{\"format\"") + "\n")


if __name__ == "__main__":
    main()
