"""Complete the preview of a stack that failed, so that the digest shows it: ``failed_preview.py STACK JSON LOG``.

An engine that fails before its first step, for want of credentials, writes nothing to standard output, or JSON that
does not say of which stack it is; one that is killed leaves JSON that is cut off. The message is then the end of what
it wrote to standard error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

LINES = 20


def main() -> None:
    """Run the command line."""
    stack, file, log = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    try:
        preview = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        preview = None
    if not isinstance(preview, dict):
        preview = {}
    team, _, environment = stack.rpartition("-")
    if not preview.get("steps"):
        preview["steps"] = []
        preview["config"] = {"multiarch-eks:team": team, "multiarch-eks:environment": environment}
    diagnostics = preview.setdefault("diagnostics", [])
    if not any(each.get("severity") == "error" for each in diagnostics):
        written = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        said = "\n".join(written.splitlines()[-LINES:])
        text = said or "The preview failed, and said nothing."
        diagnostics.append({"severity": "error", "message": text if text.startswith("error: ") else f"error: {text}"})
    file.write_text(json.dumps(preview), encoding="utf-8")


if __name__ == "__main__":
    main()
