# shellcheck shell=sh
# Sourced by the other scripts of this folder. POSIX sh: images with buildx or buildah often have no bash.
#
#   CREDENTIALS_DIR  where credentials are written, and removed from when the script ends. It is outside the checkout,
#                    so that no image and no artifact can have it. Default: a folder for this job below /tmp.
#   REPORTS          the folder of reports. Default: reports.
#   MULTIARCH        the command line to use. Default: .venv/bin/multiarch if it is there, or else multiarch.

set -eu

: "${CREDENTIALS_DIR:=${RUNNER_TEMP:-/tmp}/multiarch-eks-${CI_JOB_ID:-${GITHUB_RUN_ID:-$$}}}"
: "${REPORTS:=reports}"
if [ -z "${MULTIARCH:-}" ]; then
  if [ -x .venv/bin/multiarch ]; then MULTIARCH=.venv/bin/multiarch; else MULTIARCH=multiarch; fi
fi
running=false
before=

say() { printf '%s\n' "$*" >&2; }

# fail MESSAGE: exit code 2, as the command line has it for wrong configuration.
fail() {
  say "error: $*"
  exit 2
}

# need NAME…: these variables must be set and not empty.
need() {
  for needed; do
    eval "value=\${$needed:-}"
    # shellcheck disable=SC2154 # eval sets it
    [ -n "$value" ] || fail "$needed is not set"
  done
}

# is_true VALUE: whether it is true. GitLab's templates leave a space in boolean variables (see stacks.yml).
is_true() { [ "$(printf '%s' "$1" | tr -d ' ')" = true ]; }

forget_credentials() { rm -rf -- "$CREDENTIALS_DIR"; }

# shellcheck disable=SC2317,SC2329 # called by traps
stopped() {
  trap - INT TERM HUP
  # A signal may come when the program has begun to work and `run` has not noted its number yet.
  if [ "$running" = true ] && [ "${!:-}" != "$before" ]; then
    kill -TERM "$!" 2>/dev/null || :
    wait "$!" 2>/dev/null || :
  fi
  exit "$1"
}

# private_folder: make CREDENTIALS_DIR, which is removed however the script ends, except by SIGKILL: for that the
# templates run forget-credentials.sh after the job.
private_folder() {
  trap 'forget_credentials' EXIT
  trap 'stopped 129' HUP
  trap 'stopped 130' INT
  trap 'stopped 143' TERM
  forget_credentials
  (umask 077 && mkdir -p -- "$CREDENTIALS_DIR")
}

# run COMMAND…: run it so that a signal ends it at once, and the trap can remove credentials before the job is killed.
# Its standard input is the caller's: a shell gives its background jobs none by default.
run() {
  exec 3<&0
  before=${!:-}
  running=true
  "$@" <&3 3<&- &
  exec 3<&-
  # A name of its own: functions share variables with their callers.
  run_code=0
  wait "$!" || run_code=$?
  running=false
  return "$run_code"
}

# secret_file NAME: write standard input to a file that only this user can read, and print its path.
secret_file() {
  (umask 077 && cat >"$CREDENTIALS_DIR/$1")
  printf '%s\n' "$CREDENTIALS_DIR/$1"
}

# use_aws_role ROLE: let the AWS SDKs exchange the job's OIDC token for the role's credentials. No key is ever written.
# Without a role, or a token in AWS_TOKEN, credentials come from the environment, as on GitHub after
# configure-aws-credentials.
use_aws_role() {
  [ -n "${AWS_TOKEN:-}" ] && [ -n "$1" ] || return 0
  AWS_WEB_IDENTITY_TOKEN_FILE=$(printf '%s' "$AWS_TOKEN" | secret_file "aws-token-$$")
  AWS_ROLE_ARN=$1
  AWS_ROLE_SESSION_NAME=ci-${CI_PROJECT_ID:-0}-${CI_JOB_ID:-$$}
  export AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN AWS_ROLE_SESSION_NAME
}

# role_of KIND STACK: KIND_ROLE_STACK (PREVIEW_ROLE_CHECKOUT_DEV) if it is set, or else KIND_ROLE, in which
# {environment} is the end of the stack's name.
role_of() {
  own=$1_ROLE_$(printf '%s' "$2" | tr 'a-z-' 'A-Z_')
  eval "printf '%s' \"\${$own:-\${$1_ROLE:-}}\"" | sed "s/{environment}/${2##*-}/"
}

# check_stack NAME: a stack's name goes into commands, paths and YAML.
check_stack() {
  case $1 in
  '' | *[!a-z0-9-]* | -*) fail "'$1' is not a stack's name" ;;
  esac
}
