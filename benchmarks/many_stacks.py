"""``multiarch stack render`` of 25 and 100 generated stacks on two processes.

Limits: 20 s of wall time for 100 stacks, 140 MB, and linear growth: at most 4 x 1.25 times as long as 25.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.measure import BIN, GROWTH_LIMIT, ROOT, RUNS, Run, run, show

COUNTS = (25, 100)
LIMIT_S = 20.0
MEMORY_LIMIT_MB = 140
STACK = """\
config:
  aws:region: eu-west-1
  multiarch-eks:team: team{number}
  multiarch-eks:environment: {environment}
  multiarch-eks:owner: team{number}@example.com
  multiarch-eks:costCenter: "{number}"
  multiarch-eks:network: {{cidr: 10.{number}.0.0/16, zones: {zones}}}
  multiarch-eks:nodeGroups:
    base: {{instanceTypes: [m7i.large, m6i.large], maxSize: 6}}
    arm: {{instanceTypes: [m7g.large, m6g.large], maxSize: 6, kind: {kind}}}
    batch: {{instanceTypes: [c7g.xlarge, c6g.xlarge], capacityType: spot, minSize: 0}}
"""


def write_project(folder: Path, count: int) -> list[str]:
    """Write a project with ``count`` different stacks; return their names."""
    stacks = folder / "config" / "stacks"
    stacks.mkdir(parents=True)
    for name in ("Pulumi.yaml", "__main__.py", "components", "multiarch"):
        (folder / name).symlink_to(ROOT / name)
    names = []
    for number in range(count):
        environment = ("dev", "prod")[number % 2]
        content = STACK.format(
            number=number,
            environment=environment,
            zones=2 + number % 2,
            kind=("managed", "self-managed")[number % 3 == 0],
        )
        names.append(f"team{number}-{environment}")
        (stacks / f"Pulumi.{names[-1]}.yaml").write_text(content, encoding="utf-8")
    return names


def _render(count: int) -> Run:
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        names = write_project(folder, count)
        files = [str(folder / "config" / "stacks" / f"Pulumi.{name}.yaml") for name in names]
        out = folder / "out"
        done = run([str(BIN / "multiarch"), "stack", "render", "--jobs", "2", "--directory", str(out), *files])
        written = len(list(out.iterdir()))
        shutil.rmtree(out)
        if written != count:
            raise SystemExit(f"{written} of {count} stacks were rendered")
        return done


def main() -> None:
    """Print each time, the limit, and the growth."""
    runs = {count: [_render(count) for _ in range(RUNS)] for count in COUNTS}
    few, many = (min(each.wall for each in runs[count]) for count in COUNTS)
    show(f"stack render of {COUNTS[1]} stacks on two processes, wall", many, LIMIT_S, "s")
    show("stack render, peak memory", max(each.peak_mb for each in runs[COUNTS[1]]), MEMORY_LIMIT_MB, "MB")
    show(f"growth from {COUNTS[0]} to {COUNTS[1]} stacks", many / few, GROWTH_LIMIT, "times the time")


if __name__ == "__main__":
    main()
