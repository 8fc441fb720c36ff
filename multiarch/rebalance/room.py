"""Where the pods of a node would go while it is cordoned: to arm64 nodes for certain, or perhaps to amd64 nodes.

Pods are evicted only once an arm64 node has room for them. Then kube-scheduler puts one there unless an amd64 node has
room too, and the pod does not prefer arm64.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from multiarch.autoscaling.model import AutoscalingPlan, Capacity
from multiarch.facts.architectures import Architecture
from multiarch.manifests.selectors import ARCHITECTURE_LABELS
from multiarch.nodes.model import CapacityType, NodeGroupPlan
from multiarch.observed.cluster import UNSCHEDULABLE
from multiarch.scheduling.affinity import NodeAffinity
from multiarch.scheduling.fit import explain_never, sum_daemon_overhead
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.batches import Counted
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.settled import NodeState, Settled, Unavailable
from multiarch.simulate.simulation import settle_pods

Settle = Callable[[Sequence[NodeState], Sequence[Pod]], Settled]
"""Places pods without a node on the free room of nodes, and on arm64 nodes that the stack's autoscaler adds.

See :func:`make_settler`.
"""
_AMD64 = Unavailable(capacities=frozenset(Capacity(Architecture.AMD64, each) for each in CapacityType))
_NO_ROOM = "no arm64 node has room for it, and none can be added"
_RULES = "no arm64 node with room meets its rules about other pods"
_PREFERS_AMD64 = "its node affinity prefers the amd64 node to an arm64 node"
_ON_AMD64 = "it does not prefer arm64, and an amd64 node has room for it"


def make_settler(plan: AutoscalingPlan, groups: Sequence[NodeGroupPlan], context: SimulationContext) -> Settle:
    """Place pods as the stack's autoscalers do that add arm64 nodes alone. No pod takes the place of another one."""
    return partial(settle_pods, plan, groups, context, preempting=False, unavailable=_AMD64)


@dataclass(frozen=True, slots=True)
class Expected:
    """Where kube-scheduler is expected to put a pod. ``why_not``: why that is not arm64 for sure, a clause."""

    node: NodeState | None
    new: bool = False
    why_not: str = ""


class Room:
    """All nodes, and what is on them. Nodes that take no pods have a taint that says so."""

    def __init__(
        self, nodes: Iterable[NodeState], daemons: Sequence[Pod], settle: Settle, candidates: Iterable[Pod]
    ) -> None:
        """``daemons`` are DaemonSets' templates, which take room on each node; ``candidates`` may be moved."""
        self._nodes = {each.name: each for each in nodes}
        self._daemons = tuple(daemons)
        self._settle = settle
        self._counted = Counted(candidates)
        self._merged: dict[str, NodeState] = {}
        self._overhead: dict[NodeShape, ResourceAmounts] = {}
        self._free: dict[str, ResourceAmounts] = {}
        self._known: dict[tuple[Architecture, PodSpec, int], list[str]] = {}
        self._addable: dict[PodSpec, bool] = {}
        for each in list(self._nodes.values()):
            self._change(each)

    def without(self, source: str, pods: Sequence[Pod]) -> list[Expected]:
        """Place each of ``pods``, evicted from ``source``, while that is cordoned. Nothing is changed by it."""
        node = mark_cordoned(self._nodes[source])
        emptied = _less(node, pods)
        whys = [self._why_stays(_again(pod), emptied) for pod in pods]
        placed = iter(self._settled(node, [pod for pod, why in zip(pods, whys, strict=True) if not why]))
        return [Expected(None, why_not=why) if why else next(placed) for why in whys]

    def move(self, source: str, moved: Sequence[tuple[Pod, NodeState]]) -> None:
        """Take pods off ``source``, and put each on the node that :meth:`without` expected."""
        self._change(_less(self._nodes[source], [pod for pod, _ in moved]))
        for pod, node in moved:
            before = self._nodes.get(node.name) or replace(node, pods=())
            self._change(replace(before, pods=(*before.pods, pod)))

    def _change(self, node: NodeState) -> None:
        if node.name not in self._nodes:
            # A group may be full with a node more.
            self._addable.clear()
        self._nodes[node.name] = node
        self._merged[node.name] = self._merge(node)
        self._free[node.name] = self._left(node)
        self._known.clear()

    def _why_stays(self, pod: Pod, here: NodeState) -> str:
        """Return why a pod stays as far as each pod alone decides that, a clause, or an empty string.

        It spares placing pods that would stay in any case, which takes as long as there are nodes.
        """
        if not self._has_room(Architecture.ARM64, pod) and not self._can_be_added(pod):
            return _NO_ROOM
        return self._why_on_amd64(pod, here, _most_on_arm64(pod.spec.affinity))

    def _why_on_amd64(self, pod: Pod, here: NodeState, wanted: int) -> str:
        """Why kube-scheduler may choose an amd64 node rather than an arm64 node that the pod prefers by ``wanted``."""
        if pod.spec.affinity.score(get_labels(here), here.name) > wanted:
            return _PREFERS_AMD64
        if self._has_room(Architecture.AMD64, pod, least=wanted, besides=here.name):
            return _ON_AMD64
        if _takes(here, self._left(here), pod, least=wanted):
            return _ON_AMD64
        return ""

    def _left(self, node: NodeState) -> ResourceAmounts:
        """Return what the pods of a node, DaemonSets' included, leave of it."""
        if node.shape not in self._overhead:
            self._overhead[node.shape] = sum_daemon_overhead(self._daemons, node.shape)
        left = node.shape.allocatable - self._overhead[node.shape]
        for pod in node.pods:
            left -= pod.requests
        return left

    def _has_room(self, architecture: Architecture, pod: Pod, *, least: int = 0, besides: str = "") -> bool:
        """Return whether a node of the architecture other than ``besides`` takes a pod, its rules about pods aside.

        The node is worth ``least`` by the pod's node affinity.
        """
        key = architecture, pod.spec, least
        if key not in self._known:
            nodes = (each for each in self._nodes.values() if each.shape.architecture is architecture)
            taking = (each.name for each in nodes if _takes(each, self._free[each.name], pod, least=least))
            # Two are enough: one of them is not the node that the pod leaves.
            self._known[key] = list(islice(taking, 2))
        return any(name != besides for name in self._known[key])

    def _can_be_added(self, pod: Pod) -> bool:
        """Whether an autoscaler adds a node for a pod, its rules about other pods aside, where no node has room."""
        bare = replace(pod, labels=(), spec=_without_pod_rules(pod.spec))
        if bare.spec not in self._addable:
            full = [replace(each, pods=(_asking_for(each.shape.allocatable),)) for each in self._nodes.values()]
            self._addable[bare.spec] = not self._settle(full, [*self._daemons, bare]).unplaced
        return self._addable[bare.spec]

    def _settled(self, source: NodeState, pods: Sequence[Pod]) -> list[Expected]:
        found = self._placed(source, pods)
        staying = {number for number, each in enumerate(found) if each.node is not None and each.why_not}
        if not staying or all(each.node is not None for each in found):
            return found
        # What stays leaves its room to the others.
        rest = [number for number in range(len(pods)) if number not in staying]
        for number, each in zip(rest, self._placed(source, [pods[number] for number in rest]), strict=True):
            found[number] = each
        return found

    def _placed(self, source: NodeState, pods: Sequence[Pod]) -> list[Expected]:
        if not pods:
            return []
        here = _less(source, pods)
        around = {**self._merged, here.name: self._merge(here)}
        again = [_again(pod) for pod in pods]
        settled = self._settle(list(around.values()), [*self._daemons, *again])
        changed = (node for node in settled.nodes if node is not around.get(node.name))
        there = {(pod.namespace, pod.name): node for node in changed for pod in node.pods}
        return [self._expected(pod, here, there.get((pod.namespace, pod.name))) for pod in again]

    def _expected(self, pod: Pod, here: NodeState, node: NodeState | None) -> Expected:
        if node is None:
            by_rules = pod.spec != _without_pod_rules(pod.spec) and self._has_room(Architecture.ARM64, pod)
            return Expected(None, why_not=_RULES if by_rules else _NO_ROOM)
        wanted = pod.spec.affinity.score(get_labels(node), node.name)
        return Expected(node, node.name not in self._nodes, self._why_on_amd64(pod, here, wanted))

    def _merge(self, node: NodeState) -> NodeState:
        """The node with all pods in one, those aside that rules about other pods count: placing pods is faster then.

        What is lost decides between arm64 nodes only: preferences of other pods, and for nodes with few pods of the
        same controller. An amd64 node has no room then: only arm64 nodes are looked for.
        """
        kept: list[Pod] = []
        merged: list[Pod] = []
        for pod in node.pods:
            (kept if pod.spec.pod_anti_affinity or self._counted(pod) else merged).append(pod)
        if node.shape.architecture is Architecture.AMD64:
            return replace(node, pods=(*kept, _asking_for(node.shape.allocatable)))
        if not merged:
            return node
        requests = sum((pod.requests for pod in merged), ResourceAmounts())
        assumed = sum((pod.spec.assumed for pod in merged), ResourceAmounts())
        return replace(node, pods=(*kept, _asking_for(requests, assumed)))


def _asking_for(requests: ResourceAmounts, assumed: ResourceAmounts | None = None) -> Pod:
    spec = PodSpec(requests=requests, assumed=assumed or ResourceAmounts())
    return Pod("(several)", "", (), None, spec)


def _again(pod: Pod) -> Pod:
    """Return the pod that a controller creates in place of this one."""
    return replace(pod, node_name="", phase="")


def _without_pod_rules(spec: PodSpec) -> PodSpec:
    return replace(
        spec,
        spread=(),
        pod_affinity=(),
        pod_anti_affinity=(),
        preferred_pod_affinity=(),
        preferred_pod_anti_affinity=(),
    )


def _most_on_arm64(affinity: NodeAffinity) -> int:
    """Return the most that a pod's preference for an arm64 node can be."""
    said = {key: str(Architecture.ARM64) for key in ARCHITECTURE_LABELS}
    return sum(
        each.weight
        for each in affinity.preferred
        if all(rule.matches(said) for rule in each.term.expressions if rule.key in said)
    )


def mark_cordoned(node: NodeState) -> NodeState:
    """Return the node, where no new pods are put unless they tolerate everything."""
    return replace(node, shape=replace(node.shape, taints=tuple(sorted({*node.shape.taints, UNSCHEDULABLE}))))


def _less(node: NodeState, pods: Collection[Pod]) -> NodeState:
    gone = {(pod.namespace, pod.name) for pod in pods}
    return replace(node, pods=tuple(pod for pod in node.pods if (pod.namespace, pod.name) not in gone))


def _takes(node: NodeState, free: ResourceAmounts, pod: Pod, *, least: int) -> bool:
    """Return whether a node with this room takes a pod, and is worth ``least`` by the pod's node affinity."""
    if not free.covers(pod.requests) or explain_never(pod.spec, node.shape) is not None:
        return False
    labels = get_labels(node)
    return pod.spec.affinity.allows(labels, node.name) and pod.spec.affinity.score(labels, node.name) >= least


def get_labels(node: NodeState) -> dict[str, str]:
    """Return a node's labels, with its zone and its name."""
    return node.shape.labels_in(node.zone, node.name)
