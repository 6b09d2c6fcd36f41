# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2034
# What run.sh and test.sh share: installing what is missing, configuring and building. Source it; do not run it.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
preset="${HALFSCOPE_PRESET:-release}"

# Names in Debian 12 and Ubuntu 24.04 alike.
build_packages=(
    build-essential cmake ninja-build
    qt6-base-dev qt6-svg-dev qt6-tools-dev qt6-tools-dev-tools qt6-l10n-tools libgl-dev libqcustomplot-dev
    nlohmann-json3-dev libcli11-dev zlib1g-dev
    libgtest-dev libgmock-dev libbenchmark-dev libboost-context-dev
)
# Fonts for the window (Latin and Greek; Chinese), novels to train on, pictures for the image tasks.
data_packages=(fonts-dejavu-core fonts-wqy-microhei golang-github-pierrec-lz4-dev dataset-fashion-mnist)

say() { printf '%s\n' "$*" >&2; }

die() {
    say "error: $*"
    exit 1
}

# missing_packages NAME...: prints those that are not installed, one a line.
missing_packages() {
    local installed
    # dpkg-query fails as soon as one of the names is unknown to it, and tells about the others all the same.
    installed="$({ dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true; } |
        sed -n 's/^installed //p')"
    comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$installed")
}

# Whether this is Debian 12, Ubuntu 24.04, something newer of the two, or a system made from them.
is_supported_system() {
    command -v apt-get >/dev/null && command -v dpkg-query >/dev/null && [[ -r /etc/os-release ]] || return 1
    local id like version
    id="$(. /etc/os-release && echo "${ID:-}")"
    like="$(. /etc/os-release && echo "${ID_LIKE:-}")"
    version="$(. /etc/os-release && echo "${VERSION_ID:-}")"
    case "$id" in
    debian) [[ -z "$version" ]] || ((${version%%.*} >= 12)) ;; # testing has no number
    ubuntu) ((${version%%.*} >= 24)) ;;
    *) [[ " $like " == *" debian "* || " $like " == *" ubuntu "* ]] ;;
    esac
}

explain_other_system() {
    cat >&2 <<END
HalfScope's scripts install packages on Debian 12, Ubuntu 24.04 and later. This system is another one; please install
these yourself, in whatever form it has them:
  a C++20 compiler (GCC 12 or later), CMake 3.25 or later, Ninja
  Qt 6.4 or later: base, SVG, tools with the translation tools (linguist)
  QCustomPlot 2.1 built for Qt 6, nlohmann-json 3.11, CLI11, zlib, GoogleTest with GoogleMock, Google Benchmark
  fonts: DejaVu Sans, WenQuanYi Micro Hei (any Chinese font does)
Package names in Debian and Ubuntu:
  ${build_packages[*]}
  ${data_packages[*]}
Package names in Fedora:
  gcc-c++ cmake ninja-build qt6-qtbase-devel qt6-qtsvg-devel qt6-qttools-devel qcustomplot-qt6-devel json-devel
  cli11-devel zlib-devel gtest-devel gmock-devel google-benchmark-devel dejavu-sans-fonts wqy-microhei-fonts
Then run this again with HALFSCOPE_INSTALL=no in the environment, which skips the installation.
END
    exit 1
}

# as_root COMMAND...: runs it with the rights to install.
as_root() {
    if [[ "$(id -u)" == 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "installing needs root's rights and there is no sudo; as root, run: apt-get install ${*: -1}"
    fi
}

# install_packages NAME...: installs those that are missing; says so; does nothing when there are none.
install_packages() {
    [[ "${HALFSCOPE_INSTALL:-yes}" == no ]] && return
    is_supported_system || explain_other_system
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    say "Installing ${#missing[@]} packages: ${missing[*]}"
    [[ "$(id -u)" == 0 ]] || say "(this asks for your password, for sudo)"
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=900 -q)
    local log
    log="$(mktemp)"
    if [[ -n "$(dpkg --audit 2>/dev/null)" ]]; then # an earlier installation was cut off
        as_root env DEBIAN_FRONTEND=noninteractive dpkg --configure -a >"$log" 2>&1 || tail -n 5 "$log" >&2
    fi
    if ! as_root "${apt[@]}" update >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        say "warning: the lists of packages could not be brought up to date; trying with the old ones"
    fi
    if ! as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        if grep -q "Unable to locate package\|has no installation candidate" "$log"; then
            say "Some packages are in Ubuntu's component \"universe\"; add it with: sudo add-apt-repository universe"
        fi
        rm -f "$log"
        die "the packages could not be installed; install them yourself, then run this again: ${missing[*]}"
    fi
    rm -f "$log"
}

# How many compilers at once: one a processor, but each wants about a gigabyte.
build_jobs() {
    local processors memory
    processors="$(nproc)"
    memory="$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null || echo "$processors")"
    ((memory < 1)) && memory=1
    echo $((memory < processors ? memory : processors))
}

# show_progress TITLE: where Ninja cannot overwrite its line, passes on one line in ten, and nothing if nothing is to be
# done. The shell's own loop, because some awks wait for a full buffer.
show_progress() {
    local title="$1" line tenth last=0
    while IFS= read -r line; do
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
        ((BASH_REMATCH[1] > 0)) || continue # looking for new files
        if [[ -n $title ]]; then
            say "$title"
            title=""
        fi
        tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
        if ((tenth > last)); then
            say "  $((10 * tenth)) % built"
            last=$tenth
        fi
    done
}

# build PRESET [TARGET...]: configures if need be (Ninja itself does so when the build files change) and builds.
build() {
    local what="$1" folder="$root/build/$1" log
    shift
    log="$folder/build.log"
    mkdir -p "$folder"
    local fresh=()
    # A folder that was configured for a tree elsewhere (moved or copied) is of no use.
    if [[ -f "$folder/CMakeCache.txt" ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
        fresh=(--fresh)
    fi
    if [[ ! -f "$folder/build.ninja" || ${#fresh[@]} -gt 0 ]]; then
        say "Configuring build/$what"
        if ! (cd "$root" && cmake --preset "$what" "${fresh[@]}") >"$log" 2>&1; then
            tail -n 30 "$log" >&2
            rm -f "$folder/build.ninja"
            die "CMake could not configure the build; the whole output is in $log"
        fi
    fi
    local jobs
    jobs="$(build_jobs)"
    if [[ -t 2 ]]; then # one line that Ninja overwrites
        ninja -C "$folder" -j "$jobs" "$@" >&2 || die "the build failed; see above"
    elif ! ninja -C "$folder" -j "$jobs" "$@" 2>&1 | tee "$log" |
        show_progress "Building build/$what with $jobs processes at once (output in $log)"; then
        grep -n -m 1 -A 40 "^FAILED" "$log" >&2 || tail -n 40 "$log" >&2
        die "the build failed; the whole output is in $log"
    fi
}
