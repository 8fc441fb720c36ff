"""Previews by the script of the CI templates: 100 affected stacks side by side, and what limits them.

Some stacks are previewed one at a time and several at a time: the ratio of the rates, and the share of the machine's
processors that is used. A preview takes no lock in the state's backend, so stacks do not wait for each other. All
stacks are new: their previews show everything as created, and ask AWS for less than those of stacks that are up.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.many_stacks import write_project
from benchmarks.measure import ROOT
from sandbox import environment, project, state
from sandbox.layout import Layout

SCRIPT = ROOT / "ci" / "scripts" / "preview.sh"
FEW, MANY = 6, 100
AT_ONCE = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Rate:
    """Previews per minute, and the share of all processors that they used."""

    per_minute: float
    busy: float


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A sandbox in which nothing is up. ``environ`` leads to it."""

    layout: Layout
    environ: dict[str, str]

    def preview(self, stacks: list[str], at_once: int) -> Rate:
        """Preview stacks. Ends the benchmark if one fails."""
        with tempfile.TemporaryDirectory() as reports:
            environ = self.environ | {"JOBS": str(at_once), "REPORTS": reports}
            began, idle = time.perf_counter(), _idle()
            done = subprocess.run([SCRIPT, *stacks], cwd=self.layout.project, env=environ, check=False)
            wall = time.perf_counter() - began
            idle = _idle() - idle
        if done.returncode:
            sys.exit("the previews failed")
        return Rate(60 * len(stacks) / wall, 1 - idle / (wall * (os.cpu_count() or 1)))


def _idle() -> float:
    """Seconds that all processors together have been idle since the machine started."""
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def _sandbox(folder: Path, stacks: list[str]) -> Sandbox:
    """Start one, with an empty AWS, and make the stacks in its backend."""
    command = [sys.executable, "-m", "sandbox", "--project", str(folder)]
    subprocess.run([*command, "preview", stacks[0]], cwd=ROOT, check=True, capture_output=True)
    layout = Layout(folder)
    known = state.load(layout)
    if known.engine is None or known.server is None:
        sys.exit("the sandbox did not start")
    project.sync(layout)
    environ = environment.build(layout, known.engine, known.server.url, stacks[0], os.environ).applied_to(os.environ)
    for stack in stacks[1:]:
        made = [str(known.engine.path), "stack", "init", stack, "--no-select", "--non-interactive"]
        subprocess.run(made, cwd=layout.project, env=environ, check=True, capture_output=True)
    return Sandbox(layout, environ)


def main() -> None:
    """Print the rates, and the time of 100 stacks."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        stacks = write_project(folder, MANY)
        try:
            sandbox = _sandbox(folder, stacks)
            rates = {at_once: sandbox.preview(stacks[:FEW], at_once) for at_once in AT_ONCE}
            for at_once, rate in rates.items():
                print(
                    f"{FEW} previews, {at_once} at a time: {rate.per_minute:.1f} per minute, "
                    f"{rate.per_minute / rates[1].per_minute:.2f} times one at a time, "
                    f"processors {rate.busy:.0%} busy",
                    flush=True,
                )
            best = max(rates, key=lambda at_once: rates[at_once].per_minute)
            rate = sandbox.preview(stacks, best)
            ratio = rate.per_minute / rates[1].per_minute
            print(f"{MANY} previews, {best} at a time: {rate.per_minute:.1f} per minute, ratio {ratio:.2f}", flush=True)
        finally:
            down = [sys.executable, "-m", "sandbox", "--project", str(folder), "down", "--force"]
            subprocess.run(down, cwd=ROOT, check=False, capture_output=True)


if __name__ == "__main__":
    main()
