#!/usr/bin/env bash
# Runs a Python program until it is killed for its memory, and shows who held the memory when it died.
# Installs what is missing, builds in build/demo, and needs neither a GPU nor root.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly limit_mib=512
readonly build=build/demo
readonly logs=$build/logs

build() {
    cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release >"$build.log" &&
        cmake --build "$build" --parallel 2 >>"$build.log" &&
        gcc -shared -fPIC -O2 -I preload -o "$build/nvtx_emit.so" examples/nvtx_emit.c -ldl
}

# Makes a memory cgroup with the limit and prints its path. Fails if that is not allowed.
make_group() {
    local base group
    for base in /sys/fs/cgroup/memory "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)" /sys/fs/cgroup; do
        group=$base/memprof-demo.$$
        mkdir "$group" 2>/dev/null || continue
        if limit "$group" 2>/dev/null; then
            echo "$group"
            return
        fi
        rmdir "$group"
    done
    return 1
}

# Without swap, because a program that swaps is slow instead of killed. A shell tests whether a process may join the
# group.
limit() {
    if [ -e "$1/memory.max" ]; then
        echo "${limit_mib}M" >"$1/memory.max"
        if [ -e "$1/memory.swap.max" ]; then echo 0 >"$1/memory.swap.max"; fi
    else
        echo "${limit_mib}M" >"$1/memory.limit_in_bytes"
        echo 0 >"$1/memory.swappiness"
    fi
    sh -c "echo \$\$ >'$1/cgroup.procs'"
}

program() { exec "$@" "$python" examples/orders.py "$build/nvtx_emit.so"; }

run_in_group() {
    local group=$1
    echo "demo: a memory cgroup of $limit_mib MiB; the kernel kills what goes above"
    (
        sh -c "echo \$PPID >'$group/cgroup.procs'"
        program "$build/launcher/memprof" run -o "$logs" --
    ) || true
    rmdir "$group" || true
}

resident_mib() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$1/status" 2>/dev/null || true; }

# Without the launcher, so that the program is this shell's own child.
run_with_watcher() {
    local pid resident
    echo "demo: no memory cgroup can be made here; a watcher sends SIGKILL at $limit_mib MiB of resident memory"
    program env LD_PRELOAD="$PWD/$build/preload/libmemprof.so" MEMPROF_OUT="$logs/%e.%p.zst" &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        resident=$(resident_mib "$pid")
        if [ "${resident:-0}" -ge "$limit_mib" ]; then kill -KILL "$pid"; fi
        sleep 0.05
    done
    wait "$pid" || true
}

mkdir -p "$build"
scripts/deps.sh build demo
echo "demo: building in $build"
build || { tail -40 "$build.log"; exit 1; }
# with a version manager python3 may be a script; this is the program that it runs
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
rm -rf "$logs"
if group=$(make_group); then run_in_group "$group"; else run_with_watcher; fi

echo
echo "\$ memprof-report $logs"
"$build/postproc/memprof-report" "$logs"
echo
echo "\$ memprof-report peaks $logs"
"$build/postproc/memprof-report" peaks "$logs"

# The page needs Node at build time.
if "$build/postproc/memprof-report" html -o "$build/demo.html" "$logs" 2>/dev/null || [ $? = 3 ]; then
    echo
    echo "demo: the same over time, for a browser: $build/demo.html"
fi
