#!/bin/sh
# update.sh plan STACK     preview a stack, and keep the plan that an update must follow
# update.sh up STACK       update a stack by that plan
#
#   PREVIEW_ROLE, UPDATE_ROLE  the IAM roles of the two steps; with _STACK at the end for one stack.
#   CONSTRAIN                  true (default): `up` follows the plan of `plan`, and fails if it would do anything else.
#                              What the program ignores, such as the number of nodes that an autoscaler sets, may change.
#                              The engine calls update plans experimental. false: `up` does what the program says now.
#
# `plan` writes plan-STACK.json (values are encrypted as in the stack's state), preview-STACK.json and preview-STACK.txt
# below REPORTS. A plan belongs to a commit and to the state at that time: later changes to either make `up` fail, and
# `plan` has to be run again.
. "$(dirname "$0")/common.sh"

step=${1:-}
stack=${2:-}
check_stack "$stack"
mkdir -p "$REPORTS"
plan=$REPORTS/plan-$stack.json
private_folder
# Update plans need it; without them, no other experiment is wanted.
if is_true "${CONSTRAIN:-true}"; then export PULUMI_EXPERIMENTAL=true; fi
case $step in
plan)
  use_aws_role "$(role_of PREVIEW "$stack")"
  set -- --stack "$stack" --non-interactive
  if is_true "${CONSTRAIN:-true}"; then set -- "$@" --save-plan "$plan"; fi
  run pulumi preview "$@" --diff >"$REPORTS/preview-$stack.txt" || { cat "$REPORTS/preview-$stack.txt"; exit 1; }
  cat "$REPORTS/preview-$stack.txt"
  [ ! -f "$plan" ] || python3 "$(dirname "$0")/ignored_changes.py" "$plan"
  ;;
up)
  use_aws_role "$(role_of UPDATE "$stack")"
  set -- --stack "$stack" --non-interactive --yes --skip-preview
  if is_true "${CONSTRAIN:-true}"; then
    [ -f "$plan" ] || fail "there is no plan of $stack: run the plan job again (its artifact may have expired)"
    set -- "$@" --plan "$plan"
  fi
  run pulumi up "$@"
  ;;
*) fail "usage: update.sh plan|up STACK" ;;
esac
