#!/bin/sh
# missing_page.sh REPORT: a memprof-report without the page says what to install, and fails.
status=0
said=$("$1" html nothing.zst 2>&1) || status=$?
echo "$said"
[ "$status" = 1 ] && echo "$said" | grep -q 'install Node 18 or later with npm' && [ ! -e memprof.html ]
