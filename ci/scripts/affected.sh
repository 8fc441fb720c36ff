#!/bin/sh
# Find the stacks that a change touches. SINCE is the commit to compare with; empty or all zeros means all stacks.
# Writes affected.txt below REPORTS, a name per line, and prints it. Stacks whose file was deleted are in deleted.txt:
# there is nothing to preview them with, and their resources exist until somebody destroys them.
. "$(dirname "$0")/common.sh"

mkdir -p "$REPORTS"
# What the job has made in the checkout is part of no stack.
exclude=$(git rev-parse --git-path info/exclude)
mkdir -p "$(dirname "$exclude")"
for made in "$REPORTS/" .venv .cache/ .multiarch/ .multiarch-eks/; do
  grep -qxF "$made" "$exclude" 2>/dev/null || printf '%s\n' "$made" >>"$exclude"
done
case ${SINCE:-} in
*[!0]*)
  $MULTIARCH stack affected --since "$SINCE" --quiet >"$REPORTS/all.txt"
  ;;
*)
  find config/stacks -name 'Pulumi.*.yaml' | sed -e 's#.*/Pulumi\.##' -e 's#\.yaml$##' | sort >"$REPORTS/all.txt"
  ;;
esac
: >"$REPORTS/affected.txt"
: >"$REPORTS/deleted.txt"
while IFS= read -r stack; do
  check_stack "$stack"
  if [ -e "config/stacks/Pulumi.$stack.yaml" ] || [ -e "Pulumi.$stack.yaml" ]; then
    printf '%s\n' "$stack" >>"$REPORTS/affected.txt"
  else
    say "note: the file of $stack was deleted: its resources exist until \`pulumi destroy --stack $stack\`"
    printf '%s\n' "$stack" >>"$REPORTS/deleted.txt"
  fi
done <"$REPORTS/all.txt"
rm -f -- "$REPORTS/all.txt"
cat "$REPORTS/affected.txt"
