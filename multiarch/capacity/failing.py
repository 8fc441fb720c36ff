"""A cluster before and during a failure: which nodes go, and where their pods get another one.

Controllers create the lost pods again, Auto Scaling groups replace lost nodes where they can, kube-scheduler fills the
nodes, and then the autoscaler in use adds nodes where they can be had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from multiarch.capacity.failures import lost_nodes, unavailable
from multiarch.capacity.model import Failure
from multiarch.capacity.workloads import (
    ImageSupport,
    WorkloadName,
    can_move,
    claims_volumes,
    name_of,
    narrowed,
    restricted,
    unreachable_seconds,
    waiting_again,
)
from multiarch.facts.labels import ZONE
from multiarch.scheduling.pods import Pod
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.settled import NodeState, Settled
from multiarch.simulate.simulation import planned_nodes, settle
from multiarch.stack.model import Plan


@dataclass(frozen=True, slots=True)
class Before:
    """A cluster before anything fails: its nodes with their pods, and pods that fit nowhere.

    ``zonal_volumes``: volumes of PersistentVolumeClaims stay in their zone, as EBS volumes do.
    ``written`` are pods of workloads about whose images something is known, one of each, as their manifest has them.
    """

    plan: Plan
    context: SimulationContext
    daemons: tuple[Pod, ...]
    settled: Settled
    images: Mapping[WorkloadName, ImageSupport]
    written: Mapping[WorkloadName, Pod]
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

    failure: Failure
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


def settled_before(
    plan: Plan,
    pods: Iterable[Pod],
    context: SimulationContext,
    *,
    nodes: Sequence[NodeState] | None = None,
    images: Mapping[WorkloadName, ImageSupport] | None = None,
    zonal_volumes: bool = True,
) -> Before:
    """Place all pods while nothing fails; parameters as in :class:`multiarch.capacity.evaluation.Evaluation`."""
    support = images or {}
    written = [pod for pod in pods if pod.per_node or can_move(pod)]
    everything = list(restricted(written, support))
    if nodes is None:
        # A dump of a cluster's pods says where they were: that was another cluster.
        everything = [waiting_again(pod) for pod in everything]
        given: Sequence[NodeState] = planned_nodes(plan.node_groups, context, everything)
    else:
        given = [replace(node, pods=tuple(restricted(node.pods, support))) for node in nodes]
    daemons = tuple(pod for pod in everything if pod.per_node)
    settled = settle(plan.autoscaling, plan.node_groups, context, given, everything)
    before = (*written, *(pod for node in nodes or () for pod in node.pods))
    samples = {name_of(pod): pod for pod in reversed(before) if name_of(pod) in support}
    return Before(plan, context, daemons, settled, support, samples, zonal_volumes)


def fail(before: Before, failure: Failure) -> After:
    """Take the nodes that ``failure`` takes, and place their pods again."""
    nodes = before.settled.nodes
    names = lost_nodes(failure, nodes)
    lost = tuple(node for node in nodes if node.name in names)
    kept = tuple(node for node in nodes if node.name not in names)
    after = _sorted_out(After(failure, before.settled, kept, lost), zonal_volumes=before.zonal_volumes)
    return replace(after, settled=placed_again(before, after))


def _sorted_out(after: After, *, zonal_volumes: bool) -> After:
    """Tell apart the pods of lost nodes: those that get other nodes, and those that do not."""
    bare, staying, held, displaced = [], [], [], []
    for node in after.lost:
        for pod in filter(can_move, node.pods):
            in_zone = zonal_volumes and node.zone is not None and claims_volumes(pod.spec)
            if pod.owner is None:
                bare.append(pod)
            elif unreachable_seconds(pod.spec, 0) is None:
                staying.append(pod)
            elif in_zone and node.zone in after.failure.zones:
                held.append(pod)
            else:
                again = waiting_again(pod)
                displaced.append(narrowed(again, ZONE, (node.zone,)) if in_zone and node.zone else again)
    return replace(after, displaced=tuple(displaced), bare=tuple(bare), staying=tuple(staying), held=tuple(held))


def placed_again(before: Before, after: After) -> Settled:
    """Place the pods that had no node before, which have waited longer, and those that a failure moves."""
    plan = before.plan
    return settle(
        plan.autoscaling,
        plan.node_groups,
        before.context,
        after.kept,
        (*before.daemons, *before.settled.unplaced, *after.displaced),
        unavailable=unavailable(after.failure, plan),
        desired=Counter(node.group for node in before.settled.nodes),
    )
