"""``multiarch stack check`` of one stack, cold: a new process each time.

The limit is 2.5 times what ``from pydantic import BaseModel`` takes in the same run, and so the same on every
machine. Processor time is compared, because other work on the machine changes it less than wall time.
"""

from __future__ import annotations

import compileall
import os
import statistics
import sys

from benchmarks.measure import BIN, ROOT, run, show

RUNS = 9
TIMES_PYDANTIC = 2.5


def main() -> None:
    """Print the ratio of both medians against the limit, and both times."""
    # As after the first run in a checkout: without byte code every start compiles the project.
    compileall.compile_dir(ROOT / "multiarch", quiet=2)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    pydantic = [sys.executable, "-c", "from pydantic import BaseModel"]
    check = [str(BIN / "multiarch"), "stack", "check", "payments-prod"]
    # Alternately, so that load on the machine affects both; the first of each warms the caches up.
    pairs = [(run(pydantic, env=env).cpu, run(check, env=env).cpu) for _ in range(1 + RUNS)][1:]
    base, checks = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"cold, CPU: import pydantic {base:.2f} s, stack check payments-prod {checks:.2f} s")
    show("stack check payments-prod, cold, CPU of import pydantic", checks / base, TIMES_PYDANTIC, "times")


if __name__ == "__main__":
    main()
