"""``multiarch stack check`` of one stack, cold: a new process each time.

The limit is 2.5 times what ``from pydantic import BaseModel`` takes in the same run, and so the same on every
machine. Processor time is compared, because other work on the machine changes it less than wall time.
"""

from __future__ import annotations

import compileall
import os
import sys

from benchmarks.measure import BIN, ROOT, alternate, median, run, show

RUNS = 9
TIMES_PYDANTIC = 2.5


def main() -> None:
    """Print the ratio of both medians against the limit, and both times."""
    # As after the first run in a checkout: without byte code every start compiles the project.
    compileall.compile_dir(ROOT / "multiarch", quiet=2)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    pydantic = [sys.executable, "-c", "from pydantic import BaseModel"]
    check = [str(BIN / "multiarch"), "stack", "check", "payments-prod"]
    base, checks = alternate(lambda: run(pydantic, env=env), lambda: run(check, env=env), RUNS)
    for name, runs in (("import pydantic", base), ("stack check payments-prod", checks)):
        print(f"{name}, cold: {median(runs, lambda r: r.wall):.2f} s wall, {median(runs, lambda r: r.cpu):.2f} s CPU")
    ratio = median(checks, lambda r: r.cpu) / median(base, lambda r: r.cpu)
    show("stack check payments-prod, cold, CPU of import pydantic", ratio, TIMES_PYDANTIC, "times")


if __name__ == "__main__":
    main()
