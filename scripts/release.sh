#!/usr/bin/env bash
# The checks of a release, in a fresh clone of HEAD: about four hours on two cores.
# usage: scripts/release.sh [--quick] [FOLDER]     FOLDER: where it works (default: build/release-check)
#
# Each step writes FOLDER/STEP.log. FOLDER/summary.txt has a line for each step: ok, FAILED, or why it was not run.
# --quick: torture and fuzzing for a minute instead of an hour, and tests/run.sh without the long tests, to try this script.
set -uo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
long=3600 tests=--slow
if [ "${1:-}" = --quick ]; then long=60 tests=''; shift; fi
folder=$(realpath -m "${1:-$top/build/release-check}")
failed=0

say() { echo "$*" | tee -a "$folder/summary.txt"; }

# step NAME COMMAND...: runs the command in the clone. Status 77 means that the step cannot run here.
step() {
    local name=$1 begin=$SECONDS status=0 result
    shift
    (cd "$folder/clone" && "$@") >"$folder/$name.log" 2>&1 || status=$?
    case $status in
    0) result="ok     " ;;
    77) result="not run" ;;
    *) result="FAILED " failed=$((failed + 1)) ;;
    esac
    say "$result  $name  $(((SECONDS - begin + 30) / 60)) min  $(tail -1 "$folder/$name.log" | cut -c1-100)"
}

gpu() {
    nvidia-smi -L || { echo "no GPU here: run python3 tests/gpu/hardware.py BUILD on a machine that has one"; return 77; }
    python3 tests/gpu/hardware.py build/ci
}

fuzzing() {
    local target targets
    targets=$(cd build/fuzz/tests/fuzz && find . -maxdepth 1 -name 'fuzz_*' -perm -u+x -printf '%f\n') || return
    for target in $targets; do tests/fuzz/run.sh build/fuzz "$target" $((long / $(wc -w <<<"$targets"))) || return; done
}

# Two builds at different times in different folders give the same bytes.
reproducible() {
    local place=$folder/clone again=$folder/again file
    rm -rf "$again" && git clone -q "$place" "$again" || return
    (cd "$again" && cmake --workflow --preset package) || return
    for file in "$place"/build/release/packages/*.{deb,tar.gz,whl}; do
        cmp "$file" "$again/build/release/packages/$(basename "$file")" || return
    done
    echo "all packages are the same"
}

# The commands that README shows under "Try it", by copy and paste.
readme() { sed -n '/^## Try it/,/^## /s/^    \([a-z/]*\.sh\).*/\1/p' README.md | grep -v run.sh | bash -e; }

mkdir -p "$folder"
rm -rf "$folder/clone" "$folder"/*.log "$folder/summary.txt"
git clone -q "$top" "$folder/clone" || exit 1
say "memprof $(sed -n 's/^project(memprof VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt"), commit $(git -C "$top" rev-parse --short HEAD), $(date -u +%F)"
say "on $(. /etc/os-release && echo "$PRETTY_NAME"), $(uname -r), $(nproc) processors"
step tests tests/run.sh $tests
step readme readme
step torture env MEMPROF_BUILD=build/"$([ $tests ] && echo ci || echo quick)" tests/torture/run.sh $long
step fuzzing fuzzing
step packages cmake --workflow --preset package
step reproducible reproducible
step gpu gpu
step benchmarks env MEMPROF_BUILD="$folder/clone/build/release" sh -c 'cmake --build build/release --target bench && python3 bench/figures.py'
say "$failed failed"
[ $failed -eq 0 ]
