"""Whether file systems of the type overlay work in a folder: not in all containers, nor on all file systems."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path


def works_in(folder: Path) -> bool:
    """Try to mount one whose layers are in ``folder``; nothing of it is left."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        lower, upper, work, merged = (Path(made, name) for name in ("lower", "upper", "work", "merged"))
        for place in (lower, upper, work, merged):
            place.mkdir()
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        # What is mounted goes away with the mount namespace.
        command = ["unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o", options, str(merged)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
