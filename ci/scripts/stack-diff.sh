#!/bin/sh
# Say what the change does to the nodes of each stack that it touches, without credentials: safe for forks.
#
#   SINCE  the commit that the change is compared with.
#   POST   gitlab or github: also put it into a comment of its own, in place of the last one.
#
# Writes stack-diff.md below REPORTS. A stack that can't be compared is named; `check.sh` says what is wrong with it.
. "$(dirname "$0")/common.sh"
need SINCE

"$(dirname "$0")/affected.sh" >/dev/null
while IFS= read -r stack; do
  code=0
  $MULTIARCH stack diff "$stack" --against "$SINCE" --output markdown || code=$?
  [ "$code" -le 1 ] || echo "$stack can't be compared with $SINCE: the job's log says why."
  echo
done <"$REPORTS/affected.txt" >"$REPORTS/stack-diff.md"
# Without stacks only a comment that is there already is changed.
set --
[ -s "$REPORTS/stack-diff.md" ] || { set -- --only-update; echo "The change touches no stack." >"$REPORTS/stack-diff.md"; }
cat "$REPORTS/stack-diff.md"
[ -z "${POST:-}" ] || $MULTIARCH post comment "$REPORTS/stack-diff.md" --name stack-diff --to "$POST" "$@"
