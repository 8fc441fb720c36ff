#!/bin/sh
# github-summary.sh TITLE FILE…: put reports on the page of the workflow's run. Files that don't exist are left out.
# A step's summary may have 1 MiB: of each file the first 200 KB are shown, in whole lines.
set -eu

title=$1
shift
{
  [ -z "$title" ] || printf '## %s\n\n' "$title"
  for file; do
    [ -s "$file" ] || continue
    case $file in
    *.md) open='' close='' ;;
    *) open='````diff' close='````' ;;
    esac
    printf '%s\n' "$open"
    head -c 200000 "$file" | sed '$!b;/^$/d'
    printf '\n%s\n\n' "$close"
    [ "$(wc -c <"$file")" -le 200000 ] || printf 'The rest is in the artifact.\n\n'
  done
} >>"$GITHUB_STEP_SUMMARY"
