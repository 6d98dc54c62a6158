#!/usr/bin/env bash
# Builds everything with each of the compilers, as preset dev does, and prints their warnings.
# usage: scripts/compilers.sh [COMPILER...]      default: those of gcc-12, gcc-13, gcc-14 and clang that are installed
# MEMPROF_ROOT=DIR: compilers of the system below that folder (debootstrap), with CUDA's headers of this system; root only.
# Exit status: 1: there are warnings, or something does not build; 77: no compiler is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

root=${MEMPROF_ROOT:-}
# The tree has the same path in the other system.
inside() {
    if [ ! "$root" ]; then "$@"; return; fi
    unshare -m bash -euc '
        root=$0
        mount --make-rprivate /
        for place in "$PWD" /usr/local/cuda /proc /dev; do
            [ -e "$place" ] || continue
            mkdir -p "$root$place"
            mount --rbind "$(realpath "$place")" "$root$place"
        done
        exec chroot "$root" env -C "$PWD" PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"' "$root" "$@"
}

# build COMPILER LOG: continues after a target that does not build.
build() {
    local place=build/compilers/${root:+$(basename "$root")-}$1 cxx=${1/gcc/g++}
    cxx=${cxx/clang/clang++}
    inside cmake --fresh -S . -B "$place" -DCMAKE_C_COMPILER="$1" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMEMPROF_TESTS=ON -DMEMPROF_BENCH=ON >"$2" 2>&1 &&
        inside cmake --build "$place" -j"$(nproc)" -- -k >>"$2" 2>&1
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
[ $# -gt 0 ] || set -- gcc-12 gcc-13 gcc-14 clang
failed=0 tried=0
for compiler in "$@"; do
    inside sh -c 'command -v "$0" >/dev/null' "$compiler" || { echo "$compiler: is not here"; continue; }
    tried=$((tried + 1))
    built=built
    build "$compiler" "$log" || { built="NOT BUILT"; failed=1; tail -20 "$log"; }
    warnings=$(grep -E '(warning|error): ' "$log" | sort -u || true)
    [ ! "$warnings" ] || { echo "$warnings"; failed=1; }
    echo "$(inside "$compiler" --version | head -1): $built, $(grep -c . <<<"$warnings" || true) warnings"
done
[ $tried -gt 0 ] || exit 77
exit $failed
