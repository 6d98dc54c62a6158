#!/usr/bin/env bash
# run.sh SECONDS [SEED]: runs all kinds of torture tests in turn, starting with SEED, with the build in $MEMPROF_BUILD (build/dev).
# run.sh 0 SEED repeats a failed seed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${MEMPROF_BUILD:-$here/../../build/dev}" && pwd)
export PYTHONPATH=$here/../host MEMPROF_LIB=$build/preload/libmemprof.so MEMPROF=$build/launcher/memprof \
    MEMPROF_REPORT=$build/postproc/memprof-report MEMPROF_NAIVE_READER=$build/tests/host/naive_reader MEMPROF_VICTIMS=$build/tests/torture
exec python3 -B "$here/test_torture.py" mix "${1:?usage: run.sh SECONDS [SEED]}" "${2:-0}"
