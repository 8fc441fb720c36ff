"""Which failures a stack is checked against, which nodes each of them takes, and where their pods get another one.

Controllers create the lost pods again, Auto Scaling groups replace lost nodes where they can, kube-scheduler fills the
nodes, and then the autoscaler in use adds nodes where they can be had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from multiarch.autoscaling.model import Capacity
from multiarch.capacity.model import CapacityFailure
from multiarch.capacity.workloads import (
    ImageSupport,
    WorkloadName,
    can_move,
    claims_volumes,
    get_unreachable_seconds,
    get_workload_name,
    make_waiting,
    narrow_pod,
    restrict_pods,
)
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ZONE
from multiarch.nodes.model import CapacityType
from multiarch.scheduling.pods import Pod
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.preemption import Guard
from multiarch.simulate.settled import NodeState, Settled, Unavailable
from multiarch.simulate.simulation import list_planned_nodes, settle_pods
from multiarch.stack.model import Plan

_KEYS = ("zone", "group", "spot", "architecture", "largest")
_MOST_DIGITS = 6
_FORM = f"Write KEY=VALUE, several with commas; the keys are {', '.join(_KEYS)}."


def list_failures(plan: Plan, zones: Sequence[str], *, largest_nodes: int = 1) -> tuple[CapacityFailure, ...]:
    """Return every single failure of a stack in ``zones``, in this order.

    Each zone; each node group and NodePool; all spot nodes of each architecture that has some; the ``largest_nodes``
    largest nodes, unless that is 0; each architecture.
    """
    capacities = _capacities(plan)
    found = [CapacityFailure(zones=(zone,)) for zone in zones]
    found += [CapacityFailure(groups=(name,)) for name in list_group_names(plan)]
    spot = sorted({each.architecture for each in capacities if each.capacity_type is CapacityType.SPOT})
    found += [CapacityFailure(spot=(architecture,)) for architecture in spot]
    if largest_nodes:
        found.append(CapacityFailure(largest_nodes=largest_nodes))
    found += [CapacityFailure(architectures=(each,)) for each in sorted({each.architecture for each in capacities})]
    return tuple(found)


def list_group_names(plan: Plan) -> tuple[str, ...]:
    """Return the names of the node groups and NodePools, each sorted."""
    return (*sorted(each.name for each in plan.node_groups), *sorted(plan.autoscaling.pool_names))


def _capacities(plan: Plan) -> set[Capacity]:
    found = {Capacity(each.architecture, each.capacity_type) for each in plan.node_groups}
    return found | {capacity for pool in plan.autoscaling.pools for capacity in pool.capacities}


def parse_failure(text: str, plan: Plan, zones: Sequence[str]) -> CapacityFailure:
    """Read ``zone=eu-west-1b,group=general-arm64``: what fails at the same time.

    A zone may be written as what follows the region (``b``). ``group`` also takes the name in the stack file of a group
    that there is one of per zone. Raises MultiarchError for an unknown key, zone, group or architecture.
    """
    values: dict[str, list[str]] = {key: [] for key in _KEYS}
    for part in text.split(","):
        key, sign, value = (each.strip() for each in part.partition("="))
        if not sign or not value or key not in values:
            raise MultiarchError(f"{part.strip()!r} is not a failure.", hint=_FORM)
        values[key].append(value)
    largest = [_number(value) for value in values["largest"]]
    return CapacityFailure(
        zones=tuple(dict.fromkeys(_zone(value, zones) for value in values["zone"])),
        groups=tuple(dict.fromkeys(name for value in values["group"] for name in _groups(value, plan))),
        spot=tuple(dict.fromkeys(_architecture(value) for value in values["spot"])),
        architectures=tuple(dict.fromkeys(_architecture(value) for value in values["architecture"])),
        largest_nodes=sum(largest),
    )


def _zone(value: str, zones: Sequence[str]) -> str:
    found = [zone for zone in zones if value == zone] or [zone for zone in zones if _behind_region(zone) == value]
    if not found:
        raise MultiarchError(f"There is no zone {value!r}.", hint=f"The zones are {', '.join(zones)}.")
    if len(found) > 1:
        raise MultiarchError(f"zone={value} is the end of {' and '.join(found)}.", hint="Write the whole name.")
    return found[0]


def _behind_region(zone: str) -> str:
    """Return ``b`` of ``eu-west-1b``, ``2`` of ``zone-2``."""
    last = zone.rpartition("-")[2]
    return last.lstrip("0123456789") or last


def _groups(value: str, plan: Plan) -> Iterator[str]:
    names = list_group_names(plan)
    found = [value] if value in names else [each.name for each in plan.node_groups if each.path[-1:] == (value,)]
    if not found:
        raise MultiarchError(f"There is no node group or NodePool {value!r}.", hint=f"There are {', '.join(names)}.")
    yield from found


def _architecture(value: str) -> Architecture:
    if value not in set(Architecture):
        raise MultiarchError(f"{value!r} is not an architecture.", hint=f"Use {' or '.join(Architecture)}.")
    return Architecture(value)


def _number(value: str) -> int:
    if not value.isdecimal() or len(value) > _MOST_DIGITS or not int(value):
        raise MultiarchError(f"largest={value}: must be a number of nodes from 1 to 999999.")
    return int(value)


def list_unavailable(failure: CapacityFailure, plan: Plan) -> Unavailable:
    """Return where no new node can be had while ``failure`` lasts.

    Without the node group that its controller runs on, Karpenter adds no nodes at all.
    """
    lost = _without_karpenter(failure)
    if plan.autoscaling.karpenter is not None and loses_karpenter(failure, plan):
        lost = replace(lost, groups=lost.groups | plan.autoscaling.pool_names)
    return lost


def _without_karpenter(failure: CapacityFailure) -> Unavailable:
    capacities = {Capacity(each, CapacityType.SPOT) for each in failure.spot}
    capacities |= {Capacity(each, kind) for each in failure.architectures for kind in CapacityType}
    return Unavailable(frozenset(failure.zones), frozenset(failure.groups), frozenset(capacities))


def loses_karpenter(failure: CapacityFailure, plan: Plan) -> bool:
    """Return whether no node of the group that Karpenter's controller runs on can be had."""
    karpenter = plan.autoscaling.karpenter
    home = next((each for each in plan.node_groups if karpenter and each.name == karpenter.controller_group), None)
    if home is None:
        return False
    return _without_karpenter(failure).why_no_node(home, home.zones) is not None


def list_lost_nodes(failure: CapacityFailure, nodes: Iterable[NodeState]) -> frozenset[str]:
    """Return the names of the nodes that a failure takes.

    Of nodes with the same allocatable CPU those with the most memory, then those with the most pods are the largest.
    """
    lost, left = set(), []
    for node in nodes:
        architecture = node.shape.architecture
        hit = node.zone in failure.zones or node.group in failure.groups or architecture in failure.architectures
        if hit or (architecture in failure.spot and node.capacity_type is CapacityType.SPOT):
            lost.add(node.name)
        else:
            left.append(node)
    left.sort(key=_size)
    return frozenset((*lost, *(node.name for node in left[: failure.largest_nodes])))


def _size(node: NodeState) -> tuple[int, int, int, str]:
    """Sort key: the largest first."""
    whole = node.shape.allocatable
    return -whole.cpu, -whole.memory, -len(node.pods), node.name


@dataclass(frozen=True, slots=True)
class Before:
    """A cluster before anything fails: its nodes with their pods, and pods that fit nowhere.

    ``zonal_volumes``: volumes of PersistentVolumeClaims stay in their zone, as EBS volumes do.
    ``written`` are pods of workloads about whose images something is known, one of each, as their manifest has them.
    ``guards`` are the PodDisruptionBudgets.
    """

    plan: Plan
    context: SimulationContext
    daemons: tuple[Pod, ...]
    settled: Settled
    images: Mapping[WorkloadName, ImageSupport]
    written: Mapping[WorkloadName, Pod]
    guards: Sequence[Guard] = ()
    zonal_volumes: bool = True

    @property
    def pods(self) -> list[Pod]:
        """All pods of workloads, those without a node included."""
        placed = (pod for node in self.settled.nodes for pod in node.pods)
        return [pod for pod in (*placed, *self.settled.unplaced) if can_move(pod)]


@dataclass(frozen=True, slots=True)
class After:
    """A cluster during a failure.

    ``lost`` are the nodes that failed, with the pods that were on them, ``kept`` the others, which are the first nodes
    of ``settled``. ``displaced`` are the pods that controllers create in place of lost ones; ``bare`` and ``staying``
    are pods of lost nodes that get no other node, because no controller replaces them, or because they tolerate
    unreachable nodes without a limit; ``held`` are pods whose volumes are in a lost zone.
    """

    failure: CapacityFailure
    settled: Settled
    kept: tuple[NodeState, ...]
    lost: tuple[NodeState, ...] = ()
    displaced: tuple[Pod, ...] = ()
    bare: tuple[Pod, ...] = ()
    staying: tuple[Pod, ...] = ()
    held: tuple[Pod, ...] = ()

    @property
    def added(self) -> tuple[NodeState, ...]:
        """The nodes that came instead, with their pods."""
        return self.settled.nodes[len(self.kept) :]

    @property
    def pending(self) -> tuple[Pod, ...]:
        """The pods without a node."""
        return (*self.settled.unplaced, *self.bare, *self.staying, *self.held)


def settle_before(
    plan: Plan,
    pods: Iterable[Pod],
    context: SimulationContext,
    *,
    nodes: Sequence[NodeState] | None = None,
    images: Mapping[WorkloadName, ImageSupport] | None = None,
    guards: Sequence[Guard] = (),
    zonal_volumes: bool = True,
) -> Before:
    """Place all pods while nothing fails; parameters as in :class:`multiarch.capacity.evaluation.Evaluation`."""
    support = images or {}
    written = [pod for pod in pods if pod.per_node or can_move(pod)]
    everything = list(restrict_pods(written, support))
    if nodes is None:
        # A dump of a cluster's pods says where they were: that was another cluster.
        everything = [make_waiting(pod) for pod in everything]
        given: Sequence[NodeState] = list_planned_nodes(plan.node_groups, context, everything)
    else:
        given = [replace(node, pods=tuple(restrict_pods(node.pods, support))) for node in nodes]
    daemons = tuple(pod for pod in everything if pod.per_node)
    settled = settle_pods(plan.autoscaling, plan.node_groups, context, given, everything, guards=guards)
    before = (*written, *(pod for node in nodes or () for pod in node.pods))
    samples = {get_workload_name(pod): pod for pod in reversed(before) if get_workload_name(pod) in support}
    return Before(plan, context, daemons, settled, support, samples, guards, zonal_volumes)


def fail_nodes(before: Before, failure: CapacityFailure) -> After:
    """Take the nodes that ``failure`` takes, and place their pods again."""
    nodes = before.settled.nodes
    names = list_lost_nodes(failure, nodes)
    lost = tuple(node for node in nodes if node.name in names)
    kept = tuple(node for node in nodes if node.name not in names)
    after = _sorted_out(After(failure, before.settled, kept, lost), zonal_volumes=before.zonal_volumes)
    return replace(after, settled=place_again(before, after))


def _sorted_out(after: After, *, zonal_volumes: bool) -> After:
    """Tell apart the pods of lost nodes: those that get other nodes, and those that do not."""
    bare, staying, held, displaced = [], [], [], []
    for node in after.lost:
        for pod in filter(can_move, node.pods):
            in_zone = zonal_volumes and node.zone is not None and claims_volumes(pod.spec)
            if pod.owner is None:
                bare.append(pod)
            elif get_unreachable_seconds(pod.spec, 0) is None:
                staying.append(pod)
            elif in_zone and node.zone in after.failure.zones:
                held.append(pod)
            else:
                again = make_waiting(pod)
                displaced.append(narrow_pod(again, ZONE, (node.zone,)) if in_zone and node.zone else again)
    return replace(after, displaced=tuple(displaced), bare=tuple(bare), staying=tuple(staying), held=tuple(held))


def place_again(before: Before, after: After) -> Settled:
    """Place the pods that had no node before, which have waited longer, and those that a failure moves."""
    plan = before.plan
    return settle_pods(
        plan.autoscaling,
        plan.node_groups,
        before.context,
        after.kept,
        (*before.daemons, *before.settled.unplaced, *after.displaced),
        unavailable=list_unavailable(after.failure, plan),
        desired=Counter(node.group for node in before.settled.nodes),
        guards=before.guards,
    )
