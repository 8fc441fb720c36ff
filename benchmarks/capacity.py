"""``multiarch capacity`` of 100 workloads in 20 failures, with 1,250, 2,500 and 5,000 pods; a new process each.

Limits for 5,000 pods: 10 s of processor time on one core, 500 MB; linear growth: four times as many pods take at most
4 x 1.25 times as long. Where each workload has another priority, pods displace each other: limit 30 s.

Then the change that ``--recommend`` finds for 5,000 pods of 20 teams, each with a node group of its own, in which so
many of its pods fit a node: the least that a change can cost is known. Limit: 5 % above it.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from math import ceil
from pathlib import Path
from typing import Any

from benchmarks.measure import BIN, median, run, show, show_growth
from benchmarks.stacks import pod_spec, write_stack

COUNTS = (1_250, 2_500, 5_000)
WORKLOADS = 100
FAILURES = 20
LIMIT_S = 10.0
PRIORITIES_LIMIT_S = 30.0
MEMORY_LIMIT_MB = 500
GROWTH_LIMIT = 5.0
RUNS = 3
TEAMS = 20
TEAM_ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
TEAM_MILLICORES = 7910
"""What a node of m7i.2xlarge has for pods."""
OPTIMUM_LIMIT = 1.05
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
    """A stack whose groups are too small for some failures."""
    groups = KARPENTER if autoscaler == "karpenter" else GROUPS.replace("MOST", str(max(pods // 30, 8)))
    return write_stack(folder / f"{pods}", autoscaler, groups)


def _workload(number: int, replicas: int, *, priorities: bool) -> list[dict[str, Any]]:
    """A Deployment and its budget."""
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
    return _written(folder / f"workloads-{pods}-{priorities}.json", items)


def _written(file: Path, items: list[dict[str, Any]]) -> Path:
    file.write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
    return file


def _failures() -> list[str]:
    """Twenty failures: zones, architectures and nodes, alone and together."""
    single = ["zone=1", "zone=2", "zone=3", "architecture=amd64", "architecture=arm64", "spot=arm64"]
    sizes = [f"largest={count}" for count in (1, 2, 3, 5, 8)]
    both = [f"zone={zone},{other}" for zone in "123" for other in ("spot=arm64", "largest=2", "architecture=arm64")]
    chosen = [*single, *sizes, *both][:FAILURES]
    return [argument for each in chosen for argument in ("--failure", each)]


def _command(folder: Path, autoscaler: str, pods: int, *, priorities: bool = False) -> list[str]:
    stack, workloads = _stack(folder, autoscaler, pods), _workloads(folder, pods, priorities=priorities)
    command = [str(BIN / "multiarch"), "capacity", str(stack), "--workloads", str(workloads), "--output", "json"]
    # It ends with 1, because some workloads are short.
    return ["sh", "-c", '"$@" >/dev/null 2>&1; test $? -lt 2', "sh", *command, *_failures()]


def _teams(folder: Path) -> tuple[list[str], int]:
    """The command that recommends a change for all teams, and the vCPUs that the cheapest change adds."""
    groups, items, nodes = ["    base: {instanceTypes: [m7i.large], minSize: 3, maxSize: 3}"], [], 0
    replicas = COUNTS[-1] // TEAMS
    for number in range(TEAMS):
        team, on_node = f"t{number}", (5, 8, 11, 14)[number % 4]
        taint = f"labels: {{team: {team}}}, taints: ['team={team}:NoSchedule']"
        sizes = "instanceTypes: [m7i.2xlarge], minSize: 0, maxSize: 1, maxPods: 16, onePerZone: true"
        groups.append(f"    {team}: {{{sizes}, {taint}}}")
        requests = {"cpu": f"{TEAM_MILLICORES // on_node - 50}m", "memory": "64Mi"}
        spec = {
            "containers": [{"name": "a", "image": "a", "resources": {"requests": requests}}],
            "nodeSelector": {"team": team},
            "tolerations": [{"key": "team", "operator": "Equal", "value": team, "effect": "NoSchedule"}],
        }
        template = {"metadata": {"labels": {"app": team}}, "spec": spec}
        metadata = {"name": team, "namespace": "bench"}
        items.append({"kind": "Deployment", "metadata": metadata, "spec": {"replicas": replicas, "template": template}})
        # The nodes of two zones hold all pods.
        nodes += max(0, ceil(ceil(replicas / on_node) / (len(TEAM_ZONES) - 1)) - 1) * len(TEAM_ZONES)
    others = [
        "  multiarch-eks:autoscaling: {use: cluster-autoscaler}",
        "  multiarch-eks:addons: {vpcCni: {prefixDelegation: true}}",
    ]
    network = f"{{cidr: 10.0.0.0/16, zones: [{', '.join(TEAM_ZONES)}]}}"
    stack = write_stack(folder / "teams", "cluster-autoscaler", "\n".join((*groups, *others, "")), network=network)
    workloads = _written(folder / "teams.json", items)
    failures = [each for zone in TEAM_ZONES for each in ("--failure", f"zone={zone}")]
    command = [str(BIN / "multiarch"), "capacity", str(stack), "--workloads", str(workloads), "--recommend"]
    return [*command, "--output", "json", *failures], nodes * 8


def _recommend(folder: Path) -> None:
    command, optimum = _teams(folder)
    started = time.monotonic()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    found = json.loads(ran.stdout)["recommendation"]
    cost, bound = (int(found[key]["atMost"]) for key in ("cost", "bound"))
    print(f"recommendation for {COUNTS[-1]} pods of {TEAMS} teams: {seconds:.1f} s, {cost} vCPU, bound {bound}")
    show("recommendation above the optimum", cost / optimum, OPTIMUM_LIMIT, "times its cost")


def main() -> None:
    """Print each time and the peak memory against the limits, and the growth; then the recommendation."""
    with tempfile.TemporaryDirectory() as text:
        for autoscaler in ("cluster-autoscaler", "karpenter"):
            commands = {pods: _command(Path(text), autoscaler, pods) for pods in COUNTS}
            runs = {pods: [run(command) for _ in range(RUNS)] for pods, command in commands.items()}
            times = {pods: median(each, lambda r: r.cpu) for pods, each in runs.items()}
            for pods, seconds in times.items():
                print(f"capacity of {pods} pods in {FAILURES} failures, {autoscaler}: {seconds:.2f} s", flush=True)
            many = COUNTS[-1]
            show(f"capacity of {many} pods, {autoscaler}", times[many], LIMIT_S, "s of processor time")
            show(f"capacity of {many} pods, peak memory", max(r.peak_mb for r in runs[many]), MEMORY_LIMIT_MB, "MB")
            important = run(_command(Path(text), autoscaler, many, priorities=True))
            show(
                f"capacity of {many} pods with priorities, {autoscaler}",
                important.cpu,
                PRIORITIES_LIMIT_S,
                "s of processor time",
            )
            show_growth("pods", times, GROWTH_LIMIT)
        _recommend(Path(text))


if __name__ == "__main__":
    main()
