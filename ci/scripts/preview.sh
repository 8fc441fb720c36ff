#!/bin/sh
# Preview the stacks that REPORTS/affected.txt names (or those given as arguments), side by side.
#
#   JOBS          how many previews run at a time. Default: 4.
#   PREVIEW_ROLE  the IAM role to read with; PREVIEW_ROLE_STACK for a stack of its own account.
#   PREVIEW_ARGS  more options of `pulumi preview`, such as --refresh.
#
# Writes previews/STACK.json, STACK.events (the engine's event log) and STACK.log below REPORTS. The engine masks secrets
# in all of them. A stack that the state's backend does not have yet is previewed in an empty backend of its own: the
# read role may not write state, and everything is created either way.
# Exit code: 0; 1 if a preview failed, which the review shows too.
. "$(dirname "$0")/common.sh"

# preview STACK: only the event log says what a refresh found in resources that stay the same, and which lose `protect`.
preview() {
  # shellcheck disable=SC2086 # several options
  PULUMI_DEBUG_COMMANDS=true pulumi preview --stack "$1" --json --event-log "$REPORTS/previews/$1.events" \
    --non-interactive ${PREVIEW_ARGS:-} >"$REPORTS/previews/$1.json" 2>"$REPORTS/previews/$1.log"
}

# preview_new STACK: the engine adds to the stack's file, which is put back.
preview_new() {
  file=config/stacks/Pulumi.$1.yaml
  [ -f "$file" ] || return 1
  mkdir "$CREDENTIALS_DIR/new-$1"
  cp "$file" "$CREDENTIALS_DIR/new-$1.yaml"
  (
    export PULUMI_BACKEND_URL="file://$CREDENTIALS_DIR/new-$1" PULUMI_CONFIG_PASSPHRASE=new
    pulumi stack init "$1" --non-interactive >/dev/null 2>"$REPORTS/previews/$1.log" && preview "$1"
  )
  code=$?
  cp "$CREDENTIALS_DIR/new-$1.yaml" "$file"
  return "$code"
}

if [ "${1:-}" = --one ]; then
  use_aws_role "$(role_of PREVIEW "$2")"
  if preview "$2"; then
    say "$2: previewed"
  elif grep -q "no stack named '$2' found" "$REPORTS/previews/$2.log" && preview_new "$2"; then
    say "$2: previewed as a new stack"
  else
    exit 0
  fi
  rm -- "$REPORTS/previews/$2.failed"
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
# A preview that is killed, or is never begun, has failed too.
while IFS= read -r stack; do : >"$REPORTS/previews/$stack.failed"; done <"$REPORTS/affected.txt"
run xargs -P "${JOBS:-4}" -n 1 "$0" --one <"$REPORTS/affected.txt" || say "error: not all previews were run"
failed=0
for file in "$REPORTS"/previews/*.failed; do
  [ -e "$file" ] || continue
  stack=$(basename "$file" .failed)
  python3 "$(dirname "$0")/failed_preview.py" "$stack" "$REPORTS/previews/$stack.json" "$REPORTS/previews/$stack.log"
  say "$stack: the preview failed"
  failed=$((failed + 1))
done
[ "$failed" -eq 0 ] || { say "$failed of $(wc -l <"$REPORTS/affected.txt") previews failed"; exit 1; }
