#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks the CUDA backend on this machine's GPU and writes what it found to docs/gpu-results.md: every operation against
# the references, training steps against the CPU backend, determinism, memory, and speed, beside PyTorch's where it is
# installed. Needs the CUDA toolkit (nvcc and cuBLAS), CMake 3.25 or later, Ninja and g++ 12 or later, and no network.
#   scripts/gpu-check.sh [REPORT.md]
# Exit status: 0 all right, 1 something failed, 3 no GPU, and then the report of an earlier run stays as it is.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
report="${1:-$root/docs/gpu-results.md}"
build="$root/build/gpu-check"

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

[[ -x "$(command -v nvcc)" ]] || PATH="${CUDA_HOME:-/usr/local/cuda}/bin:$PATH"
for tool in nvcc cmake ninja g++; do
    command -v "$tool" >/dev/null || die "$tool is not installed, or not in PATH"
done

# The architecture of the GPU that is there, which is quicker to build than all of them.
architecture=90
if command -v nvidia-smi >/dev/null; then
    capability="$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 || true)"
    [[ "$capability" =~ ^[0-9]+\.[0-9]$ ]] && architecture="${capability/./}"
fi

mkdir -p "$build"
configured="$build/configure.log"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHALFSCOPE_GPU_CHECK=ON -DHALFSCOPE_CUDA=ON \
    -DHALFSCOPE_ONEDNN=OFF -DCMAKE_CUDA_ARCHITECTURES="$architecture" >"$configured" 2>&1 ||
    die "CMake could not configure; see $configured"
ninja -C "$build" >"$build/build.log" 2>&1 || die "the build failed; see $build/build.log"

# The report replaces an earlier one when it is whole.
new="$build/report.md"
status=0
"$build/tests/gpu/gpu_check" "$new" || status=$?
if ((status != 0 && status != 1)); then
    exit "$status"
fi
if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    python3 "$root/tests/gpu/torch_steps.py" | tee -a "$new" || status=1
else
    printf '\nPyTorch with CUDA is not installed here, so there is nothing to compare with.\n' | tee -a "$new"
fi
mkdir -p "$(dirname "$report")"
mv "$new" "$report"
exit "$status"
