"""Run all benchmarks, one after the other, and print their figures. ``make bench`` calls this.

Each figure is a ratio of a limit, or of another program measured in the same run. These are not tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import (
    audit_images,
    capacity,
    many_stacks,
    rebalance,
    review,
    simulate,
    stack_check,
    verify_deep,
    verify_nodes,
    verify_pods,
    webhook_load,
    webhook_memory,
)

BENCHMARKS = (
    stack_check,
    simulate,
    capacity,
    rebalance,
    many_stacks,
    review,
    verify_deep,
    audit_images,
    verify_nodes,
    verify_pods,
    webhook_load,
    webhook_memory,
)


def main() -> None:
    """All of them."""
    for benchmark in BENCHMARKS:
        print(f"== {benchmark.__name__}: {(benchmark.__doc__ or '').splitlines()[0]}", flush=True)
        benchmark.main()


if __name__ == "__main__":
    main()
