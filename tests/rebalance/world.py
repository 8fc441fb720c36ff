"""A stand-in for a cluster with controllers, a scheduler and a disruption controller, in memory and with its own time.

It shows what a run does when calls fail at the worst moment, thousands of times in a second; ``tests/cluster`` runs
the same on a real control plane.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from multiarch.facts.rebalance import CORDON_ANNOTATION, LEASE, LEASE_NAMESPACE, PLACEHOLDER_NAMESPACE
from multiarch.kubernetes.errors import ClusterError, ConflictError
from multiarch.kubernetes.resources import DISRUPTION_BUDGETS, LEASES, NODES, PODS, ApiResource
from multiarch.kubernetes.source import LoadedObject, Source
from multiarch.manifests.label_query import parse_label_query
from tests.rebalance.objects import Object, apply, become_ready, is_ready, owner

Found = TypeVar("Found")
START = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
NAMESPACE = "shop"
TOLERATION = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


class KilledError(BaseException):
    """The process ends here: nothing after it runs."""


@dataclass
class World:
    """The cluster, and the clock of the run. ``pick`` chooses a node for a new pod, or None.

    ``before`` and ``after`` are called with the number and the name of each call, before and after it takes effect.
    An autoscaler adds an arm64 node for a pod that needs one and has waited for ``node_after`` seconds.
    ``still``: nothing happens between calls.
    """

    nodes: dict[str, Object] = field(default_factory=dict)
    pods: dict[str, Object] = field(default_factory=dict)
    controllers: dict[str, Object] = field(default_factory=dict)
    budgets: list[Object] = field(default_factory=list)
    leases: dict[str, Object] = field(default_factory=dict)
    seconds: float = 0.0
    ready_after: float = 5.0
    pick: Callable[[World, Object], str | None] = field(default_factory=lambda: first_with_room)
    before: Callable[[int, str], None] = lambda _number, _name: None
    after: Callable[[int, str], None] = lambda _number, _name: None
    at: dict[float, Callable[[World], None]] = field(default_factory=dict)
    node_after: float = float("inf")
    stop_at: float = float("inf")
    name: str = "here"
    calls: int = 0
    evicted: list[str] = field(default_factory=list)
    fewest_ready: dict[str, int] = field(default_factory=dict)
    dead: bool = False
    still: bool = False
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    # The clock.

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def elapsed(self) -> float:
        return self.seconds

    def wait(self, seconds: float) -> bool:
        if self.seconds >= self.stop_at:
            return True
        self.sleep(min(seconds, max(0.0, self.stop_at - self.seconds)))
        return self.seconds >= self.stop_at

    def sleep(self, seconds: float) -> None:
        if self.dead:
            raise KilledError
        end = self.seconds + seconds
        while self.seconds < end:
            self.seconds = min(end, self.seconds + 1)
            for moment in sorted(each for each in self.at if each <= self.seconds):
                self.at.pop(moment)(self)
            self.step()

    # The controllers.

    def step(self) -> None:
        for name, pod in list(self.pods.items()):
            metadata = pod["metadata"]
            if "deletionTimestamp" in metadata and self.seconds >= pod["gone"]:
                del self.pods[name]
        for controller in list(self.controllers.values()):
            self._replace(controller)
        for pod in self.pods.values():
            if not pod["spec"].get("nodeName"):
                node = self.pick(self, pod) or self._added(pod)
                if node is not None:
                    pod["spec"]["nodeName"] = node
                    pod["bound"] = self.seconds
            elif self.seconds >= pod["bound"] + pod["slow"]:
                become_ready(pod)
        for budget in self.budgets:
            ready = len([each for each in self._selected(budget) if is_ready(each)])
            budget["status"]["disruptionsAllowed"] = max(0, ready - budget["spec"]["minAvailable"])
            name = budget["metadata"]["name"]
            self.fewest_ready[name] = min(ready, self.fewest_ready.get(name, ready))

    def _added(self, pod: Object) -> str | None:
        since = pod.setdefault("since", self.seconds)
        wanted = pod["spec"].get("nodeSelector", {}).get("kubernetes.io/arch")
        if wanted != "arm64" or self.seconds - since < self.node_after:
            return None
        name = f"arm64-new-{next(self.numbers)}"
        self.add_node(name, "arm64", room=2, group="web-arm-00")
        return name

    def _replace(self, controller: Object) -> None:
        kind, metadata = controller["kind"], controller["metadata"]
        mine = [each for each in self.pods.values() if owner(each) == metadata["uid"]]
        living = [each for each in mine if "deletionTimestamp" not in each["metadata"]]
        if kind == "StatefulSet":
            names = [f"{metadata['name']}-{number}" for number in range(controller["spec"]["replicas"])]
            for name in names:
                if all(each["metadata"]["name"] != name for each in mine):
                    self.add_pod(controller, name)
                    return
        elif len(living) < controller["spec"]["replicas"]:
            self.add_pod(controller, f"{metadata['name']}-{next(self.numbers)}")

    def _selected(self, budget: Object) -> list[Object]:
        wanted = budget["spec"]["selector"]["matchLabels"]
        return [each for each in self.pods.values() if wanted.items() <= each["metadata"]["labels"].items()]

    # Building it.

    def add_node(self, name: str, architecture: str, *, room: int = 10, group: str = "") -> None:
        labels = {"kubernetes.io/arch": architecture, "kubernetes.io/os": "linux", "eks.amazonaws.com/nodegroup": group}
        self.nodes[name] = {
            "kind": "Node",
            "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": labels},
            "spec": {},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "allocatable": {"cpu": str(room), "memory": f"{room}Gi", "pods": str(room)},
            },
        }
        if architecture == "arm64":
            self.nodes[name]["spec"]["taints"] = [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}]

    def add_workload(self, app: str, on: Sequence[str], *, kind: str = "ReplicaSet", **spec: Any) -> None:
        uid = f"uid-{kind}-{app}"
        controller = {
            "kind": kind,
            "metadata": {"name": app, "namespace": NAMESPACE, "uid": uid},
            "spec": {"replicas": len(on), "selector": {"matchLabels": {"app": app}}, "template": {"spec": spec}},
            "status": {},
        }
        self.controllers[uid] = controller
        for number, node in enumerate(on):
            pod = self.add_pod(controller, f"{app}-{number}")
            pod["spec"]["nodeName"] = node
            pod["bound"] = -1000.0
            become_ready(pod)

    def add_pod(self, controller: Object, name: str) -> Object:
        metadata = controller["metadata"]
        self.pods[name] = {
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-{name}-{next(self.numbers)}",
                "labels": dict(controller["spec"]["selector"]["matchLabels"]),
                "ownerReferences": [
                    {"kind": controller["kind"], "name": metadata["name"], "uid": metadata["uid"], "controller": True}
                ],
            },
            "spec": {
                "containers": [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}],
                "tolerations": [TOLERATION],
                "terminationGracePeriodSeconds": 3,
                **copy.deepcopy(controller["spec"]["template"]["spec"]),
            },
            "status": {"phase": "Pending", "conditions": []},
            "slow": self.ready_after,
        }
        return self.pods[name]

    def add_budget(self, app: str, at_least: int) -> None:
        self.budgets.append(
            {
                "kind": "PodDisruptionBudget",
                "metadata": {"name": app, "namespace": NAMESPACE, "uid": f"uid-{app}"},
                "spec": {"minAvailable": at_least, "selector": {"matchLabels": {"app": app}}},
                "status": {},
            }
        )
        self.step()

    # What is seen of it.

    @property
    def cordoned(self) -> list[str]:
        return sorted(
            name
            for name, node in self.nodes.items()
            if node["spec"].get("unschedulable") or CORDON_ANNOTATION in (node["metadata"].get("annotations") or {})
        )

    @property
    def holder(self) -> str:
        return str(self.leases.get(LEASE, {}).get("spec", {}).get("holderIdentity", ""))

    @property
    def placeholders(self) -> list[str]:
        return [
            name
            for name, pod in self.pods.items()
            if pod["metadata"]["namespace"] == PLACEHOLDER_NAMESPACE and "deletionTimestamp" not in pod["metadata"]
        ]

    def places(self, app: str) -> list[str]:
        return sorted(
            str(each["spec"].get("nodeName"))
            for each in self.pods.values()
            if each["metadata"]["labels"].get("app") == app and "deletionTimestamp" not in each["metadata"]
        )

    # The API, as multiarch.kubernetes.cluster.KubernetesCluster offers it.

    def _call(self, name: str, do: Callable[[], Found]) -> Found:
        if self.dead:
            raise KilledError
        self.calls += 1
        number = self.calls
        self.before(number, name)
        try:
            found = copy.deepcopy(do())
        finally:
            if not self.still:
                self.step()
        self.after(number, name)
        return found

    def objects(
        self,
        kinds: Iterable[ApiResource],
        *,
        namespaces: Sequence[str] | None = None,
        selector: str = "",
        fields: str = "",
    ) -> Iterator[LoadedObject]:
        assert namespaces in (None, [NAMESPACE], [PLACEHOLDER_NAMESPACE])
        assert not fields or fields == "status.phase!=Succeeded,status.phase!=Failed"
        wanted = parse_label_query(selector)

        def listed() -> list[Object]:
            found: list[Object] = []
            for kind in kinds:
                found += [each for each in self._all(kind) if wanted.matches(each["metadata"].get("labels") or {})]
            return [each for each in found if namespaces is None or each["metadata"]["namespace"] in namespaces]

        for each in self._call("list", listed):
            value = {key: part for key, part in each.items() if key not in ("gone", "bound", "slow", "since")}
            yield LoadedObject(value, Source("cluster here"))

    def _all(self, resource: ApiResource) -> list[Object]:
        if resource is NODES:
            return list(self.nodes.values())
        if resource is PODS:
            return list(self.pods.values())
        if resource is DISRUPTION_BUDGETS:
            return self.budgets
        return [each for each in self.controllers.values() if each["kind"] == resource.kind]

    def get(self, resource: ApiResource, namespace: str | None, name: str) -> Object | None:
        return self._call("get", lambda: self._one(resource, namespace, name))

    def _one(self, resource: ApiResource, namespace: str | None, name: str) -> Object | None:
        if resource is LEASES:
            assert namespace == LEASE_NAMESPACE
            return self.leases.get(name)
        assert (namespace is not None) == resource.namespaced
        return next((each for each in self._all(resource) if each["metadata"]["name"] == name), None)

    def create(self, resource: ApiResource, namespace: str | None, value: Mapping[str, Any]) -> None:
        name, made = value["metadata"]["name"], copy.deepcopy(dict(value))
        made["metadata"]["resourceVersion"] = "1"

        def do() -> None:
            assert namespace == (LEASE_NAMESPACE if resource is LEASES else PLACEHOLDER_NAMESPACE)
            there = self.leases if resource is LEASES else self.pods
            if name in there:
                raise ConflictError("there is one")
            if resource is not LEASES:
                made["metadata"]["uid"] = f"uid-{name}"
                made.update(slow=1.0, status={"phase": "Pending", "conditions": []})
            there[name] = made

        self._call("create", do)

    def patch(
        self, resource: ApiResource, namespace: str | None, name: str, operations: Sequence[Mapping[str, Any]]
    ) -> None:
        def do() -> None:
            value = self._one(resource, namespace, name)
            if value is None:
                raise ConflictError("deleted")
            assert {**operations[0], "value": ""} == {"op": "test", "path": "/metadata/resourceVersion", "value": ""}
            if operations[0]["value"] != value["metadata"]["resourceVersion"]:
                raise ConflictError("changed")
            for each in operations[1:]:
                apply(value, each)
            value["metadata"]["resourceVersion"] = str(int(value["metadata"]["resourceVersion"]) + 1)

        self._call(f"patch {resource.kind}", do)

    def delete(self, resource: ApiResource, namespace: str | None, name: str) -> None:
        def do() -> None:
            assert (resource.kind, namespace) == ("Pod", PLACEHOLDER_NAMESPACE)
            pod = self.pods.get(name)
            if pod is not None and "deletionTimestamp" not in pod["metadata"]:
                pod["metadata"]["deletionTimestamp"] = "now"
                pod["gone"] = self.seconds + 1

        self._call("delete", do)

    def evict(self, namespace: str, name: str, uid: str) -> str:
        def do() -> str:
            assert namespace == NAMESPACE
            pod = self.pods.get(name)
            if pod is None:
                return ""
            if pod["metadata"]["uid"] != uid:
                return "the UID in the precondition differs"
            if "deletionTimestamp" in pod["metadata"]:
                return ""
            guarding = [each for each in self.budgets if pod in self._selected(each)]
            if len(guarding) > 1:
                return (
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
                )
            if any(not each["status"]["disruptionsAllowed"] for each in guarding):
                return "Cannot evict pod as it would violate the pod's disruption budget."
            pod["metadata"]["deletionTimestamp"] = "now"
            pod["status"]["conditions"] = []
            pod["gone"] = self.seconds + pod["spec"]["terminationGracePeriodSeconds"]
            self.evicted.append(name)
            return ""

        return self._call("evict", do)


def first_with_room(world: World, pod: Object, *, prefer: str = "arm64") -> str | None:
    """The first node of the preferred architecture that is schedulable and has room for one more pod."""
    taken = [each["spec"].get("nodeName") for each in world.pods.values() if each is not pod]
    selector = pod["spec"].get("nodeSelector", {})
    open_to = [
        name
        for name, node in world.nodes.items()
        if not node["spec"].get("unschedulable")
        and node["status"]["conditions"][0]["status"] == "True"
        and selector.items() <= node["metadata"]["labels"].items()
        and taken.count(name) < int(node["status"]["allocatable"]["pods"])
    ]
    order = sorted(open_to, key=lambda name: world.nodes[name]["metadata"]["labels"]["kubernetes.io/arch"] != prefer)
    return order[0] if order else None


def away(_number: int, name: str) -> None:
    """The API server does not answer."""
    raise ClusterError(f"the API server can't be reached ({name})")


def killed(world: World) -> Callable[[int, str], None]:
    """End the process at a call."""

    def kill(_number: int, _name: str) -> None:
        world.dead = True
        raise KilledError

    return kill


def only(number: int, do: Callable[[int, str], None]) -> Callable[[int, str], None]:
    """Do something at one call."""
    return lambda found, name: do(found, name) if found == number else None
