"""Workloads that make a failure hard: pinned, spread, kept apart, tightly packed, of unequal priority.

Every kind is a function from :class:`Ask` to the manifests of one workload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.cluster.kube import Object
from tests.cluster.scenario_pods import about_pods, preferred, required, spread
from tests.scheduling.manifests import ARM64_TOLERATION, ZONES, expression

ARCHITECTURE, ZONE, HOST = "kubernetes.io/arch", "topology.kubernetes.io/zone", "kubernetes.io/hostname"
CAPACITY = "eks.amazonaws.com/capacityType"
PRIORITY_CLASSES: Sequence[Object] = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value, **more}
    for name, value, more in (
        ("important", 1000, {}),
        ("important-that-waits", 1000, {"preemptionPolicy": "Never"}),
        ("unimportant", -5, {}),
        ("expendable", -20, {}),
    )
]
"""Priority classes of the cluster, which must be there."""
_EVERYTHING = {"operator": "Exists"}
_TOLERANT: Mapping[str, Any] = {"tolerations": [ARM64_TOLERATION]}
Make = Callable[["Ask"], list[Object]]


@dataclass(frozen=True, slots=True)
class Ask:
    """A workload's name and namespace, its pods' size (millicores, MiB), their number, and another workload's name."""

    name: str
    namespace: str
    cpu: int
    memory: int
    replicas: int
    other: str

    def container(self, **requests: str) -> Object:
        """The container, with these requests beside its CPU and memory."""
        wanted = {"cpu": f"{self.cpu}m", "memory": f"{self.memory}Mi"} | requests
        return {"name": "main", "image": "app", "resources": {"requests": wanted}}

    def deployment(self, kind: str = "Deployment", **spec: Any) -> Object:
        """The workload; ``spec`` is added to its pods'."""
        labels = {"app": self.name}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [self.container()], "terminationGracePeriodSeconds": 0, **spec},
        }
        made: Object = {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }
        if kind != "DaemonSet":
            made["spec"]["replicas"] = self.replicas
        return made


@dataclass(frozen=True, slots=True)
class Trait:
    """One kind of workload."""

    name: str
    make: Make


def _plain(**spec: Any) -> Make:
    return lambda ask: [ask.deployment(**spec)]


def _tolerant(**spec: Any) -> Make:
    return _plain(**_TOLERANT, **spec)


def _spread(*keys: str, tolerant: bool = True, **more: Any) -> Make:
    def make(ask: Ask) -> list[Object]:
        rules = [rule for key in keys for rule in spread(ask.name, key, **more)["topologySpreadConstraints"]]
        return [ask.deployment(topologySpreadConstraints=rules, **(_TOLERANT if tolerant else {}))]

    return make


def _about_pods(rule: str, key: str, *, other: bool = False, preferred: bool = False, tolerant: bool = True) -> Make:
    """Pod (anti-)affinity to the workload's own pods, or to those of another workload."""

    def make(ask: Ask) -> list[Object]:
        rules = about_pods(rule, ask.other if other else ask.name, key, preferred=preferred)
        return [ask.deployment(**rules, **(_TOLERANT if tolerant else {}))]

    return make


def _of_priority(name: str, **spec: Any) -> Make:
    return lambda ask: [ask.deployment(priorityClassName=name, **spec)]


def _agent(**spec: Any) -> Make:
    """A DaemonSet; no rule of other pods is about its pods."""

    def make(ask: Ask) -> list[Object]:
        small = Ask(f"{ask.name}-agent", ask.namespace, min(ask.cpu, 200), min(ask.memory, 256), 0, "")
        return [small.deployment("DaemonSet", **spec)]

    return make


def _sidecar(ask: Ask) -> list[Object]:
    half = Ask(ask.name, ask.namespace, ask.cpu // 2, ask.memory // 2, ask.replicas, ask.other)
    first = {**half.container(), "name": "proxy", "restartPolicy": "Always"}
    return [half.deployment(**_TOLERANT, initContainers=[first])]


def _init(ask: Ask) -> list[Object]:
    """A first container that needs more than the pod does later."""
    first = {**Ask("", "", ask.cpu * 3 // 2, ask.memory, 0, "").container(), "name": "first"}
    return [ask.deployment(initContainers=[first])]


def _without_requests(ask: Ask) -> list[Object]:
    return [ask.deployment(**_TOLERANT, containers=[{"name": "main", "image": "app"}])]


def _disk(ask: Ask) -> list[Object]:
    container = ask.container(**{"ephemeral-storage": "20Gi"})
    return [ask.deployment(**_TOLERANT, containers=[container])]


def _pod_level(ask: Ask) -> list[Object]:
    """Requests of the pod in place of its containers'."""
    container = ask.container()
    resources = container.pop("resources")
    return [ask.deployment(containers=[container], resources=resources)]


def _by_version(ask: Ask) -> list[Object]:
    (made,) = _spread(ZONE, HOST, matchLabelKeys=["version"])(ask)
    made["spec"]["template"]["metadata"]["labels"]["version"] = "2"
    return [made]


def _one_by_one(ask: Ask) -> list[Object]:
    """A StatefulSet, its pods apart."""
    (made,) = _about_pods("podAntiAffinity", HOST)(ask)
    made["kind"] = "StatefulSet"
    made["spec"]["serviceName"] = ask.name
    return [made]


_AMD, _ARM = expression(ARCHITECTURE, "In", "amd64"), expression(ARCHITECTURE, "In", "arm64")
TRAITS = (
    Trait("amd64-only", _plain()),
    Trait("either", _tolerant()),
    Trait("arm64-only", _tolerant(nodeSelector={ARCHITECTURE: "arm64"})),
    Trait("arm64-untolerated", _plain(nodeSelector={ARCHITECTURE: "arm64"})),
    Trait("likes-arm64", _tolerant(**preferred((100, _ARM)))),
    Trait("likes-amd64", _tolerant(**preferred((1, _AMD)))),
    Trait("amd64-in-zone-b-or-arm64", _tolerant(**required([_AMD, expression(ZONE, "In", ZONES[1])], [_ARM]))),
    Trait("tolerates-all", _plain(tolerations=[_EVERYTHING])),
    Trait("batch-tier", _plain(
        nodeSelector={"example.com/tier": "batch"}, tolerations=[{"key": "tier", "operator": "Exists"}]
    )),
    Trait("not-on-spot", _tolerant(**required([expression(CAPACITY, "NotIn", "SPOT")]))),
    Trait("on-demand", _tolerant(**required([expression(CAPACITY, "In", "ON_DEMAND")]))),
    Trait("pinned-to-zone", _tolerant(nodeSelector={ZONE: ZONES[1]})),
    Trait("amd64-pinned-to-zone", _plain(nodeSelector={ZONE: ZONES[0]})),
    Trait("not-in-zone", _plain(**required([expression(ZONE, "NotIn", ZONES[1])]))),
    Trait("spread-zone", _spread(ZONE)),
    Trait("amd64-spread-zone", _spread(ZONE, tolerant=False)),
    Trait("spread-zone-by-taints", _spread(ZONE, tolerant=False, nodeTaintsPolicy="Honor")),
    Trait("spread-3-zones", _spread(ZONE, minDomains=3)),
    Trait("spread-zone-softly", _spread(ZONE, action="ScheduleAnyway")),
    Trait("spread-host", _spread(HOST)),
    Trait("spread-host-by-taints", _spread(HOST, tolerant=False, nodeTaintsPolicy="Honor")),
    Trait("spread-zone-and-host", _spread(ZONE, HOST)),
    Trait("spread-architecture", _spread(ARCHITECTURE)),
    Trait("spread-by-version", _by_version),
    Trait("apart-by-host", _about_pods("podAntiAffinity", HOST)),
    Trait("amd64-apart-by-host", _about_pods("podAntiAffinity", HOST, tolerant=False)),
    Trait("apart-by-zone", _about_pods("podAntiAffinity", ZONE)),
    Trait("apart-from-other-by-host", _about_pods("podAntiAffinity", HOST, other=True)),
    Trait("apart-from-other-by-zone", _about_pods("podAntiAffinity", ZONE, other=True)),
    Trait("likes-apart", _about_pods("podAntiAffinity", HOST, preferred=True)),
    Trait("together-by-zone", _about_pods("podAffinity", ZONE)),
    Trait("together-by-host", _about_pods("podAffinity", HOST)),
    Trait("with-other-by-zone", _about_pods("podAffinity", ZONE, other=True)),
    Trait("with-other-by-host", _about_pods("podAffinity", HOST, other=True)),
    Trait("stateful", _one_by_one),
    Trait("important", _of_priority("important", **_TOLERANT)),
    Trait("important-amd64", _of_priority("important")),
    Trait("important-that-waits", _of_priority("important-that-waits")),
    Trait("unimportant", _of_priority("unimportant", **_TOLERANT)),
    Trait("expendable", _of_priority("expendable", **_TOLERANT)),
    Trait("agent", _agent(tolerations=[_EVERYTHING])),
    Trait("arm64-agent", _agent(tolerations=[_EVERYTHING], nodeSelector={ARCHITECTURE: "arm64"})),
    Trait("untolerant-agent", _agent()),
    Trait("sidecar", _sidecar),
    Trait("init-container", _init),
    Trait("without-requests", _without_requests),
    Trait("disk", _disk),
    Trait("pod-level-requests", _pod_level),
)  # fmt: skip
"""Every kind of workload there is."""
