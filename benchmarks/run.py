"""Run all benchmarks, one after the other, and print their figures. ``make bench`` calls this.

Each figure is a ratio of a limit, or of another program measured in the same run. These are not tests.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

BENCHMARKS = (
    "stack_check",
    "simulate",
    "capacity",
    "audit_images",
    "webhook_load",
    "webhook_memory",
)


def main() -> None:
    """Run all benchmarks."""
    for name in BENCHMARKS:
        benchmark = importlib.import_module(f"benchmarks.{name}")
        print(f"== {name}: {(benchmark.__doc__ or '').splitlines()[0]}", flush=True)
        benchmark.main()


if __name__ == "__main__":
    main()
