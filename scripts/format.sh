#!/usr/bin/env bash
# Checks that the tree is formatted according to .clang-format and .prettierrc.json.
# usage: scripts/format.sh [--apply] [FILE...]       all tracked files, or these; --apply rewrites them
# clang-format must be version 14, because others format some lines differently (CLANG_FORMAT names it). prettier is the page's, from a
# build folder ($MEMPROF_BUILD, default build/dev) configured with Node and tests. Exit status: 1: a file differs; 77: a tool is missing.
set -euo pipefail

apply=
if [ "${1:-}" = --apply ]; then apply=1; shift; fi
files=()
for f in "$@"; do files+=("$(realpath -- "$f")"); done
cd "$(dirname "$0")/.."

tracked() { git ls-files -z -- "$@"; }
chosen() {
    if [ ${#files[@]} = 0 ]; then tracked "$@"; return; fi
    comm -z -12 <(printf '%s\0' "${files[@]#"$PWD"/}" | sort -zu) <(tracked "$@" | sort -z)
}

format=${CLANG_FORMAT:-$(command -v clang-format-14 || command -v clang-format || true)}
prettier=${MEMPROF_BUILD:-build/dev}/viewer/npm/node_modules/.bin/prettier
failed=0 absent=0

# Lists (*.def) are tables that are laid out by hand.
if [ "$format" ] && "$format" --version | grep -q 'version 14\.'; then
    if [ $apply ]; then how=(-i); else how=(--dry-run -Werror); fi
    chosen '*.c' '*.h' '*.cc' | xargs -0r "$format" "${how[@]}" || failed=1
else
    echo "format: no clang-format of version 14: C is left out" >&2
    absent=77
fi
if [ -x "$prettier" ]; then
    if [ $apply ]; then how=(--write --log-level=warn); else how=(--check); fi
    chosen 'viewer/*.js' 'viewer/*.mjs' 'viewer/*.css' '*.mjs' | xargs -0r "$prettier" "${how[@]}" || failed=1
else
    echo "format: no $prettier: the page is left out" >&2
    absent=77
fi
[ $failed = 0 ] || exit 1
exit $absent
