#!/bin/sh
# audit.sh images|daemonsets|nodes|pods [STACK]: one audit of a live cluster. Writes AUDIT.md below REPORTS.
#
#   CLUSTER, AWS_REGION  an EKS cluster to write a kubeconfig for; without CLUSTER, KUBECONFIG is used.
#   AUDIT_ROLE           the IAM role to read with.
#   PYTHON               a Python with boto3, to query EKS. Default: that of .venv.
#   AUDIT_ARGS           more options of the command.
#
# Exit code: that of the command; 1 for findings.
. "$(dirname "$0")/common.sh"

here=$(dirname "$0")
audit=${1:-}
stack=${2:-}
[ -z "$stack" ] || check_stack "$stack"
case $audit in
images) set -- audit images --fail-on unsupported ;;
daemonsets) set -- audit daemonsets --fail-on finding ${stack:+--stack "$stack"} ;;
nodes)
  [ -n "$stack${CLUSTER:-}" ] || fail "verify nodes needs a stack, or CLUSTER"
  if [ -n "$stack" ]; then set -- verify nodes "$stack"; else set -- verify nodes --cluster "$CLUSTER"; fi
  ;;
pods) set -- verify pods ;;
*) fail "usage: audit.sh images|daemonsets|nodes|pods [STACK]" ;;
esac
mkdir -p "$REPORTS"
private_folder
use_aws_role "${AUDIT_ROLE:-}"
if [ -n "${CLUSTER:-}" ]; then
  need AWS_REGION
  KUBECONFIG=$CREDENTIALS_DIR/kubeconfig
  if [ -z "${PYTHON:-}" ]; then
    PYTHON=python3
    [ ! -x .venv/bin/python ] || PYTHON=$(pwd)/.venv/bin/python
  fi
  # Not Python's own exit code: 1 says that there are findings.
  (umask 077 && "$PYTHON" "$here/eks.py" kubeconfig "$CLUSTER" "$AWS_REGION" >"$KUBECONFIG") ||
    fail "the kubeconfig of $CLUSTER in $AWS_REGION can't be written: see the error above"
  export KUBECONFIG
fi
code=0
# shellcheck disable=SC2086 # several options
run $MULTIARCH "$@" --output markdown ${AUDIT_ARGS:-} >"$REPORTS/$audit.md" || code=$?
cat "$REPORTS/$audit.md"
exit "$code"
