"""Let an update follow its plan where only ignored properties have changed since: ``ignored_changes.py PLAN``.

A plan has the number of nodes of a group whose other sizes it changes. The program ignores that number, and an
autoscaler changes it while the plan waits for its approval; the engine would then reject the update. Every ignored part
of a property that the plan changes becomes unknown, which the engine takes as any value. All else stays as it is.
Source: pulumi/pulumi, pkg/resource/deploy/plan.go (checkDiff) and pkg/resource/stack/deployment.go.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What the engine writes in the place of a value that is known only during the update."""


def release(plan: dict[str, Any]) -> list[str]:
    """Make the ignored parts of changed properties unknown; returns where, as ``URN path``."""
    released = []
    for urn, resource in plan.get("resourcePlans", {}).items():
        goal = resource.get("goal") or {}
        updates = (goal.get("inputDiff") or {}).get("updates") or {}
        for path in goal.get("ignoreChanges") or ():
            *above, last = path.split(".")
            holder: Any = updates
            for key in above:
                holder = holder.get(key) if isinstance(holder, dict) else None
            if above and isinstance(holder, dict) and last in holder:
                holder[last] = UNKNOWN
                released.append(f"{urn} {path}")
    return released


def main() -> None:
    """Run the command line."""
    file = Path(sys.argv[1])
    plan = json.loads(file.read_text(encoding="utf-8"))
    for place in release(plan):
        print(f"note: the update takes any value of {place}", file=sys.stderr)
    file.write_text(json.dumps(plan), encoding="utf-8")


if __name__ == "__main__":
    main()
