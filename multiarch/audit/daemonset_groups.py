"""Groups of nodes: those of a live cluster, by the labels that say what made them, or those that a plan would have.

Of nodes only those labels are kept that a DaemonSet asks for, so that a thousand nodes are few profiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from multiarch.audit.daemonset_model import Group, Profile
from multiarch.autoscaling import selection
from multiarch.autoscaling.model import NodePoolPlan
from multiarch.autoscaling.tags import CAPACITY_TYPE_LABEL
from multiarch.facts.addon_daemon_sets import COMPUTE_TYPE
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import InstanceType
from multiarch.facts.taints import Effect, Taint
from multiarch.kubernetes.pending import NODE_GROUP, NODE_POOL
from multiarch.kubernetes.source import Found, placed
from multiarch.manifests.selectors import ARCHITECTURE_LABELS
from multiarch.manifests.values import ManifestError, Place, Value
from multiarch.nodes.model import Kind, NodeGroupPlan, Pairs
from multiarch.scheduling.nodes import ARCHITECTURE
from multiarch.stack.model import NewNetwork, Plan

NODE_NAME = "metadata.name"
"""Not a label, but what ``matchFields`` compares."""
_OPERATING_SYSTEM = ("kubernetes.io/os", "beta.kubernetes.io/os")
_INSTANCE_TYPE = (selection.INSTANCE_TYPE, "beta.kubernetes.io/instance-type")
_REGION = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
_ZONE = (selection.ZONE, "failure-domain.beta.kubernetes.io/zone")
_NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"
_CPU, _MEMORY = "karpenter.k8s.aws/instance-cpu", "karpenter.k8s.aws/instance-memory"
_OTHERS_SET = ("kubernetes.io", "k8s.io", "k8s.aws", "amazonaws.com", "karpenter.sh", "nvidia.com")
"""Domains of labels that the kubelet, AWS, Karpenter and agents set: whether nodes will have one is not in a plan."""
_NEVER = (COMPUTE_TYPE, "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
"""Labels that nodes of node groups and NodePools don't carry."""
_KARPENTER = ("karpenter.sh", "karpenter.k8s.aws")
_PASSING = frozenset(
    (
        "DeletionCandidateOfClusterAutoscaler",
        "ToBeDeletedByClusterAutoscaler",
        "ebs.csi.aws.com/agent-not-ready",
        "karpenter.sh/disrupted",
        "karpenter.sh/unregistered",
    )
)
_PASSING_DOMAINS = ("node.kubernetes.io", "node.cloudprovider.kubernetes.io")


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups, sorted by kind and name; ``notes`` say what was left out."""

    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()


def planned_groups(plan: Plan, keys: Collection[str]) -> Groups:
    """The node groups and NodePools of a plan. ``keys`` are the labels that DaemonSets ask for.

    A pool of both architectures is two groups. A label that the kubelet, AWS, Karpenter or an agent on the node sets,
    and that the plan does not hold, is unsaid; any other that it does not hold the nodes do not have.
    """
    zones = plan.network.zones if isinstance(plan.network, NewNetwork) else ()
    known = dict.fromkeys(_REGION, plan.region) if plan.region else {}
    found = [_of_node_group(group, _Plan(keys, group.zones or zones, known)) for group in plan.node_groups]
    notes = []
    karpenter = plan.autoscaling.karpenter
    for pool in () if karpenter is None else karpenter.pools:
        made = list(_of_pool(pool, karpenter.node_class.name if karpenter else "", _Plan(keys, zones, known)))
        found += made
        if not made:
            notes.append(f"NodePool {pool.name} is left out: no instance type satisfies it.")
    return Groups(tuple(found), tuple(notes))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is the same for all groups of a plan."""

    keys: Collection[str]
    zones: tuple[str, ...]
    known: Mapping[str, str]

    def profiles(
        self, labels: Iterable[Mapping[str, str]], taints: tuple[Taint, ...], absent: tuple[str, ...]
    ) -> tuple[Profile, ...]:
        """Profiles of nodes with ``labels``, one of each kind in every zone where that matters."""
        zones = self.zones if self.zones and any(key in self.keys for key in _ZONE) else ("",)
        counted: Counter[tuple[Pairs, frozenset[str]]] = Counter()
        for own in labels:
            for zone in zones:
                have = {**self.known, **(dict.fromkeys(_ZONE, zone) if zone else {}), **own}
                kept = {key: have[key] for key in self.keys if key in have}
                unsaid = (key for key in self.keys if key not in have and _unsaid(key, absent))
                counted[_kept(kept), frozenset(unsaid)] += 1
        return tuple(
            Profile(pairs, taints, unsaid, count) for (pairs, unsaid), count in sorted(counted.items(), key=str)
        )


def _kept(labels: Mapping[str, str]) -> Pairs:
    return tuple(sorted(labels.items()))


def _unsaid(key: str, absent: tuple[str, ...]) -> bool:
    domain = key.rpartition("/")[0]
    if key in _NEVER or key in absent or domain in absent:
        return False
    return any(domain == each or domain.endswith(f".{each}") for each in _OTHERS_SET)


def _instance_labels(instance: InstanceType) -> dict[str, str]:
    return {
        **dict.fromkeys(ARCHITECTURE_LABELS, str(instance.architecture)),
        **dict.fromkeys(_OPERATING_SYSTEM, "linux"),
        **dict.fromkeys(_INSTANCE_TYPE, instance.name),
    }


def _of_node_group(group: NodeGroupPlan, plan: _Plan) -> Group:
    own = dict(group.labels)
    if group.kind is Kind.MANAGED:
        own[CAPACITY_TYPE_LABEL] = group.capacity_type.eks
    # AWS puts a suffix behind a managed group's name; on a self-managed group's nodes there is no such label.
    absent = _KARPENTER if group.kind is Kind.MANAGED else (*_KARPENTER, NODE_GROUP, CAPACITY_TYPE_LABEL)
    labels = [{**_instance_labels(each), **own} for each in group.instance_types]
    profiles = plan.profiles(labels, _lasting(group.taints), absent)
    return Group(group.name, "node group", group.architecture, profiles, unit="instance types", planned=True)


def _of_pool(pool: NodePoolPlan, node_class: str, plan: _Plan) -> Iterator[Group]:
    by_architecture: dict[Architecture, list[dict[str, str]]] = {}
    for instance in pool.instance_types:
        for kind in pool.kinds:
            if kind.architecture is instance.architecture and (instance.spot or str(kind.capacity_type) != "spot"):
                labels = {
                    **_instance_labels(instance),
                    **_karpenter_labels(instance),
                    selection.CAPACITY_TYPE: str(kind.capacity_type),
                    NODE_POOL: pool.name,
                    _NODE_CLASS: node_class,
                    **dict(pool.labels),
                }
                by_architecture.setdefault(instance.architecture, []).append(labels)
    for architecture, labels_of in sorted(by_architecture.items()):
        name = pool.name if len(by_architecture) == 1 else f"{pool.name} ({architecture})"
        profiles = plan.profiles(labels_of, _lasting(pool.taints), (NODE_GROUP, CAPACITY_TYPE_LABEL))
        yield Group(name, "NodePool", architecture, profiles, unit="instance types", planned=True)


def _karpenter_labels(instance: InstanceType) -> dict[str, str]:
    """What Karpenter says of an instance type, as far as the tables here hold it."""
    own = selection.labels(instance)
    labels = {key: next(iter(values)) for key, values in own.items() if len(values) == 1 and "" not in values}
    return {**labels, _CPU: str(instance.vcpus), _MEMORY: str(instance.memory_mib)}


def live_groups(nodes: Iterable[Found], keys: Collection[str]) -> Groups:
    """The groups of live nodes, by node group, by NodePool, or else by architecture and taints.

    Windows and Fargate nodes, and those of other architectures, are left out: no question here is about them. So are
    taints that come and go with a node's life. Raises MultiarchError for a Node that Kubernetes would refuse.
    """
    left_out: Counter[str] = Counter()
    profiles: dict[tuple[str, str, Architecture], Counter[Profile]] = {}
    for found in nodes:
        node = _read(found)
        if why := node.why_not:
            left_out[why] += 1
            continue
        architecture = Architecture(node.architecture)
        have = {**node.labels, NODE_NAME: node.name}
        kind, name = _named(node.labels, architecture, node.taints)
        alike = profiles.setdefault((kind, name, architecture), Counter())
        alike[Profile(_kept({key: have[key] for key in keys if key in have}), node.taints)] += 1
    both = Counter((kind, name) for kind, name, _ in profiles)
    groups = [
        Group(
            name if both[kind, name] == 1 else f"{name} ({architecture})",
            kind,
            architecture,
            tuple(Profile(each.labels, each.taints, count=count) for each, count in sorted(found.items(), key=str)),
        )
        for (kind, name, architecture), found in sorted(profiles.items(), key=lambda item: _rank(item[0]))
    ]
    return Groups(tuple(groups), tuple(f"Left out: {count} {why}." for why, count in sorted(left_out.items())))


_KINDS = ("node group", "NodePool", "nodes")


def _rank(key: tuple[str, str, Architecture]) -> tuple[int, str, str]:
    return _KINDS.index(key[0]), key[1], str(key[2])


@dataclass(frozen=True, slots=True)
class _Node:
    """What counts of a live node; ``architecture`` is as it was written, perhaps none of ours."""

    name: str
    labels: Mapping[str, str]
    architecture: str
    taints: tuple[Taint, ...]

    @property
    def why_not(self) -> str:
        """Why it plays no part, in words that follow a number; empty if it does."""
        system = self.labels.get(_OPERATING_SYSTEM[0], "linux")
        if system != "linux":
            return f"node(s) with {system}"
        if self.labels.get(COMPUTE_TYPE) == "fargate":
            return "Fargate node(s), on which no DaemonSet runs"
        if self.architecture not in set(Architecture):
            named = f"of architecture {self.architecture}" if self.architecture else "that name no architecture"
            return f"node(s) {named}"
        return ""


def _read(found: Found) -> _Node:
    value = Value(found.value, Place(1, "Node"))
    try:
        labels = dict(value["metadata"]["labels"].pairs())
        return _Node(
            value["metadata"]["name"].text(),
            labels,
            labels.get(ARCHITECTURE) or value["status"]["nodeInfo"]["architecture"].text(),
            _lasting(_taint(each) for each in value["spec"]["taints"].items()),
        )
    except ManifestError as error:
        raise placed(error, [found]) from error


def _taint(value: Value) -> Taint:
    """One taint. Raises ManifestError for what the API server refuses."""
    effect = value["effect"].text()
    if effect not in set(Effect):
        raise value["effect"].error(f"{effect!r} is no taint effect.", hint=f"Effects are {', '.join(Effect)}.")
    return Taint(value["key"].required_text(), value["value"].text(), Effect(effect))


def _named(labels: Mapping[str, str], architecture: Architecture, taints: tuple[Taint, ...]) -> tuple[str, str]:
    if NODE_GROUP in labels:
        return "node group", labels[NODE_GROUP]
    if NODE_POOL in labels:
        return "NodePool", labels[NODE_POOL]
    return "nodes", " ".join([f"other {architecture}", *map(str, taints)])


def _lasting(taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """Taints that say something about a group, sorted."""
    return tuple(
        sorted(
            taint
            for taint in taints
            if taint.key not in _PASSING and taint.key.rpartition("/")[0] not in _PASSING_DOMAINS
        )
    )
