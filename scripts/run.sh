#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs what is missing, builds HalfScope and starts it. Arguments are passed on:
#   scripts/run.sh                               opens the window; training begins by itself
#   scripts/run.sh --text novel.txt              the same on a text of yours
#   scripts/run.sh train --steps 500 --csv out   any verb of the command line
# Without a display it runs the default experiment and leaves CSV files and a picture of the window in out/.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages "${build_packages[@]}" "${data_packages[@]}"
build "$preset" halfscope
program="$root/build/$preset/app/halfscope"

# Whether these arguments open no window.
needs_no_display() {
    case "${1:-}" in
    train | compare | simulate | number | info) return 0 ;;
    esac
    local argument
    for argument in "$@"; do
        case "$argument" in
        -h | --help | --version | --screenshot | --screenshot=*) return 0 ;;
        esac
    done
    return 1
}

if [[ -n "${DISPLAY:-}" || -n "${WAYLAND_DISPLAY:-}" ]]; then
    exec "$program" "$@"
fi
export QT_QPA_PLATFORM="${QT_QPA_PLATFORM:-offscreen}"
if needs_no_display "$@"; then
    exec "$program" "$@"
fi

say "There is no display (neither DISPLAY nor WAYLAND_DISPLAY is set), so no window can open."
steps=450 # the default experiment's first skips are in them
if (($#)); then
    say "Running $steps steps with these settings instead."
else
    say "Running the default experiment for $steps steps instead."
fi
# What concerns the run goes to both commands, what concerns the window to the picture alone.
run_arguments=()
window_arguments=("$@")
while (($#)); do
    case "$1" in
    --experiment | --text | --config | --set | --seed) run_arguments+=("$1" "${2:?"$1 needs a value"}") && shift ;;
    --experiment=* | --text=* | --config=* | --set=* | --seed=*) run_arguments+=("$1") ;;
    esac
    shift
done
mkdir -p out
"$program" train --steps "$steps" --csv out/first-run "${run_arguments[@]}"
"$program" --screenshot out/window.png --steps "$steps" "${window_arguments[@]}"
say "Written:"
ls -1 out/first-run/* out/window.png
