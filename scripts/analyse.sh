#!/usr/bin/env bash
# Looks for mistakes with clang-tidy (.clang-tidy), cppcheck (scripts/cppcheck.txt) and gcc's analyzer, over what a build folder compiles of format,
# preload and postproc.  Prints findings and their counts; a long read, not a test.
# usage: scripts/analyse.sh [BUILD [TOOL...]]       BUILD: build/dev; TOOL: tidy, cppcheck, gcc (all)
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/dev}
shift $(($# ? 1 : 0))
commands=$build/compile_commands.json
[ -f "$commands" ] || { echo "analyse: no $commands: cmake --preset dev makes it" >&2; exit 2; }
jobs=$(nproc)

sources() {
    python3 -c 'import json, sys; print(*sorted({e["file"] for e in json.load(open(sys.argv[1])) if e["file"].endswith(".c")}), sep="\n")' \
        "$commands" | grep -E "^$PWD/(format|preload|postproc)/"
}

# A header's finding is met in every file that includes it.
tidy() { sources | xargs -P "$jobs" -n 1 clang-tidy --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option 2>/dev/null || true; }

cppcheck_all() {
    cppcheck --project="$commands" --enable=warning,style,performance,portability --inline-suppr --suppressions-list=scripts/cppcheck.txt \
        --suppress='*:tests/*' --suppress='*:bench/*' -i tests -i bench -j "$jobs" --quiet --template='{file}:{line}:{column}: warning: {message} [{id}]' 2>&1 || true
}

# The commands as they stand, but for what link-time optimisation would leave undone.
gcc_all() {
    python3 - "$commands" "$PWD" <<'P' | xargs -P "$jobs" -0 -n 1 bash -c 2>&1 || true
import json, re, sys
for e in json.load(open(sys.argv[1])):
    if re.match(re.escape(sys.argv[2]) + r"/(format|preload|postproc)/.*\.c$", e["file"]):
        command = re.sub(r" -flto\S*| -fno-fat-lto-objects| -Werror| -o \S+", "", e["command"])
        print(f"cd '{e['directory']}' && {command} -fanalyzer -o /dev/null", end="\0")
P
}

[ $# -gt 0 ] || set -- tidy cppcheck gcc
for tool in "$@"; do
    case $tool in
    tidy) found=$(tidy) ;;
    cppcheck) found=$(cppcheck_all) ;;
    gcc) found=$(gcc_all) ;;
    *) echo "usage: scripts/analyse.sh [BUILD [tidy|cppcheck|gcc]...]" >&2; exit 2 ;;
    esac
    found=$(grep -E '^[^ ]+:[0-9]+:[0-9]+: (warning|error): .*\[[^]]+\]$' <<<"$found" | sed "s#^$PWD/##" | sort -u || true)
    echo "== $tool"
    if [ "$found" ]; then
        echo "$found"
        sed -E 's/.*\[([^]]+)\]$/\1/' <<<"$found" | sort | uniq -c | sort -rn
    fi
done
