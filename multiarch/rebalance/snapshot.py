"""What a plan is made of: a cluster's nodes, pods, and what replaces and guards pods, read once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from multiarch.facts.rebalance import CORDON_ANNOTATION
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.resources import REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS, ApiResource
from multiarch.kubernetes.source import LoadedObject, add_object_source
from multiarch.manifests.disruption_budgets import DisruptionBudget, read_disruption_budgets
from multiarch.manifests.owners import get_owner, get_workload_key
from multiarch.manifests.values import ManifestError
from multiarch.observed.cluster import Running, read_object_pods
from multiarch.observed.objects import read_running
from multiarch.rebalance.model import Controller, Leftover
from multiarch.scheduling.pods import Pod

_LEAVING = ("ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption")
"""Taints of nodes that an autoscaler is draining."""
REPLACE_PODS: Mapping[str, ApiResource] = {
    each.kind: each for each in (REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS)
}
"""Kinds that create another pod for one that is evicted, and lose no work by it."""


@dataclass(frozen=True, slots=True)
class LivePod:
    """A pod as the API server sends it, and what of it decides about nodes."""

    found: LoadedObject
    pod: Pod

    @property
    def value(self) -> Mapping[str, Any]:
        """The object."""
        return self.found.value

    @property
    def uid(self) -> str:
        """The uid."""
        return str(self.value["metadata"]["uid"])

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations."""
        return self.value["metadata"].get("annotations") or {}

    @property
    def controller(self) -> str:
        """The uid of its controller, or an empty string."""
        owners = self.value["metadata"].get("ownerReferences") or ()
        return next((str(each.get("uid") or "") for each in owners if each.get("controller") is True), "")

    @property
    def ready(self) -> bool:
        """Whether it runs and is ready."""
        return self.pod.phase == "Running" and is_true(self.value, "Ready")


@dataclass(frozen=True)
class Snapshot:
    """A cluster at one time. ``controllers`` are by uid, ``budgets`` by namespace.

    ``daemons`` are DaemonSets' templates.
    """

    running: Running
    controllers: Mapping[str, Controller]
    budgets: Mapping[str, tuple[DisruptionBudget, ...]]
    pods: tuple[LivePod, ...]
    daemons: tuple[Pod, ...]

    @cached_property
    def ready_by_controller(self) -> Mapping[str, int]:
        """How many pods of each controller are ready and stay."""
        counts: dict[str, int] = {}
        for each in self.pods:
            if each.controller and each.ready and not each.pod.terminating:
                counts[each.controller] = counts.get(each.controller, 0) + 1
        return counts

    def budgets_of(self, pod: Pod) -> list[DisruptionBudget]:
        """Return the PodDisruptionBudgets that select a pod."""
        return [each for each in self.budgets.get(pod.namespace, ()) if each.selects(pod.namespace, pod.labels)]

    @property
    def leftovers(self) -> tuple[Leftover, ...]:
        """The nodes that a run has cordoned."""
        found = (read_leftover(each.value) for each in self.running.nodes)
        return tuple(sorted(each for each in found if each is not None))


def read_snapshot(cluster: KubernetesCluster) -> Snapshot:
    """Read a cluster. It takes the right to list what is read, in the whole cluster. Raises ClusterError."""
    # What replaces pods is read before them, so that a pod's controller is known unless it is new.
    controllers = list(cluster.objects(REPLACE_PODS.values()))
    return take_snapshot(read_running(cluster, budgets=True), controllers)


def take_snapshot(running: Running, controllers: Sequence[LoadedObject]) -> Snapshot:
    """Return the snapshot of what was read. Raises MultiarchError, naming the object, for one that can't be read."""
    return Snapshot(
        running=running,
        controllers={each.uid: each for each in _controllers(controllers)},
        budgets=_budgets(running.budgets),
        pods=tuple(LivePod(each, pod) for each, pod in zip(running.pods, read_object_pods(running.pods), strict=True)),
        daemons=read_object_pods(running.daemon_sets),
    )


def is_true(value: Mapping[str, Any], condition: str) -> bool:
    """Return whether a Pod's or a Node's condition of this type is True."""
    conditions = (value.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == condition and each.get("status") == "True" for each in conditions)


def explain_unfit(node: Mapping[str, Any]) -> str:
    """Return why a node is not to be emptied, a clause, or an empty string."""
    if node["metadata"].get("deletionTimestamp"):
        return "it is being deleted"
    taints = {str(each.get("key")) for each in (node.get("spec") or {}).get("taints") or ()}
    if leaving := sorted(taints.intersection(_LEAVING)):
        return f"it has the taint {leaving[0]}: an autoscaler removes it"
    return "" if is_true(node, "Ready") else "it is not Ready"


def read_leftover(node: Mapping[str, Any]) -> Leftover | None:
    """Return what a run has written on a node that it has cordoned, or None."""
    metadata = node["metadata"]
    written = (metadata.get("annotations") or {}).get(CORDON_ANNOTATION)
    if written is None:
        return None
    run, _, at = written.partition(" ")
    return Leftover(str(metadata["name"]), run, at)


def _budgets(found: Sequence[LoadedObject]) -> Mapping[str, tuple[DisruptionBudget, ...]]:
    by_namespace: defaultdict[str, list[DisruptionBudget]] = defaultdict(list)
    try:
        for each in read_disruption_budgets(each.value for each in found):
            by_namespace[each.namespace].append(each)
    except ManifestError as error:
        raise add_object_source(error, found) from error
    return {namespace: tuple(budgets) for namespace, budgets in by_namespace.items()}


def _controllers(found: Sequence[LoadedObject]) -> Iterator[Controller]:
    # Only ReplicaSets of one owner are its revisions: an operator's object may have several StatefulSets.
    revisions = [
        each
        for each in found
        if each.value["kind"] == REPLICA_SETS.kind and (each.value.get("spec") or {}).get("replicas", 1) != 0
    ]
    active = Counter(owner for each in revisions if (owner := get_owner(each.value)) is not None)
    for each in found:
        kind, owner = str(each.value["kind"]), get_owner(each.value)
        selector = (each.value.get("spec") or {}).get("selector") or {}
        labels = selector if kind == REPLICATION_CONTROLLERS.kind else selector.get("matchLabels") or {}
        yield Controller(
            uid=str(each.value["metadata"]["uid"]),
            resource=REPLACE_PODS[kind],
            name=str(each.value["metadata"]["name"]),
            workload=owner or get_workload_key(each.value),
            selector=",".join(f"{key}={value}" for key, value in sorted(labels.items())),
            changing=_changing(each.value, rolling=owner is not None and active[owner] > 1),
        )


def _changing(value: Mapping[str, Any], *, rolling: bool) -> str:
    template = (value.get("spec") or {}).get("template") or {}
    if node := (template.get("spec") or {}).get("nodeName"):
        return f"its template requires the node {node}"
    if rolling:
        return "its workload is being rolled out"
    status = value.get("status") or {}
    if value["kind"] == STATEFUL_SETS.kind and status.get("currentRevision") != status.get("updateRevision"):
        return "its StatefulSet has an update that is not complete, and a new pod may be of another revision"
    return ""
