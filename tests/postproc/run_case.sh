#!/bin/sh
# run_case.sh CASE REPORT MAKE_LOG MAKE_GPU_LOG MAKE_STACK_LOG MAKE_OWN_LOG: a case is a file of four parts: a line "# TEXT" that says what the case
# shows, lines "# make SCENARIO FILE", "# make_gpu ...", "# make_stacks ...", "# golden LOG FILE" and "# run ARGUMENTS", the line
# "# exit STATUS", and the expected output (stdout, then stderr).  With UPDATE=1 the case gets the output that the commands print now.
set -eu
case=$(realpath "$1") report=$(realpath "$2") make_log=$(realpath "$3") make_gpu_log=$(realpath "$4") make_stack_log=$(realpath "$5") make_own_log=$(realpath "$6")
golden=$(dirname "$case")/../../golden
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export LC_ALL=C.UTF-8
status=0
: >out
while IFS= read -r line; do
    case $line in
        "# make "*) eval "\"$make_log\" ${line#\# make }" ;;
        "# make_gpu "*) eval "\"$make_gpu_log\" ${line#\# make_gpu }" ;;
        "# make_stacks "*) eval "\"$make_stack_log\" ${line#\# make_stacks }" ;;
        "# make_own "*) eval "\"$make_own_log\" ${line#\# make_own }" ;;
        "# golden "*) eval "cp \"$golden\"/${line#\# golden }" ;;
        "# shell "*) eval "${line#\# shell }" ;;
        "# run "*) status=0; eval "\"$report\" ${line#\# run }" >>out 2>err || status=$?; cat err >>out ;;
        "# exit "*) break ;;
    esac
done <"$case"
{ sed '/^# exit /,$d' "$case"; echo "# exit $status"; cat out; } >now
if [ "${UPDATE:-}" ]; then cp now "$case"; fi
diff -u "$case" now
