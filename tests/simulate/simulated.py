"""Simulations as short as a test wants them: a stack's words, pods, and who gets what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.model import GroupAnswer, GroupOutcome, Simulation, WorkloadOutcome
from multiarch.simulate.simulation import simulate_nodes
from multiarch.stack.model import Plan
from tests.scheduling.manifests import ARM64_TOLERATION, ZONES, container, workload
from tests.stack.words import merged, plan

NONE: dict[str, Any] = {"nodeGroups": {"web": None, "web-arm": None}}
"""Removes the groups of the smallest stack."""
CONTROLLER: dict[str, Any] = {
    "nodeGroups": {"web": {"instanceTypes": ["t3.medium"], "minSize": 2, "maxSize": 2}, "web-arm": None}
}
TOLERANT: dict[str, Any] = {"tolerations": [ARM64_TOLERATION]}


def grown(groups: Mapping[str, Any], **words: object) -> dict[str, Any]:
    """Words of a stack whose groups the cluster autoscaler grows from ``minSize`` 0, unless written otherwise."""
    empty = {name: {"minSize": 0, "maxSize": 10, **group} for name, group in groups.items()}
    return merged(NONE, {"nodeGroups": empty, "autoscaling": {"use": "cluster-autoscaler", **words}})


def pooled(pools: Mapping[str, Any], **words: object) -> dict[str, Any]:
    """Words of a stack with Karpenter's pools, and a small group for its controller."""
    karpenter = {"amiAlias": "al2023@v20260715", "nodePools": dict(pools)}
    return merged(CONTROLLER, {"autoscaling": {"use": "karpenter", "karpenter": karpenter, **words}})


def pods(name: str = "api", count: int = 1, *, cpu: str = "1", memory: str = "1Gi", **spec: Any) -> dict[str, Any]:
    """A Deployment of pods with one container."""
    return workload(
        "Deployment", name, pod={"containers": [container({"cpu": cpu, "memory": memory})], **spec}, replicas=count
    )


_PLANS: dict[str, Plan] = {}


def planned(words: Mapping[str, Any]) -> Plan:
    """The plan of a stack: made once, because many tests are about the same one."""
    key = repr(words)
    if key not in _PLANS:
        _PLANS[key] = plan(words)
    return _PLANS[key]


def run(words: Mapping[str, Any], *documents: object, zones: Sequence[str] = ZONES) -> Simulation:
    made = planned(words)
    return simulate_nodes(
        made.autoscaling, made.node_groups, SimulationContext(tuple(zones)), read_pods(documents)
    ).simulation


def of(result: Simulation, name: str = "api") -> WorkloadOutcome:
    return next(each for each in result.workloads if each.name.endswith(f"/{name}"))


def got(result: Simulation, name: str = "api") -> dict[str, int]:
    """How many of a workload's pods each group has."""
    return {answer.group: answer.pods for answer in of(result, name).answers if answer.pods}


def answer(result: Simulation, group: str, name: str = "api") -> GroupAnswer:
    return next(each for each in of(result, name).answers if each.group == group)


def group(result: Simulation, name: str) -> GroupOutcome:
    return next(each for each in result.groups if each.name == name)
