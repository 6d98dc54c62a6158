#!/bin/sh
# test_allocations.sh POSTPROC: checks which sources allocate how (docs/HACKING.md, "Memory of a report"). Layers above
# input must use base/alloc.h. input must not, because it is also part of the launcher, which must not end.
cd "$1" || exit 1
bare='(^|[^a-z_])(malloc|calloc|realloc|reallocarray|strdup|strndup|v?asprintf|open_memstream)\('
above=$(grep -nE "$bare" -r . --include='*.[ch]' | grep -vE '^\./(base/alloc\.c|input/)')
input=$(grep -nE 'alloc\.h|index\.h|mpr_alloc|MPR_GROW|MPR_REACH' -r input)
[ -z "$above$input" ] && exit 0
printf '%s\n' "$above" "$input" >&2
exit 1
