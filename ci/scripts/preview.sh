#!/bin/sh
# Preview the stacks that REPORTS/affected.txt names (or those given as arguments), side by side.
#
#   JOBS          how many previews run at a time. Default: 4.
#   PREVIEW_ROLE  the IAM role to read with; PREVIEW_ROLE_STACK for a stack of its own account.
#   PREVIEW_ARGS  more options of `pulumi preview`, such as --refresh.
#
# Writes previews/STACK.json and previews/STACK.log below REPORTS. The engine masks secrets in both.
# Exit code: 0; 1 if a preview failed, which the review shows too.
. "$(dirname "$0")/common.sh"

if [ "${1:-}" = --one ]; then
  use_aws_role "$(role_of PREVIEW "$2")"
  # shellcheck disable=SC2086 # several options
  if ! pulumi preview --stack "$2" --json --non-interactive ${PREVIEW_ARGS:-} \
    >"$REPORTS/previews/$2.json" 2>"$REPORTS/previews/$2.log"; then
    : >"$REPORTS/previews/$2.failed"
    python3 "$(dirname "$0")/failed_preview.py" "$2" "$REPORTS/previews/$2.json" "$REPORTS/previews/$2.log"
    say "$2: the preview failed"
  else
    say "$2: previewed"
  fi
  exit 0
fi

mkdir -p "$REPORTS"
[ "$#" -gt 0 ] || [ -f "$REPORTS/affected.txt" ] || fail "name stacks, or run affected.sh first"
[ "$#" -gt 0 ] && printf '%s\n' "$@" >"$REPORTS/affected.txt"
while IFS= read -r stack; do check_stack "$stack"; done <"$REPORTS/affected.txt"
rm -rf -- "$REPORTS/previews"
mkdir -p "$REPORTS/previews"
private_folder
export REPORTS CREDENTIALS_DIR
run xargs -P "${JOBS:-4}" -n 1 "$0" --one <"$REPORTS/affected.txt"
failed=$(find "$REPORTS/previews" -name '*.failed' | wc -l)
[ "$failed" -eq 0 ] || { say "$failed of $(wc -l <"$REPORTS/affected.txt") previews failed"; exit 1; }
