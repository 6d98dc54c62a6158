#!/usr/bin/env bash
# Is the tree formatted as .clang-format and .prettierrc.json say?
# usage: scripts/format.sh [--apply] [FILE...]       all tracked files, or these; --apply rewrites them
# Other versions of clang-format than 14 lay out some lines differently; CLANG_FORMAT names it.  prettier is the page's, from the build folder
# ($MEMPROF_BUILD, default build/dev) of a configuration with Node and tests.
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
failed=0

# Lists (*.def) are tables and stay as they were laid out.
if [ "$format" ]; then
    "$format" --version | grep -q 'version 14\.' || echo "format: $("$format" --version), not 14" >&2
    if [ $apply ]; then how=(-i); else how=(--dry-run -Werror); fi
    chosen '*.c' '*.h' '*.cc' | xargs -0r "$format" "${how[@]}" || failed=1
else
    echo "format: clang-format is not installed: C is left out" >&2
    failed=1
fi
if [ -x "$prettier" ]; then
    if [ $apply ]; then how=(--write --log-level=warn); else how=(--check); fi
    chosen 'viewer/*.js' 'viewer/*.mjs' 'viewer/*.css' '*.mjs' | xargs -0r "$prettier" "${how[@]}" || failed=1
else
    echo "format: no $prettier: the page is left out" >&2
    failed=1
fi
exit $failed
