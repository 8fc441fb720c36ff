"""``multiarch stack render`` against ``pulumi preview`` of the same stack in the sandbox, both cold, in turn.

Limits: half of the preview's wall time; 140 MB. The time to start the sandbox is not part of the preview.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from benchmarks.measure import BIN, ROOT, Run, alternate, median, run, show

STACK = "payments-prod"
RUNS = 5
RATIO_LIMIT = 0.5
MEMORY_LIMIT_MB = 140


def _sandbox(*arguments: str) -> str:
    command = [str(BIN / "python"), "-m", "sandbox", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _environment() -> dict[str, str]:
    """The environment variables that ``python -m sandbox env`` exports."""
    script = f"{_sandbox('env', STACK)}\nenv -0"
    found = subprocess.run(["sh", "-c", script], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return dict(line.split("=", 1) for line in found.split("\0") if "=" in line)


def main() -> None:
    """Start the sandbox, measure, print, and stop it again if it was not running before."""
    was_up = (ROOT / ".sandbox").exists()
    _sandbox("up", STACK)
    try:
        env = os.environ | _environment()
        with tempfile.TemporaryDirectory() as folder:
            compare(env, Path(folder))
    finally:
        if not was_up:
            _sandbox("down")


def compare(env: dict[str, str], folder: Path) -> None:
    """Run both alternately and print the figures."""

    def render() -> Run:
        return run([str(BIN / "multiarch"), "stack", "render", STACK, "--directory", str(folder)])

    def preview() -> Run:
        return run(["pulumi", "preview", "--stack", STACK, "--non-interactive", "--expect-no-changes"], env=env)

    renders, previews = alternate(render, preview, RUNS)
    ratio = median(renders, lambda r: r.wall) / median(previews, lambda r: r.wall)
    print(f"stack render {STACK}, cold, wall: {median(renders, lambda r: r.wall):.2f} s")
    print(f"pulumi preview {STACK}, cold, wall: {median(previews, lambda r: r.wall):.2f} s")
    show("render / preview", ratio, RATIO_LIMIT, "of preview")
    show(f"stack render {STACK}, peak memory", max(r.peak_mb for r in renders), MEMORY_LIMIT_MB, "MB")


if __name__ == "__main__":
    main()
