#!/usr/bin/env bash
# Installs missing packages, builds, and runs tests.
# usage: tests/run.sh            one build, and the tests that take little time
#        tests/run.sh --all      everything that CI runs: all builds, also with sanitizers, and the long tests
#        tests/run.sh --slow     everything that a release runs: --all, and the tests that take many minutes
set -euo pipefail
cd "$(dirname "$0")/.."

all='' slow=''
case ${1:-} in
"") ;;
--all) all=1 ;;
--slow) all=1 slow=1 ;;
*) echo "usage: tests/run.sh [--all|--slow]" >&2; exit 2 ;;
esac

if [ $all ]; then scripts/deps.sh build test package try; else scripts/deps.sh build test; fi

passed=0 failed=0 skipped=0
# Adds CTest's counts of a run to the sums.
count() {
    local file=$1
    attribute() { sed -nE "s/.*<testsuite[^>]*[[:space:]]$1=\"([0-9]+)\".*/\1/p" "$file" | head -1; }
    local all bad left
    tr '\n' ' ' <"$file" >"$file.line"
    file=$file.line
    all=$(attribute tests) bad=$(attribute failures) left=$(attribute skipped)
    failed=$((failed + bad)) skipped=$((skipped + left)) passed=$((passed + all - bad - left))
}

# second_attempts LOG TEST-PRESET: adds to the defects each test that failed once and then passed.  A test that failed twice is a failure.
defects=$(mktemp)
second_attempts() {
    sed -nE 's/^[ 0-9/]*Test +#[0-9]+: ([^ ]+) .*\*\*\*[^S].*/\1/p' "$1" | sort | uniq -c |
        while read -r times name; do [ "$times" -gt 1 ] || echo "DEFECT $name ($2): it passed at the second attempt"; done >>"$defects"
}

# remember TEST-PRESET RESULTS: keeps each failed test with the end of its output. They are printed at the very end.
last_words=$(mktemp)
remember() {
    python3 - "$1" "$2" >>"$last_words" <<'EOF'
import sys
from xml.etree import ElementTree

for case in ElementTree.parse(sys.argv[2]).getroot().iter("testcase"):
    if case.find("failure") is not None:
        print(f"FAILED {case.get('name')} ({sys.argv[1]})", case.findtext("system-out", "")[-4000:], sep="\n")
EOF
}

# broken NAME: counts a part that could not be run.
broken() {
    echo "FAILED $1" >>"$last_words"
    failed=$((failed + 1))
}

# run CONFIGURATION TEST-PRESET: a part that does not build also counts as a failure.
run() {
    local build=$PWD/build/$1 report
    report=$build/results.$2.xml
    echo "== $1 ($2)"
    if ! cmake --preset "$1" >"/tmp/memprof-configure.$$" 2>&1 || ! cmake --build --preset "$1" >"/tmp/memprof-build.$$" 2>&1; then
        cat "/tmp/memprof-configure.$$" "/tmp/memprof-build.$$" | tail -60
        broken "to build $1"
        return
    fi
    sed -n '/^-- memprof:/p; /^-- memprof: missing/,/^-- memprof: the tests/{/^--   /p}' "/tmp/memprof-configure.$$"
    rm -f "$report"
    ctest --preset "$2" --repeat until-pass:2 --output-junit "$report" | tee "$report.log" || true
    second_attempts "$report.log" "$2"
    if [ ! -s "$report" ]; then
        broken "to run the tests of $2"
        return
    fi
    count "$report"
    remember "$2" "$report"
}

# reads NAME COMMAND...: runs a check of the tree, which exits with 77 if its tool is not installed.
reads() {
    local name=$1 status=0
    shift
    echo "== $name"
    "$@" || status=$?
    case $status in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) broken "the $name" ;;
    esac
}

# Uses the page's prettier, which the first build has downloaded.
layout() { MEMPROF_BUILD=build/ci reads layout scripts/format.sh; }

# With --slow runs all tools with all their checks.
analysis() { reads analysis scripts/analyse.py ${slow:+--slow} build/ci; }

# Runs the unit tests with AddressSanitizer and UBSan: clang's, whose build also has the targets of tests/fuzz (with
# --slow each runs a minute), or else gcc's.
sanitized() {
    if clang --print-file-name=libclang_rt.fuzzer-x86_64.a 2>/dev/null | grep -q / && [ "$(uname -m)" = x86_64 ]; then
        [ $slow ] || export MEMPROF_FUZZ_SECONDS=10
        run fuzz sanitized
    else
        echo "fuzz: skipped, for clang and its libFuzzer are not there"
        skipped=$((skipped + 1))
        run asan asan
    fi
}

# Runs the library on another processor, and reads its logs with the first build.
emulated() {
    local status=0
    if ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64-static >/dev/null; then
        echo "aarch64: skipped: the cross compiler or the emulator is not here"
        skipped=$((skipped + 1))
        return
    fi
    scripts/aarch64.sh || status=$?
    case $status in
    0) run aarch64 aarch64 ;;
    77) skipped=$((skipped + 1)) ;;
    *) broken "to prepare aarch64" ;;
    esac
}

# Lists the tests that the default run omits.
left_out() {
    local chosen of_all
    chosen=$(ctest --preset quick -N | sed -n 's/^Total Tests: //p') of_all=$(ctest --test-dir build/quick -N | sed -n 's/^Total Tests: //p')
    cat <<EOF
left out:
  $((of_all - chosen)) long tests of this build, the builds without optional parts, for aarch64 and with sanitizers, packages,
  fuzzing, the page in browsers, layout and analysis of the source:     tests/run.sh --all
  the tests that only a release runs, of many minutes each:             tests/run.sh --slow
after an edit:  cmake --build --preset quick && ctest --preset quick
one test:       ctest --preset quick -R NAME
EOF
}

if [ $all ]; then
    run ci ci
    layout
    analysis
    emulated
    run without without
    sanitized
    run tsan tsan
    if [ $slow ]; then run ci slow; fi
else
    run quick quick
    left_out
fi
rm -f "/tmp/memprof-configure.$$" "/tmp/memprof-build.$$"

echo
cat "$last_words" "$defects"
rm -f "$last_words" "$defects"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
