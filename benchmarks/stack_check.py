"""``multiarch stack check`` of one stack, cold: a new process each time. Limit: 0.4 s of wall time."""

from __future__ import annotations

from benchmarks.measure import BIN, median, run, show

RUNS = 9
LIMIT_S = 0.4


def main() -> None:
    """Print the median against the limit."""
    command = [str(BIN / "multiarch"), "stack", "check", "payments-prod"]
    run(command)
    runs = [run(command) for _ in range(RUNS)]
    show("stack check payments-prod, cold, wall", median(runs, lambda r: r.wall), LIMIT_S, "s")


if __name__ == "__main__":
    main()
