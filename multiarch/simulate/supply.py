"""The nodes that the autoscalers of a stack can add, and which pods they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import EKS_NODE_GROUP
from multiarch.nodes.model import NodeGroupPlan
from multiarch.scheduling.fit import explain_never, list_allowed_zones
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause
from multiarch.simulate.batches import list_used_labels, list_wanted_values
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.pools import Pool
from multiarch.simulate.settled import Unavailable
from multiarch.simulate.shapes import build_group_shape

_SIZE = (Cause.RESOURCES, Cause.POD_COUNT)


@dataclass(frozen=True, slots=True)
class Taker:
    """A node group or NodePool that takes a pod, with the architectures and zones of the nodes that it adds for it."""

    name: str
    architectures: tuple[Architecture, ...]
    zones: tuple[str | None, ...]


class Supply:
    """The node groups of a stack, each with the shape of its nodes, and its NodePools, the highest weight first."""

    def __init__(
        self,
        plan: AutoscalingPlan,
        groups: Sequence[NodeGroupPlan],
        context: SimulationContext,
        pods: Iterable[Pod],
        unavailable: Unavailable | None = None,
    ) -> None:
        """``pods`` are those that are placed later; no node is added where it is ``unavailable``."""
        specs = {pod.spec for pod in pods}
        self.groups = tuple(groups)
        self.shapes = group_shapes(groups, context, specs)
        keys = frozenset(key for spec in specs for key in list_used_labels(spec))
        owner = plan.pool_owner
        self.pools = tuple(
            Pool(each, owner.node_class, context, keys, unavailable=unavailable)
            for each in sorted(plan.pools, key=lambda pool: (-pool.weight, pool.name))
            if owner and each.instance_types
        )
        self._takers: dict[PodSpec, tuple[Taker, ...]] = {}

    def takers(self, spec: PodSpec, *, sized: bool = False) -> tuple[Taker, ...]:
        """Return what takes a pod if it has room; ``sized``: only if the pod fits an empty node."""
        found = [
            Taker(group.name, (group.architecture,), list_allowed_zones(spec, shape))
            for group in self.groups
            if (why := explain_never(spec, shape := self.shapes[group.name])) is None
            or (not sized and why.cause in _SIZE)
        ]
        for pool in self.pools:
            offer = pool.offer(spec, soft_taints=False)
            types = offer.types & (pool.with_room_for(spec.requests) if sized else pool.all) if offer else 0
            if offer and types and not (sized and pool.closed):
                found.append(Taker(pool.plan.name, pool.architectures(types), offer.zones))
        return tuple(found)

    def architectures(self, spec: PodSpec) -> tuple[Architecture, ...]:
        """Return the architectures of the nodes that a pod may use, sorted; empty if nothing takes it."""
        return tuple(sorted({one for each in self._known(spec) for one in each.architectures}))

    def zones(self, spec: PodSpec) -> tuple[str, ...]:
        """Return the zones in which a pod may get a node, sorted."""
        return tuple(sorted({zone for each in self._known(spec) for zone in each.zones if zone is not None}))

    def _known(self, spec: PodSpec) -> tuple[Taker, ...]:
        if spec not in self._takers:
            self._takers[spec] = self.takers(spec)
        return self._takers[spec]

    @property
    def all_architectures(self) -> tuple[Architecture, ...]:
        """The architectures of the stack's nodes, sorted."""
        of_pools = {each for pool in self.pools for each in pool.architectures(pool.all)}
        return tuple(sorted({group.architecture for group in self.groups} | of_pools))


def group_shapes(
    groups: Sequence[NodeGroupPlan], context: SimulationContext, specs: Iterable[PodSpec]
) -> Mapping[str, NodeShape]:
    """Return the shape of each group's nodes, by the group's name.

    Pods may request a node group by the name that EKS gives it; that name is then taken for the group's.
    """
    names = {name for spec in specs for name in list_wanted_values(spec, EKS_NODE_GROUP)}
    return {group.name: build_group_shape(group, context.zones, region=context.region, names=names) for group in groups}
