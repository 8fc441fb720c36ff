#!/bin/sh
# Compare all stacks (or those given) with AWS: preview each with --refresh, and write the digest.
# Writes drift.md below REPORTS. Exit code: 0; 1 if anything differs; 3 if a preview failed.
. "$(dirname "$0")/common.sh"

here=$(dirname "$0")
if [ $# -eq 0 ]; then SINCE='' "$here/affected.sh" >/dev/null; else mkdir -p "$REPORTS"; fi
failed=0
PREVIEW_ARGS="--refresh ${PREVIEW_ARGS:-}" "$here/preview.sh" "$@" || failed=1
# Its exit code says that a preview failed, which is known.
$MULTIARCH review --output markdown "$REPORTS"/previews/*.json >"$REPORTS/drift.md" || [ "$failed" -eq 1 ] || exit 3
cat "$REPORTS/drift.md"
[ "$failed" -eq 0 ] || exit 3
# A stack whose preview has any step but `same` differs from AWS, or from its file.
python3 - "$REPORTS"/previews/*.json <<'PYTHON'
import json, sys
changed = []
for file in sys.argv[1:]:
    with open(file, encoding="utf-8") as text:
        summary = json.load(text).get("changeSummary", {})
    if set(summary) - {"same"}:
        changed.append(file)
sys.exit(1 if changed else 0)
PYTHON
