#!/bin/sh
# issue.sh CODE NAME TITLE FILE: keep one issue for a nightly job, by the exit code of drift.sh or audit.sh.
# 0 closes the issue if it is open, 1 opens it with the report FILE or updates it; so does 4, which is then passed on, as
# any other code is.
# `multiarch post issue --help` lists the variables that it needs.
. "$(dirname "$0")/common.sh"

[ $# -eq 4 ] || fail "usage: issue.sh CODE NAME TITLE FILE"
case $1 in
0) $MULTIARCH post issue --close --name "$2" ;;
1 | 4) $MULTIARCH post issue "$4" --name "$2" --title "$3" ;;
esac
[ "$1" -le 1 ] || exit "$1"
