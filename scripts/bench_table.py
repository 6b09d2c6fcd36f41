#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints one table of ratios from the JSON files of scripts/bench.sh: bench_table.py FOLDER"""
import json
import pathlib
import sys


# Of tuned PyTorch's time, by size and threads: with any instructions, and held to AVX2.
TORCH_TARGETS = {"S/threads:2": (0.50, 0.55), "M/threads:2": (0.60, 0.72), "tiny/threads:1": (0.35, 0.35)}


def results(folder, name):
    path = folder / f"{name}.json"
    try:
        return json.loads(path.read_text())["benchmarks"] if path.exists() else []
    except json.JSONDecodeError:
        sys.exit(f"{path} is not complete; run scripts/bench.sh to the end.")


def steps(folder):
    torch = {run["name"].removesuffix("/real_time"): run for run in results(folder, "bench_torch")}
    for name, run in torch.items():
        # Its threads spin against whatever else runs: far slower than on one thread, it says nothing.
        alone = torch.get(name.replace("threads:2", "threads:1"), run)
        if run["torch_ms"] > 2 * alone["torch_ms"]:
            yield f"{name} {run['label']}", run["vs_torch"], "x PyTorch's: NOT QUIET", ""
            continue
        target = TORCH_TARGETS.get(name.removeprefix("torch/"), (0, 0))[run["label"] == "AVX2"]
        yield f"{name} {run['label']}", run["vs_torch"], "x PyTorch's step", f"<= {target:.2f}" if target else ""
    for run in results(folder, "bench_step"):
        name = run["name"].removesuffix("/real_time")
        if "contended" in run:
            yield name, run["contended"], "x step on a quiet machine", "<= 3"
            continue
        yield name + " fp32", run["of_peak"], "of FMA peak, whole step", ""
        for key, value in sorted(run.items()):
            if key.startswith("format:"):
                target = "<= 1.07" if key == "format:mixed-fp16" else ""
                yield f"{name} {key[7:]}", value, "x own FP32", target
            elif key.startswith("stats:"):
                small = "/tiny/" in name
                target = "<= 1.04" if key.endswith("+all") else "<= 1.03" if small else "<= 1.01"
                yield f"{name} {key[6:]}", value, "x without statistics", target


def rows(folder):
    """(what, ratio, of what, target or empty)"""
    yield from steps(folder)
    for run in results(folder, "bench_backend"):
        name = run["name"].removesuffix("/real_time")
        if "of_peak" in run:
            yield name, run["of_peak"], "of FMA peak", ">= 0.78"
        else:
            yield name, run["vs_memcpy"], "x copy of its bytes", ""
    numerics = results(folder, "bench_numerics")
    copies = {r["name"].split("/")[-1]: r["cpu_time"] for r in numerics if r["name"].startswith("copyFp32/")}
    for run in numerics:
        if not run["name"].startswith("copyFp32/"):
            yield run["name"], run["cpu_time"] / copies[run["name"].split("/")[-1]], "x copy of the FP32 data", ""


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    if not any(folder.glob("*.json")):
        sys.exit(f"There are no results in {folder}; run scripts/bench.sh without --table first.")
    print(f"{'what':<56}{'ratio':>8}  {'of':<26}{'target'}")
    for what, ratio, unit, target in rows(folder):
        verdict = ""
        if target:
            bound = float(target.split()[1])
            verdict = "met" if (ratio >= bound if target.startswith(">=") else ratio <= bound) else "missed"
        print(f"{what:<56}{ratio:>8.3f}  {unit:<26}{target + '  ' + verdict if target else ''}".rstrip())


if __name__ == "__main__":
    main()
