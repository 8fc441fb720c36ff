#!/bin/sh
# Compare all stacks (or those given) with AWS: preview each with --refresh, and write the digest.
# Writes drift.md below REPORTS, which names the previews that failed too.
# Exit code: 0; 1 if a stack differs; 3 if a preview failed and no other stack differs; 4 if a preview failed and another
# stack differs.
. "$(dirname "$0")/common.sh"

here=$(dirname "$0")
if [ $# -eq 0 ]; then SINCE='' "$here/affected.sh" >/dev/null; else mkdir -p "$REPORTS"; fi
failed=0
PREVIEW_ARGS="--refresh ${PREVIEW_ARGS:-}" "$here/preview.sh" "$@" || failed=1
code=0
$MULTIARCH review --output markdown "$REPORTS"/previews/*.json >"$REPORTS/drift.md" || code=$?
[ "$code" -le "$failed" ] || exit 3 # 1 says that a preview failed, which is known
cat "$REPORTS/drift.md"
# A stack whose preview has any step but `same` differs from AWS, or from its file.
differs=0
python3 - "$REPORTS"/previews/*.json <<'PYTHON' || differs=$?
import json, os, sys
changed = []
for file in sys.argv[1:]:
    if os.path.exists(file.removesuffix(".json") + ".failed"):
        continue
    with open(file, encoding="utf-8") as text:
        summary = json.load(text).get("changeSummary", {})
    if set(summary) - {"same"}:
        changed.append(file)
sys.exit(1 if changed else 0)
PYTHON
[ "$differs" -le 1 ] || exit 3
[ "$failed" -eq 0 ] || exit $((3 + differs))
exit "$differs"
