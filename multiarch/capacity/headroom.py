"""Headroom: pods of low priority that hold room, which pods of workloads take over at once when nodes are lost.

kube-scheduler evicts placeholder pods for pods of a higher priority; the placeholders wait then, and the autoscaler
adds nodes for them. The cluster autoscaler adds none for pods with a priority below -10; Karpenter does not look at
priorities.
Sources: cluster autoscaler, FAQ, "How can I configure overprovisioning with Cluster Autoscaler?";
https://kubernetes.io/docs/tasks/administer-cluster/node-overprovisioning/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from multiarch.capacity.model import CapacityReport, FailureResult
from multiarch.capacity.workloads import WorkloadName, get_workload_name
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE, ZONE
from multiarch.facts.node_resources import MIB
from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import make_toleration
from multiarch.manifests import restricted
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.stack.model import Plan

NAME = "headroom"
PRIORITY = -5
"""Below the 0 of pods without a PriorityClass, and not below -10."""
IMAGE = "registry.k8s.io/pause:3.10.1"
"""It sleeps; for amd64 and arm64."""
_APP = "app.kubernetes.io/name"


@dataclass(frozen=True, slots=True)
class Headroom:
    """Placeholder pods on nodes of one architecture: each requests ``cpu`` millicores and ``memory`` bytes.

    One has room for any single pod that moves, all together for all that move in ``failure``, in which they move the
    most. ``spread`` more are there because those in a lost zone are lost too.
    """

    architecture: Architecture
    replicas: int
    spread: int
    cpu: int
    memory: int
    failure: str


def plan_headroom(plan: Plan, report: CapacityReport, pods: Iterable[Pod]) -> tuple[Headroom, ...]:
    """Return the headroom for the pods that lost zones and nodes displace, by architecture; empty where none move.

    Failures of a whole group, architecture or spot market are omitted: room for all their pods would double the
    cluster. Pods that may use both architectures count for the one that the stack prefers.
    """
    requests = {get_workload_name(pod): pod.requests for pod in pods if not pod.daemon}
    preferred = [each.architecture for each in plan.autoscaling.order] or [Architecture.ARM64]
    worst: dict[Architecture, tuple[int, int, FailureResult, list[tuple[int, ResourceAmounts]]]] = {}
    for result in report.failures:
        failure = result.failure
        if failure.groups or failure.spot or failure.architectures:
            continue
        for architecture, moved in _moved(result, requests, preferred).items():
            cpu = sum(count * each.cpu for count, each in moved)
            memory = sum(count * each.memory for count, each in moved)
            if architecture not in worst or (cpu, memory) > worst[architecture][:2]:
                worst[architecture] = cpu, memory, result, moved
    zones = plan.network.zone_count
    return tuple(_sized(architecture, *worst[architecture], zones) for architecture in sorted(worst))


def _moved(
    result: FailureResult, requests: Mapping[WorkloadName, ResourceAmounts], preferred: Iterable[Architecture]
) -> dict[Architecture, list[tuple[int, ResourceAmounts]]]:
    """Return the pods that move to nodes of each architecture: their number and what each requests."""
    found: dict[Architecture, list[tuple[int, ResourceAmounts]]] = {}
    for each in result.workloads:
        architecture = next((one for one in preferred if one in each.architectures), None)
        asked = requests.get((each.namespace, each.name))
        if each.moved and architecture and asked:
            found.setdefault(architecture, []).append((each.moved, asked))
    return found


def _sized(
    architecture: Architecture,
    cpu: int,
    memory: int,
    result: FailureResult,
    moved: list[tuple[int, ResourceAmounts]],
    zones: int,
) -> Headroom:
    one = max(each.cpu for _, each in moved), max(each.memory for _, each in moved)
    replicas = max(-(-cpu // max(one[0], 1)), -(-memory // max(one[1], 1)), 1)
    spread = -(-replicas // (zones - 1)) if zones > 1 else 0
    return Headroom(architecture, replicas, spread, max(one[0], 1), max(one[1], MIB), str(result.failure))


def build_headroom_manifests(plan: Plan, headrooms: Iterable[Headroom]) -> Iterator[dict[str, Any]]:
    """Build a Namespace, a PriorityClass, a PodDisruptionBudget, and a Deployment for each architecture.

    The budget requires no pods: placeholders may be lost at any time, and a capacity report says so.
    """
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAME, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
    yield {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": NAME},
        "value": PRIORITY,
        "globalDefault": False,
        "preemptionPolicy": "Never",
        "description": "Placeholder pods: evicted for any other pod.",
    }
    yield {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": NAME, "namespace": NAME},
        "spec": {"maxUnavailable": "100%", "selector": {"matchLabels": {_APP: NAME}}},
    }
    for each in headrooms:
        yield _deployment(plan, each)


def _deployment(plan: Plan, each: Headroom) -> dict[str, Any]:
    name = f"{NAME}-{each.architecture}"
    labels = {_APP: NAME, "app.kubernetes.io/instance": name}
    amounts = {"cpu": f"{each.cpu}m", "memory": f"{-(-each.memory // MIB)}Mi"}
    pod = {
        "priorityClassName": NAME,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "nodeSelector": {ARCHITECTURE: str(each.architecture)},
        "tolerations": [make_toleration(taint).as_dict() for taint in _taints(plan, each.architecture)],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": labels},
            }
        ],
        "securityContext": restricted.build_pod_security(),
        "containers": [restricted.build_placeholder(IMAGE, {"requests": amounts, "limits": amounts})],
    }
    if not pod["tolerations"]:
        del pod["tolerations"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAME, "labels": labels},
        "spec": {
            "replicas": each.replicas + each.spread,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _taints(plan: Plan, architecture: Architecture) -> tuple[Taint, ...]:
    """The stack's arm64 taint, where nodes of the architecture have it; taints of single groups are not tolerated."""
    taint = plan.arm64_taint
    tainted = [group.taints for group in plan.node_groups if group.architecture is architecture]
    tainted += [
        each.taints
        for each in plan.autoscaling.pools
        if any(one.architecture is architecture for one in each.capacities)
    ]
    return (taint,) if taint is not None and any(taint in each for each in tainted) else ()
