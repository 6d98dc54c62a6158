#!/bin/sh
# run_case.sh CASE REPORT MAKE_LOG MAKE_GPU_LOG MAKE_STACK_LOG MAKE_OWN_LOG: runs a case and compares its output.  A case is a file of four parts:
# 1. a line "# TEXT" that says what the case shows;
# 2. lines "# make SCENARIO FILE", "# make_gpu ...", "# make_stacks ...", "# make_own ...", "# golden LOG FILE", "# shell COMMAND",
#    "# run ARGUMENTS" and "# jq FILTER".  A filter gets the standard output of the run above it, which is JSON; the case has the values that
#    its filters select instead of that output;
# 3. the line "# exit STATUS", the exit status of the last run;
# 4. the expected output: each run's standard output, then its standard error.
# With UPDATE=1 the case gets the output that the commands print now.
set -eu
case=$(realpath "$1") report=$(realpath "$2") make_log=$(realpath "$3") make_gpu_log=$(realpath "$4") make_stack_log=$(realpath "$5") make_own_log=$(realpath "$6")
golden=$(dirname "$case")/../../golden
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/case"
cd "$folder/case"
export LC_ALL=C.UTF-8
status=0 is_json=
: >out

# Appends to out what the last run printed: the values that filters selected of it, if there are filters, or its whole output.
flush() {
    if [ "$is_json" ]; then mv ../selected ../stdout; fi
    if [ -e ../stdout ]; then cat ../stdout ../stderr >>out; fi
    rm -f ../stdout ../stderr
    is_json=
}

while IFS= read -r line; do
    case $line in "# jq "*) ;; *) flush ;; esac
    case $line in
        "# make "*) eval "\"$make_log\" ${line#\# make }" ;;
        "# make_gpu "*) eval "\"$make_gpu_log\" ${line#\# make_gpu }" ;;
        "# make_stacks "*) eval "\"$make_stack_log\" ${line#\# make_stacks }" ;;
        "# make_own "*) eval "\"$make_own_log\" ${line#\# make_own }" ;;
        "# golden "*) eval "cp \"$golden\"/${line#\# golden }" ;;
        "# shell "*) eval "${line#\# shell }" ;;
        "# run "*) status=0; eval "\"$report\" ${line#\# run }" >../stdout 2>../stderr || status=$? ;;
        "# jq "*) is_json=1; jq -c "${line#\# jq }" ../stdout >>../selected ;;
        "# exit "*) break ;;
    esac
done <"$case"
{ sed '/^# exit /,$d' "$case"; echo "# exit $status"; cat out; } >now
if [ "${UPDATE:-}" ]; then cp now "$case"; fi
diff -u "$case" now
