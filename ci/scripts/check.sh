#!/bin/sh
# Check all stacks, without credentials. Writes check.sarif and codequality.json below REPORTS.
# Exit code: that of `multiarch stack check --strict`; STRICT=false accepts warnings.
. "$(dirname "$0")/common.sh"

mkdir -p "$REPORTS"
strict=
is_true "${STRICT:-true}" && strict=--strict
# The reports have the same problems as the table; only the table's exit code counts.
$MULTIARCH stack check --output sarif >"$REPORTS/check.sarif" || :
$MULTIARCH stack check --output codequality >"$REPORTS/codequality.json" || :
# shellcheck disable=SC2086 # no option at all if it is empty
$MULTIARCH stack check $strict
