"""Run a command and measure wall time, processor time and peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
GROWTH_LIMIT = 5.0
"""Four times as many may take that many times as long: a quarter more is noise."""
_KIB_PER_MB = 1000 * 1000 / 1024


@dataclass(frozen=True, slots=True)
class Run:
    """One finished run: seconds, and the peak resident memory of the process in MB (10**6 bytes)."""

    wall: float
    cpu: float
    peak_mb: float


def run(command: Sequence[str], *, env: Mapping[str, str] | None = None) -> Run:
    """Run ``command``. Exits the benchmark with the command's output if it fails."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=ROOT, env=dict(env or os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        output = process.stdout.read() if process.stdout else b""
        # wait4 reports this child's usage; resource.getrusage adds up all children so far.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed with exit code {process.returncode}:\n{output.decode(errors='replace')}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / _KIB_PER_MB)


def show(name: str, value: float, limit: float, unit: str) -> None:
    """Print one figure as a ratio of its limit: up to 1.00 is within the limit."""
    print(f"{name}: {value:.2f} {unit}, limit {limit:g} {unit}, ratio {value / limit:.2f}", flush=True)


def show_sizes(name: str, noun: str, runs: Mapping[int, Run], *, cpu: float, memory: float) -> None:
    """Print the processor time of each count of ``noun``, and the largest count's and the growth against limits."""
    for count, each in runs.items():
        print(f"{name} of {count} {noun}: {each.cpu:.2f} s", flush=True)
    few, many = min(runs), max(runs)
    show(f"{name} of {many} {noun}", runs[many].cpu, cpu, "s of processor time")
    show(f"{name} of {many} {noun}, peak memory", runs[many].peak_mb, memory, "MB")
    show(f"growth from {few} to {many} {noun}", runs[many].cpu / runs[few].cpu, GROWTH_LIMIT, "times the time")
