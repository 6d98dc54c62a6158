#!/usr/bin/env bash
# run.sh BUILD TARGET [SECONDS [OPTION-OF-LIBFUZZER...]]: fuzzes one target, with seeds from tests/golden and from logs that tests write.
# Failing inputs are kept in BUILD/fuzz/TARGET. Copy them to tests/fuzz/found/TARGET, which each run tries first.
set -euo pipefail
fuzz=$(cd "$(dirname "$0")" && pwd) build=$(cd "$1" && pwd) target=$2 seconds=${3:-${MEMPROF_FUZZ_SECONDS:-60}}
shift $(($# < 3 ? $# : 3))
tests=$fuzz/.. programs=$build/tests/fuzz made=$build/tests/postproc
kept=$build/fuzz/$target
[ -d /dev/shm ] && export TMPDIR=/dev/shm
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$kept/corpus" "$scratch/logs" "$scratch/seeds"

# Writes a complete log, a truncated one, one of a killed process with its journal, and others.
make_logs() {
    local scenario
    cp "$tests"/golden/*.zst "$scratch/logs/"
    for scenario in whole unended killed lossy hole nasty child crashed limited; do
        "$made/make_log" $scenario "$scratch/logs/$scenario.zst"
    done
    for scenario in graphs segments growing reset serving backward expandable; do
        "$made/make_gpu_log" $scenario "$scratch/logs/gpu-$scenario.zst"
    done
}

little_endian() { printf '%08x' "$1" | sed -E 's/(..)(..)(..)(..)/\\x\4\\x\3\\x\2\\x\1/'; }

# Writes stored names: the text, and the file if zstd is installed.
make_names() {
    local names="$scratch/seeds/names"
    { printf 'memprof symbols\t1\nlog\t%032d\n' 0
      printf 'object\tab12\t/bin/prog\nat\t12\ncall\t7\t/src/a.c\tinlined\ncall\t9\t/src/a.c\tmain\nat\tff0\n'
      printf 'object\t\t/lib/b\\t.so\nat\t20\ncall\t0\t\tA::b<c>\nat\t1f\ncall\t3\tb.cc\tf\\n\\\\g\nend\n'; } >"$scratch/names"
    { printf '\0'; cat "$scratch/names"; } >"$names"
    if command -v zstd >/dev/null; then
        zstd -q "$scratch/names"
        { printf '\1'; cat "$scratch/names.zst"; } >"$names.zst"
    fi
}

# Converts logs to the target's input.
make_seeds() {
    local log name journal command=0
    for log in "$scratch"/logs/*.zst; do
        name=$(basename "$log") journal=$log.journal
        case $target in
        input) { printf "$(little_endian "$(stat -c %s "$log")")"; cat "$log"; [ ! -e "$journal" ] || cat "$journal"; } >"$scratch/seeds/$name" ;;
        journal) [ ! -e "$journal" ] || cp "$journal" "$scratch/seeds/$name" ;;
        digest) "$build/postproc/memprof-report" --max-memory=0 digest -o "$scratch/seeds/$name" "$log" || true ;;
        snapshot) "$build/postproc/memprof-report" --max-memory=0 export --to torch-snapshot -o "$scratch/seeds/$name" "$log" || true ;;
        reports) "$programs/pack_log" $((command++)) "$log" >"$scratch/seeds/$name" ;;
        header | columns) "$programs/pack_log" --bodies $target "$log" "$scratch/seeds/$name" ;;
        esac
    done
}

export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
make_logs
make_seeds
case $target in
stored_names) make_names ;;
object) cp "$programs"/*.seed "$scratch/seeds/" ;;
esac
for found in "$fuzz/found/$target"/*; do
    [ ! -e "$found" ] || "$programs/fuzz_$target" -runs=1 -timeout=20 -rss_limit_mb=2048 -close_fd_mask=3 "$found"
done
"$programs/fuzz_$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=1000000 -close_fd_mask=3 -print_final_stats=1 \
    -artifact_prefix="$kept/" "$@" "$kept/corpus" "$scratch/seeds"
