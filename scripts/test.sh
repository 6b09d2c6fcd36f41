#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs what is missing, builds everything and runs the tests.
#   scripts/test.sh            the tests that run in minutes
#   scripts/test.sh --long     the long ones (every FP32 number, ...)
#   scripts/test.sh --asan     under the address and undefined-behaviour sanitizers, in a build of their own
#   scripts/test.sh --tsan     the engine under the thread sanitizer, in a build of its own
# Anything else is passed on to ctest: scripts/test.sh -R Scaler
# HALFSCOPE_PRESET chooses another build preset than release.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

test_preset="$preset"
targets=()
ctest_arguments=()
for argument in "$@"; do
    case "$argument" in
    --long)
        preset=release
        test_preset=long
        ;;
    --asan) preset=asan test_preset=asan ;;
    --tsan)
        # Qt is not built for this sanitizer and the window has no thread of its own: the engine's tests only.
        preset=tsan test_preset=tsan
        targets=(test_numerics test_backend test_engine test_cuda test_cuda_training)
        ctest_arguments+=(--label-regex "$(IFS='|' && echo "^(${targets[*]})\$")")
        ;;
    -h | --help)
        sed -n '3,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    *) ctest_arguments+=("$argument") ;;
    esac
done

install_packages "${build_packages[@]}" "${data_packages[@]}"
build "$preset" "${targets[@]}"

export QT_QPA_PLATFORM=offscreen LC_ALL=C.UTF-8
export ASAN_OPTIONS="${ASAN_OPTIONS:-strict_string_checks=1:detect_stack_use_after_return=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$root/tests/support/leaks_of_libraries.txt:print_suppressions=0}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1}"
cd "$root"
exec ctest --preset "$test_preset" "${ctest_arguments[@]}"
