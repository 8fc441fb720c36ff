#!/bin/sh
# Remove what a job that was killed has left: for `after_script`, and steps with `if: always()`.
. "$(dirname "$0")/common.sh"
forget_credentials
