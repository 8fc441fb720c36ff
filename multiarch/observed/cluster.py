"""A live cluster: its nodes with the pods on them, the group of each node, and what is omitted and why.

Labels and taints are the Nodes' own, and allocatable resources are what their kubelets report. The name of a pod's
Deployment is known without the right to read ReplicaSets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from multiarch.facts import labels as keys
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Effect, Taint
from multiarch.kubernetes.source import LoadedObject, add_object_source
from multiarch.manifests.owners import name_deployment
from multiarch.manifests.selectors import LabelSelector
from multiarch.manifests.values import ManifestError
from multiarch.nodes.model import CapacityType, NodeGroupKind, NodeGroupPlan
from multiarch.observed.nodes import ObservedNode, list_omission_notes, read_nodes
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pods import Pod, read_pods
from multiarch.simulate.settled import NodeState

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", Effect.NO_SCHEDULE)
"""What the node controller adds to a cordoned node."""
GATED = "with a scheduling gate"
_CAPACITY_TYPES: Mapping[str, CapacityType] = {each.eks: each for each in CapacityType}


@dataclass(frozen=True, slots=True)
class Running:
    """Objects of the cluster of context ``name``. ``pods`` have not ended; some may have no node."""

    name: str
    nodes: tuple[LoadedObject, ...]
    pods: tuple[LoadedObject, ...]
    daemon_sets: tuple[LoadedObject, ...]
    budgets: tuple[LoadedObject, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Nodes with their pods, sorted by name, and ``pending`` pods, in the order of the API server.

    Pods are as their controllers make them again: without a node's name. ``daemon_sets`` are the templates of
    DaemonSets, one pod for each. ``zones`` are those of the groups' nodes, sorted; ``unknown`` are the names of nodes
    of no group, which are among ``nodes``. ``omitted`` counts what is omitted, by reason.
    """

    nodes: tuple[NodeState, ...]
    pending: tuple[Pod, ...]
    daemon_sets: tuple[Pod, ...]
    zones: tuple[str, ...]
    unknown: tuple[str, ...]
    omitted: Mapping[str, int]

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each reason why something is omitted."""
        return list_omission_notes(self.omitted)

    def choose_pending(self, namespaces: Collection[str], selector: LabelSelector | None) -> tuple[Pod, ...]:
        """Return the pending pods in ``namespaces`` (all if empty) whose labels match."""
        return tuple(
            pod
            for pod in self.pending
            if (not namespaces or pod.namespace in namespaces)
            and (selector is None or selector.matches(dict(pod.labels)))
        )


def read_cluster_state(running: Running, groups: Sequence[NodeGroupPlan], pools: Collection[str]) -> ClusterState:
    """Return the state of a cluster whose nodes are of ``groups``, of NodePools named ``pools``, or of neither.

    Omitted are pods that are being deleted, pods with a scheduling gate, and nodes that run no Linux pods of an
    architecture that is known; static pods are taken from what their node has for others.
    Raises MultiarchError for an object that the API server would reject.
    """
    nodes, omitted = read_nodes(running.nodes)
    reader = _Reader(groups, frozenset(pools), omitted)
    for node in nodes:
        reader.add_node(node)
    pods = read_object_pods(running.pods)
    gated = _find_gated(running.pods)
    for pod in pods:
        reader.add_pod(pod, gated=(pod.namespace, pod.name) in gated)
    return reader.state(read_object_pods(running.daemon_sets))


def find_group(labels: Mapping[str, str], groups: Iterable[NodeGroupPlan], pools: Collection[str]) -> str:
    """Return the managed node group or NodePool that made a node with these labels; empty for a node of neither.

    A managed group's nodes carry its name with the suffix that was added to it, a NodePool's carry the pool's.
    Nodes of self-managed groups have no such label.
    """
    if (pool := labels.get(keys.KARPENTER_NODE_POOL, "")) in pools:
        return pool
    made = labels.get(keys.EKS_NODE_GROUP, "")
    managed = (each for each in groups if each.kind is NodeGroupKind.MANAGED)
    return next((each.name for each in managed if each.made_name.fullmatch(made)), "")


def read_object_pods(found: Sequence[LoadedObject]) -> tuple[Pod, ...]:
    """Return the pods that the objects are or make, as :func:`multiarch.scheduling.pods.read_pods` reads them.

    Raises MultiarchError, naming the object's source, for what Kubernetes would reject.
    """
    try:
        return tuple(read_pods(each.value for each in found))
    except ManifestError as error:
        raise add_object_source(error, found) from error


def _find_gated(found: Iterable[LoadedObject]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (each.value["metadata"].get("namespace") or "default", each.value["metadata"]["name"])
        for each in found
        if (each.value.get("spec") or {}).get("schedulingGates")
    )


class _Reader:
    """Collects nodes, then pods."""

    def __init__(self, groups: Sequence[NodeGroupPlan], pools: frozenset[str], omitted: Counter[str]) -> None:
        self._groups = groups
        self._pools = pools
        self._nodes: dict[str, NodeState] = {}
        self._pods: defaultdict[str, list[Pod]] = defaultdict(list)
        self._pending: list[Pod] = []
        self._omitted = omitted
        self._shapes: dict[NodeShape, NodeShape] = {}

    def add_node(self, node: ObservedNode) -> None:
        group, zone = find_group(node.labels, self._groups, self._pools), node.labels.get(keys.ZONE)
        shape = _shape(group or "other", node)
        self._nodes[node.name] = NodeState(
            name=node.name,
            group=group,
            shape=self._shapes.setdefault(shape, shape),
            zone=zone,
            instance_type=node.labels.get(keys.INSTANCE_TYPE, ""),
            capacity_type=_capacity_type(node.labels) or self._planned_capacity_type(group),
        )

    def add_pod(self, pod: Pod, *, gated: bool) -> None:
        if pod.daemon:
            return
        name = pod.node_name
        if pod.terminating:
            self._omitted["pod(s) being deleted"] += 1
        elif name in self._nodes and pod.owner is not None and pod.owner.kind == "Node":
            node = self._nodes[name]
            shape = replace(node.shape, allocatable=node.shape.allocatable - pod.requests)
            self._nodes[name] = replace(node, shape=self._shapes.setdefault(shape, shape))
        elif name in self._nodes:
            self._pods[name].append(_made_again(pod))
        elif name:
            self._omitted["pod(s) on such a node or on one that is gone"] += 1
        elif gated:
            self._omitted[f"pod(s) {GATED}"] += 1
        else:
            self._pending.append(_made_again(pod))

    def state(self, daemon_sets: tuple[Pod, ...]) -> ClusterState:
        nodes = tuple(replace(self._nodes[name], pods=tuple(self._pods.get(name, ()))) for name in sorted(self._nodes))
        of_groups = {node.zone for node in nodes if node.group and node.zone}
        zones = of_groups or {node.zone for node in nodes if node.zone}
        return ClusterState(
            nodes=nodes,
            pending=tuple(self._pending),
            daemon_sets=daemon_sets,
            zones=tuple(sorted(zones)),
            unknown=tuple(node.name for node in nodes if not node.group),
            omitted=dict(self._omitted),
        )

    def _planned_capacity_type(self, group: str) -> CapacityType | None:
        # Labels of self-managed nodes do not say what a node of a mixed group is.
        return next((each.capacity_type for each in self._groups if each.name == group and not each.mixed), None)


def _shape(group: str, node: ObservedNode) -> NodeShape:
    """Return a Node's shape, without its zone and host name, so that nodes that are alike have equal shapes."""
    zone = node.labels.get(keys.ZONE)
    own = {keys.ARCHITECTURE: node.architecture, **node.labels}
    if own.get(keys.HOSTNAME) == node.name:
        del own[keys.HOSTNAME]
    for key in (keys.ZONE, *(old for old, new in keys.REPLACED_BY.items() if new == keys.ZONE)):
        if own.get(key) == zone:
            own.pop(key, None)
    taints = list(node.taints)
    if node.unschedulable and UNSCHEDULABLE not in taints:
        taints.append(UNSCHEDULABLE)
    return NodeShape(
        name=group,
        architecture=Architecture(node.architecture),
        allocatable=node.allocatable,
        labels=tuple(sorted(own.items())),
        taints=tuple(sorted(taints)),
        zones=(zone,) if zone else (),
    )


def _capacity_type(labels: Mapping[str, str]) -> CapacityType | None:
    written = labels.get(keys.KARPENTER_CAPACITY_TYPE, "")
    if written in set(CapacityType):
        return CapacityType(written)
    return _CAPACITY_TYPES.get(labels.get(keys.EKS_CAPACITY_TYPE, ""))


def _made_again(pod: Pod) -> Pod:
    """Return the pod that its controller makes in its place, under its Deployment's name."""
    owner = None if pod.owner is None else name_deployment(pod.owner, dict(pod.labels))
    return replace(pod, owner=owner, node_name="", phase="")
