#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds, runs all benchmarks and prints one table of ratios; the raw results are JSON files in out/bench/.
#   scripts/bench.sh              everything, some twelve minutes
#   scripts/bench.sh --quick      fewer repetitions, some three minutes
#   scripts/bench.sh --steps      only whole steps, PyTorch's among them; may be combined with --quick
#   scripts/bench.sh --table      only the table, of the results that are there
# Where python3-torch is installed (and libopenblas0-openmp, without which it is slow) PyTorch trains the same model in
# turn with ours. HALFSCOPE_PRESET chooses another build preset than release; HALFSCOPE_SIMD=avx2 another instruction
# set, for PyTorch too.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

benches=(bench_backend bench_numerics bench_step)
# Of each benchmark; a step is nine of them.
declare -A seconds=([bench_backend]=1 [bench_numerics]=1 [bench_step]=15 [bench_torch]=10)
measure=yes
for argument in "$@"; do
    case "$argument" in
    --quick) seconds=([bench_backend]=0.1 [bench_numerics]=0.1 [bench_step]=2 [bench_torch]=2) ;;
    --steps) benches=(bench_step) ;;
    --table) measure=no ;;
    -h | --help)
        sed -n '3,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    *) die "$argument is not known; see scripts/bench.sh --help" ;;
    esac
done
command -v python3 >/dev/null || die "the table is made by python3, which is not installed"

out="$root/out/bench"
if [[ $measure == yes ]]; then
    install_packages "${build_packages[@]}"
    if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
        benches+=(bench_torch)
        export HALFSCOPE_TORCH_PEER="$root/scripts/torch_step.py"
    else
        say "PyTorch is not compared with: python3-torch is not installed"
    fi
    build "$preset" "${benches[@]}"
    mkdir -p "$out"
    rm -f "$out"/*.json
    for bench in "${benches[@]}"; do
        say "Running $bench"
        "$root/build/$preset/tests/$bench" --benchmark_min_time="${seconds[$bench]}" --benchmark_out="$out/$bench.json" \
            --benchmark_out_format=json >/dev/null 2>"$out/$bench.log" ||
            die "$bench failed; see $out/$bench.log"
    done
fi
exec python3 "$root/scripts/bench_table.py" "$out"
