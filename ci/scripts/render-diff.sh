#!/bin/sh
# Show how this change alters what the stacks declare, without credentials: safe for forks.
# SINCE is the commit to compare with. Writes render.diff below REPORTS.
# A stack that can't be rendered at SINCE, or now, is named; `check.sh` says what is wrong with it.
. "$(dirname "$0")/common.sh"
need SINCE

mkdir -p "$REPORTS"
work=$(mktemp -d)
trap 'git worktree remove --force "$work/before" 2>/dev/null || :; rm -rf -- "$work"' EXIT
here=$(pwd)
case $MULTIARCH in */*) MULTIARCH=$(cd "$(dirname "$MULTIARCH")" && pwd)/$(basename "$MULTIARCH") ;; esac
git worktree add --quiet --detach "$work/before" "$SINCE" || fail "the commit $SINCE can't be read: fetch it (GIT_DEPTH)"

# Each side is rendered by its own components, with the packages and the command line that are installed.
for side in before after; do
  if [ "$side" = before ]; then cd "$work/before"; else cd "$here"; fi
  mkdir "$work/$side-files"
  PYTHONPATH=$(pwd) $MULTIARCH stack render --directory "$work/$side-files" >/dev/null ||
    say "note: some stacks can't be rendered $side the change"
done
cd "$work"
diff -ruN before-files after-files >"$work/diff" || :
cd "$here"
sed -e 's#^\(---\|+++\) \(before\|after\)-files/#\1 \2/#' -e 's#^\(---\|+++\) \([^\t]*\)\t.*#\1 \2#' -e '/^diff -ruN/d' "$work/diff" >"$REPORTS/render.diff"
if [ -s "$REPORTS/render.diff" ]; then
  cat "$REPORTS/render.diff"
else
  say "The change alters nothing of what the stacks declare."
fi
