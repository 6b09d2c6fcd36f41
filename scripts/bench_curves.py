#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the JSON files of bench_curves to a table in Markdown, on standard output, and a plot:

    build/release/tests/bench_curves --benchmark_min_time=60 --benchmark_out=curves.json
    scripts/bench_curves.py docs/step-curves.svg curves.json

The model behind the line: time = a * FLOP of the matrix products + b * elements of activations + c * parameters, with a,
b and c fitted to all points on one thread by least squares of relative errors.
"""
import json
import math
import pathlib
import sys

BASE = {"width": 128, "depth": 4, "context": 64, "batch": 16}
HEADS = 4
CURVES = ["width", "depth", "context", "batch"]


def terms(vocabulary, width, depth, context, batch):
    """FLOP of the products, forward and backward; elements that other operations touch; parameters."""
    tokens = batch * context
    parameters = 12 * depth * width * width + 2 * vocabulary * width
    attention = depth * width * (context + 1)  # a causal mask leaves half of it
    flop = 6 * tokens * (12 * depth * width * width + vocabulary * width + attention)
    elements = tokens * (depth * (34 * width + 3 * HEADS * context) + 3 * vocabulary)
    return [flop, elements, parameters]


def solve(matrix, right):
    """Gauss-Jordan, for three unknowns."""
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(len(rows)):
            if r != i:
                rows[r] = [x - rows[r][i] * y for x, y in zip(rows[r], rows[i])]
    return [row[-1] for row in rows]


def fit(points):
    """Coefficients of the terms, none of them negative: one that would be is left out."""
    used = [0, 1, 2]
    while True:
        scaled = [[t[i] / time for i in used] for t, time in points]
        normal = [[sum(a[i] * a[j] for a in scaled) for j in range(len(used))] for i in range(len(used))]
        found = solve(normal, [sum(a[i] for a in scaled) for i in range(len(used))])
        if min(found) >= 0:
            return [found[used.index(i)] if i in used else 0.0 for i in range(3)]
        used.pop(found.index(min(found)))


def panel(title, measured, model, left, top, size):
    """SVG of one curve, both axes logarithmic."""
    xs, ys = [x for x, _ in measured], [y for _, y in measured] + [y for _, y in model]
    low, high = math.log(min(ys) / 1.3), math.log(max(ys) * 1.3)
    first, last = math.log(xs[0]), math.log(xs[-1])

    def at(x, y):
        return (
            left + size * (math.log(x) - first) / (last - first),
            top + size * (high - math.log(y)) / (high - low),
        )

    out = [f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="#888"/>']
    out.append(f'<text x="{left + size / 2}" y="{top + size + 32}" text-anchor="middle">{title}</text>')
    for x, y in measured:
        px, py = at(x, y)
        out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" fill="#0072b2"/>')
        out.append(f'<text x="{px:.1f}" y="{top + size + 15}" text-anchor="middle" class="small">{x}</text>')
        out.append(f'<text x="{px:.1f}" y="{py - 8:.1f}" text-anchor="middle" class="small">{y:.3g}</text>')
    line = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in model)
    out.append(f'<polyline points="{line}" fill="none" stroke="#d55e00"/>')
    return out


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    run = {}
    for path in reversed(sys.argv[2:]):  # what the first file says of the machine holds
        for benchmark in reversed(json.loads(pathlib.Path(path).read_text())["benchmarks"]):
            run.update(benchmark)
    vocabulary = int(run["vocabulary"])

    def measured(curve):
        found = [(int(k.split(":")[1]), v) for k, v in run.items() if k.startswith(curve + ":")]
        return sorted(found)

    def termsAt(curve, value):
        return terms(vocabulary, **{**BASE, curve: value})

    points = [(termsAt(c, x), y) for c in CURVES for x, y in measured(c)]
    factors = fit(points)

    def predicted(curve, value):
        return sum(f * t for f, t in zip(factors, termsAt(curve, value)))

    print(f"{run['label']}, peak of multiply-adds {run['peak']:.0f} GFLOP/s on one thread; S with one quantity changed.\n")
    print("| | value | step, ms | model, ms | measured / model | of peak |")
    print("|---|---|---|---|---|---|")
    for curve in CURVES:
        for value, time in measured(curve):
            model = predicted(curve, value)
            peak = termsAt(curve, value)[0] / time * 1e-6 / run["peak"]
            print(f"| {curve} | {value} | {time:.3g} | {model:.3g} | {time / model:.2f} | {peak:.2f} |")
    one = dict(measured("threads"))[1]
    for value, time in measured("threads"):
        print(f"| threads | {value} | {time:.3g} | {one / value:.3g} | {time * value / one:.2f} | |")
    if factors[0] > 0:
        print(f"\nThe fit: products at {1e-6 / factors[0]:.0f} GFLOP/s", end="")
    print(f", {factors[1] * 1e6:.2f} ns an element, {factors[2] * 1e6:.1f} ns a parameter.")

    size, gap = 210, 60
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{5 * (size + gap)}" height="{size + 80}"'
        ' font-family="sans-serif" font-size="13">',
        "<style>.small{font-size:10px}text{fill:#444}</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for i, curve in enumerate([*CURVES, "threads"]):
        found = measured(curve)
        if curve == "threads":
            model = [(x, one / x) for x, _ in found]
        else:
            first, last = found[0][0], found[-1][0]
            between = [first * (last / first) ** (k / 24) for k in range(25)]
            model = [(x, predicted(curve, x)) for x in between]
        svg += panel(f"{curve}: ms a step", found, model, 30 + i * (size + gap), 25, size)
    svg.append("</svg>")
    pathlib.Path(sys.argv[1]).write_text("\n".join(svg) + "\n")


if __name__ == "__main__":
    main()
