#!/bin/sh
# Find the stacks that a change touches. SINCE is the commit to compare with; empty or all zeros means all stacks.
# Writes affected.txt below REPORTS, a name per line, and prints it.
. "$(dirname "$0")/common.sh"

mkdir -p "$REPORTS"
case ${SINCE:-} in
*[!0]*)
  # A shallow clone need not have it.
  git cat-file -e "$SINCE^{commit}" 2>/dev/null || git fetch --quiet --depth 1 origin "$SINCE"
  $MULTIARCH stack affected --since "$SINCE" --quiet >"$REPORTS/affected.txt"
  ;;
*)
  find config/stacks -name 'Pulumi.*.yaml' | sed -e 's#.*/Pulumi\.##' -e 's#\.yaml$##' | sort >"$REPORTS/affected.txt"
  ;;
esac
while IFS= read -r stack; do check_stack "$stack"; done <"$REPORTS/affected.txt"
cat "$REPORTS/affected.txt"
