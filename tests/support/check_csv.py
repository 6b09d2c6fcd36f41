#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the CSV files of a run against one another: check_csv.py FOLDER STEPS. Exits with 1 and a sentence."""
import csv
import json
import math
import pathlib
import sys

COLUMNS = {
    "steps.csv": "step,outcome,loss,scale,scale_next,found_inf,growth_tracker,grad_norm,learning_rate,applied_steps,"
                 "skipped_steps,overflow_module,forward_saturated_module",
    "timing.csv": "step,step_ms,forward_ms,backward_ms,optimizer_ms,statistics_ms",
    "layers.csv": "step,module,tap,format,count,zero,flushed,subnormal,normal,saturating,inf,nan,abs_min,abs_max,mean,"
                  "std,rms",
    "histograms.csv": "step,module,tap,exponent,count",
    "events.csv": "step,kind,text,key,old,new",
}
CLASSES = ("zero", "flushed", "subnormal", "normal", "saturating", "inf", "nan")


def check(condition, sentence):
    if not condition:
        sys.exit(f"error: {sentence}")


def read(folder, name):
    with open(folder / name, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, strict=True))
    expected = COLUMNS[name].split(",")
    check(rows[0][: len(expected)] == expected, f"{name} does not begin with the promised columns")
    check(all(len(row) == len(rows[0]) for row in rows), f"{name} has rows of different lengths")
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def check_steps(folder, count):
    steps = read(folder, "steps.csv")
    check([int(s["step"]) for s in steps] == list(range(1, count + 1)), f"steps.csv does not have the steps 1 to {count}")
    applied = skipped = 0
    for before, s in zip([None] + steps, steps):
        taken = s["outcome"] == "applied"
        applied += taken
        skipped += not taken
        where = f"step {s['step']} of steps.csv"
        check(s["outcome"] in ("applied", "skipped-overflow", "skipped-nonfinite-loss"), f"{where}: unknown outcome")
        check((int(s["applied_steps"]), int(s["skipped_steps"])) == (applied, skipped), f"{where}: counts are off")
        check((s["found_inf"] == "1") == (not taken), f"{where}: found_inf and outcome disagree")
        check((s["overflow_module"] != "") == (s["outcome"] == "skipped-overflow"), f"{where}: culprit and outcome disagree")
        check(float(s["scale"]) > 0 and math.isfinite(float(s["scale_next"])), f"{where}: impossible scale")
        check(before is None or before["scale_next"] == s["scale"], f"{where}: the scale jumped between two steps")
        check(math.isfinite(float(s["loss"])), f"{where}: the loss is not finite")
    check(applied > 0, "no step was applied")
    first, last = (sum(float(s["loss"]) for s in part) for part in (steps[: count // 4], steps[-count // 4 :]))
    check(last < first, "the loss did not fall")
    return steps


def check_layers(folder, count):
    layers = read(folder, "layers.csv")
    bins = {}
    for row in read(folder, "histograms.csv"):
        key = row["step"], row["module"], row["tap"]
        bins[key] = bins.get(key, 0) + int(row["count"])
    check({int(row["step"]) for row in layers} == set(range(1, count + 1)), "layers.csv lacks some steps")
    for row in layers:
        where = f"layers.csv, step {row['step']}, {row['module']}, {row['tap']}"
        check(sum(int(row[c]) for c in CLASSES) == int(row["count"]), f"{where}: the classes do not add up to the count")
        # The bins hold what is neither zero nor infinite nor NaN before the cast.
        finite = int(row["count"]) - sum(int(row[c]) for c in ("zero", "inf", "nan"))
        key = row["step"], row["module"], row["tap"]
        check(bins.get(key, 0) <= finite, f"{where}: more values in the bins than there are")
        check(bins.get(key, 0) >= finite - int(row["flushed"]), f"{where}: values are missing from the bins")
        check(float(row["abs_min"]) <= float(row["abs_max"]), f"{where}: the extremes are the wrong way round")


def main():
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    steps = check_steps(folder, count)
    check_layers(folder, count)
    check(len(read(folder, "timing.csv")) == count, "timing.csv does not have a row for each step")
    overflows = [e["step"] for e in read(folder, "events.csv") if e["kind"] == "overflow"]
    skips = [s["step"] for s in steps if s["outcome"] == "skipped-overflow"]
    check(overflows == skips, "events.csv does not have one overflow for each skipped step")
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    check(run["steps"]["recorded"] == count, "run.json does not tell the number of steps")
    check(int(run["text"]["fnv1a64"], 16) != 0, "run.json has no hash of the text")
    print(f"{count} steps, {len(skips)} skipped: the CSV files agree with one another")


if __name__ == "__main__":
    main()
