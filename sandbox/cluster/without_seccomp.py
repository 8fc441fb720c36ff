"""``runc`` for containers that an emulated containerd has made: takes the seccomp profile out, and runs the real runc.

The profile is written for the emulated processor, and would stop the emulator. A program on its own: it is started for
every call of runc, by a script that names the real one first (``sandbox.cluster.containerd``).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Edit the bundle's specification before ``runc create``, then become runc."""
    runc, *arguments = sys.argv[1:]
    if "create" in arguments and "--bundle" in arguments:
        file = Path(arguments[arguments.index("--bundle") + 1]) / "config.json"
        specification = json.loads(file.read_text(encoding="utf-8"))
        specification.get("linux", {}).pop("seccomp", None)
        file.write_text(json.dumps(specification), encoding="utf-8")
    os.execv(runc, [runc, *arguments])  # noqa: S606 (no shell is wanted)


if __name__ == "__main__":
    main()
