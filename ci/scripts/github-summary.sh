#!/bin/sh
# github-summary.sh TITLE FILE…: put reports on the page of the workflow's run. Files that don't exist are omitted.
# A step's summary may have 1 MiB, and is not shown at all if it is longer: the files share 900 KB, in whole lines.
set -eu

title=$1
shift
limit=$((900000 / ($# > 0 ? $# : 1)))
{
  [ -z "$title" ] || printf '## %s\n\n' "$title"
  for file; do
    [ -s "$file" ] || continue
    case $file in
    *.md) open='' close='' ;;
    *) open='````diff' close='````' ;;
    esac
    printf '%s\n' "$open"
    if [ "$(wc -c <"$file")" -le "$limit" ]; then
      cat "$file"
      printf '\n%s\n\n' "$close"
    else
      head -c "$limit" "$file" | sed '$d'
      printf '\n%s\n\nThe rest is in the artifact.\n\n' "$close"
    fi
  done
} >>"$GITHUB_STEP_SUMMARY"
