"""The webhook's server for a minute, with registries that misbehave: what is late, lost, asked twice or leaked.

The faults of 20 minutes are compressed into the minute: see ``tests/webhook/fault_run.py``. ``SEED`` chooses others. A
review counts as late 100 ms after its deadline; the time in which the machine ran other programs is not counted.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import show
from tests.webhook.fault_run import DEADLINE, GRACE, fault_run

SECONDS = 60.0
GROWTH = 0.2
"""MB per second in the second half: bounded caches still fill, by a few entries."""


def main() -> None:
    """Print all figures, and those with a limit as ratios."""
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(fault_run(Path(folder), SECONDS, int(os.environ.get("SEED", "1"))))
    for line in figures.lines():
        print(line)
    lost = [*figures.unanswered, *figures.wrong, *figures.late, *figures.duplicates]
    for each in lost[:10]:
        print(f"  {each}")
    show("longest review but for other programs' time", figures.longest, DEADLINE + GRACE, "s")
    show("growth of memory", max(0.0, figures.growth / 1e6), GROWTH, "MB/s")
    if lost or any(figures.under_way):
        sys.exit("reviews were lost, late or wrong, or content was fetched twice")


if __name__ == "__main__":
    main()
