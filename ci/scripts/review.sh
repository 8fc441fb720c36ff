#!/bin/sh
# Write the digest of the previews in REPORTS/previews for a reviewer: review.md and review.json below REPORTS.
#
#   SINCE    the commit that the change is compared with: the stack files before it.
#   POST     gitlab or github: also put the digest into a comment on the merge request, in place of the last one.
#   PRICES   the price file that prices.sh wrote, if there is one. Default: .cache/prices.json.
#   FAIL_ON  rules or risks that fail the job: replace-stateful,widen-iam. Default: none.
#
# Exit code: that of `multiarch review`; 1 if FAIL_ON finds something.
. "$(dirname "$0")/common.sh"
need SINCE

set --
for file in "$REPORTS"/previews/*.json; do
  [ -e "$file" ] || continue
  # The event log has more; that of a preview that failed may have nothing.
  [ ! -s "${file%.json}.events" ] || [ -e "${file%.json}.failed" ] || file=${file%.json}.events
  set -- "$@" "$file"
done
if [ $# -eq 0 ] && [ ! -s "$REPORTS/affected.txt" ]; then
  say "The change touches no stack."
  [ -n "${POST:-}" ] || exit 0
fi
[ ! -s "${PRICES:=.cache/prices.json}" ] || set -- --prices "$PRICES" "$@"
# Its exit code is that of the command below, which reads the same.
$MULTIARCH review --since "$SINCE" --output json "$@" >"$REPORTS/review.json" || :
$MULTIARCH review --since "$SINCE" --output markdown --attach "$REPORTS/review.md" \
  ${POST:+--post "$POST"} ${FAIL_ON:+--fail-on "$FAIL_ON"} "$@" >"$REPORTS/review-comment.md" || code=$?
cat "$REPORTS/review-comment.md"
exit "${code:-0}"
