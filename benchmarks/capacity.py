"""``multiarch capacity`` of 100 workloads in 20 failures, with 1,250, 2,500 and 5,000 pods; a new process each.

Limits for 5,000 pods: 10 s of processor time on one core, 500 MB; linear growth: four times as many pods take at most
4 x 1.25 times as long. Where each workload has another priority, pods displace each other: limit 30 s.
What ``--recommend`` finds is measured by tests: ``tests/capacity``.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import BIN, run, show, show_sizes
from benchmarks.stacks import pod_spec, write_stack

COUNTS = (1_250, 2_500, 5_000)
WORKLOADS = 100
FAILURES = 20
LIMIT_S = 10.0
PRIORITIES_LIMIT_S = 30.0
MEMORY_LIMIT_MB = 500
KARPENTER = """\
    base: {instanceTypes: [m7i.large], minSize: 3, maxSize: 3}
  multiarch-eks:autoscaling:
    use: karpenter
    karpenter: {nodePools: {a: {}, b: {minGeneration: 6}, c: {minGeneration: 7, capacityTypes: [on-demand]}}}
"""
GROUPS = """\
    amd: {instanceTypes: [m7i.2xlarge], minSize: 6, maxSize: MOST, onePerZone: false}
    arm: {instanceTypes: [m7g.2xlarge], minSize: 6, maxSize: MOST, onePerZone: false}
    spot: {instanceTypes: [m7g.4xlarge, m6g.4xlarge], capacityType: spot, minSize: 0, maxSize: MOST, onePerZone: false}
  multiarch-eks:autoscaling: {use: cluster-autoscaler}
"""


def _stack(folder: Path, autoscaler: str, pods: int) -> Path:
    """Return a stack whose groups are too small for some failures."""
    groups = KARPENTER if autoscaler == "karpenter" else GROUPS.replace("MOST", str(max(pods // 30, 8)))
    return write_stack(folder / f"{pods}", autoscaler, groups)


def _workload(number: int, replicas: int, *, priorities: bool) -> list[dict[str, Any]]:
    """Return a Deployment and its budget."""
    name = f"w{number}"
    selector = {"matchLabels": {"app": name}}
    metadata = {"name": name, "namespace": "bench"}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(number, sizes=10)}
    if priorities:
        template["spec"]["priority"] = number * 37 % WORKLOADS
    budget = {"minAvailable": "80%", "selector": selector}
    return [
        {"kind": "Deployment", "metadata": metadata, "spec": {"replicas": replicas, "template": template}},
        {"kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget},
    ]


def _workloads(folder: Path, pods: int, *, priorities: bool = False) -> Path:
    numbers = range(WORKLOADS)
    items = [each for number in numbers for each in _workload(number, pods // WORKLOADS, priorities=priorities)]
    file = folder / f"workloads-{pods}-{priorities}.json"
    file.write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
    return file


def _failures() -> list[str]:
    """Return twenty failures: zones, architectures and nodes, alone and together."""
    single = ["zone=1", "zone=2", "zone=3", "architecture=amd64", "architecture=arm64", "spot=arm64"]
    sizes = [f"largest={count}" for count in (1, 2, 3, 5, 8)]
    both = [f"zone={zone},{other}" for zone in "123" for other in ("spot=arm64", "largest=2", "architecture=arm64")]
    chosen = [*single, *sizes, *both][:FAILURES]
    return [argument for each in chosen for argument in ("--failure", each)]


def _command(folder: Path, autoscaler: str, pods: int, *, priorities: bool = False) -> list[str]:
    stack, workloads = _stack(folder, autoscaler, pods), _workloads(folder, pods, priorities=priorities)
    command = [str(BIN / "multiarch"), "capacity", str(stack), "--manifests", str(workloads), "--output", "json"]
    # It ends with 1, because some workloads are short.
    return ["sh", "-c", '"$@" >/dev/null 2>&1; test $? -lt 2', "sh", *command, *_failures()]


def main() -> None:
    """Print each time and the peak memory against the limits, and the growth."""
    with tempfile.TemporaryDirectory() as text:
        for autoscaler in ("cluster-autoscaler", "karpenter"):
            runs = {pods: run(_command(Path(text), autoscaler, pods)) for pods in COUNTS}
            show_sizes(f"capacity, {autoscaler},", "pods", runs, cpu=LIMIT_S, memory=MEMORY_LIMIT_MB)
            important = run(_command(Path(text), autoscaler, COUNTS[-1], priorities=True))
            name = f"capacity of {COUNTS[-1]} pods with priorities, {autoscaler}"
            show(name, important.cpu, PRIORITIES_LIMIT_S, "s of processor time")


if __name__ == "__main__":
    main()
