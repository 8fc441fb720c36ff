"""What every solution satisfies: enough nodes for the pods that a failure leaves, whatever node each of them gets.

A need compares sums, so it is necessary and not sufficient: pods do not fill nodes completely. Needs bring the
optimiser near the solution before anything is evaluated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from multiarch.autoscaling.model import Capacity, NodePoolPlan
from multiarch.capacity.failures import unavailable
from multiarch.capacity.model import Failure
from multiarch.capacity.recommendation.tunables import Key, Tunable, Values, pools_by_key, with_values
from multiarch.facts.labels import EKS_NODE_GROUP
from multiarch.facts.node_resources import GIB
from multiarch.nodes.model import NodeGroupPlan
from multiarch.scheduling.fit import Fit, daemon_overhead
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause
from multiarch.simulate.batches import asked_values
from multiarch.simulate.settled import Unavailable
from multiarch.simulate.shapes import group_shape, pool_shape
from multiarch.simulate.simulation import SimulationContext
from multiarch.stack.model import Plan

Amounts = Mapping[str, int]
"""Amounts by resource: ``cpu`` in millicores, ``memory`` in bytes, ``pods``; what is missing has no limit."""


@dataclass(frozen=True, slots=True)
class Need:
    """The values of tunables, each times its weight, add up to ``least`` or more."""

    weights: Mapping[Key, float]
    least: float

    def satisfied(self, values: Values) -> bool:
        """Whether values satisfy it; rounding errors count for them."""
        return sum(weight * values[key] for key, weight in self.weights.items()) >= self.least * (1 - 1e-9)


@dataclass(frozen=True, slots=True)
class Demand:
    """``count`` pods like ``sample`` have to run in ``failure``."""

    failure: Failure
    sample: Pod
    count: int


@dataclass(frozen=True, slots=True)
class _Source:
    """A node group or NodePool, and one of its nodes. ``values`` are what a node, a vCPU or a GiB more gives."""

    owner: NodeGroupPlan | NodePoolPlan
    shape: NodeShape
    values: Mapping[Key, Amounts]

    def refuses(self, pod: Pod, fit: Fit) -> bool:
        """Whether no node takes the pod; False where that is not certain, as with most labels of a NodePool."""
        reason = fit.why_never(pod, self.shape)
        return reason is not None and (isinstance(self.owner, NodeGroupPlan) or reason.cause is Cause.TAINT)

    def is_lost(self, lost: Unavailable) -> bool:
        """Return whether no new node can be had; False where that is not certain."""
        owner = self.owner
        if isinstance(owner, NodePoolPlan):
            return all(lost.why_not(owner.name, each, (None,)) for each in owner.capacities)
        capacity = Capacity(owner.architecture, owner.capacity_type)
        return lost.why_not(owner.name, capacity, owner.zones or (None,)) is not None


class Sources:
    """Where pods can get nodes in a plan whose tunables are to be raised."""

    def __init__(
        self, plan: Plan, tunables: Sequence[Tunable], pods: Iterable[Pod], context: SimulationContext
    ) -> None:
        """``pods`` are all pods of the evaluation, the templates of DaemonSets included."""
        everything = list(pods)
        self._present = {each.key: each.present for each in tunables}
        # With all the zones that they can have, so that no need is too strict.
        plan = with_values(plan, {each.key: each.most for each in tunables if each.most is not None})
        self._plan = plan
        self._fit = Fit()
        daemons = [pod for pod in everything if pod.per_node]
        specs = {id(pod.spec): pod.spec for pod in everything}.values()
        names = {name for spec in specs for name in asked_values(spec, EKS_NODE_GROUP)}
        self._sources = [*_groups(plan, self._present, daemons, names, context), *_pools(plan, self._present, context)]
        self._usable: dict[int, frozenset[int]] = {}

    def needs(self, demands: Sequence[Demand]) -> Iterator[Need]:
        """Yield the needs that the present values do not satisfy."""
        by_failure: dict[Failure, list[Demand]] = {}
        for demand in demands:
            by_failure.setdefault(demand.failure, []).append(demand)
        for failure, own in by_failure.items():
            lost = unavailable(failure, self._plan)
            there = {number for number, source in enumerate(self._sources) if not source.is_lost(lost)}
            usable = [self._usable_by(demand.sample) & there for demand in own]
            for chosen in dict.fromkeys(usable):
                total: Counter[str] = Counter()
                for demand, sources in zip(own, usable, strict=True):
                    if sources <= chosen:
                        asked = demand.sample.requests
                        total.update({"cpu": asked.cpu * demand.count, "memory": asked.memory * demand.count})
                        total["pods"] += demand.count
                for resource, amount in total.items():
                    yield from self._need(chosen, resource, amount)

    def _usable_by(self, pod: Pod) -> frozenset[int]:
        key = id(pod.spec)
        if key not in self._usable:
            self._usable[key] = frozenset(
                number for number, source in enumerate(self._sources) if not source.refuses(pod, self._fit)
            )
        return self._usable[key]

    def _need(self, sources: frozenset[int], resource: str, amount: int) -> Iterator[Need]:
        weights: Counter[Key] = Counter()
        for number in sources:
            limits = [key for key, amounts in self._sources[number].values.items() if resource in amounts]
            if not limits:
                return  # nothing limits it
            weights[limits[0]] += self._sources[number].values[limits[0]][resource]
        if weights and sum(weight * self._present[key] for key, weight in weights.items()) < amount:
            yield Need({key: weight / amount for key, weight in weights.items()}, 1.0)


def _groups(
    plan: Plan, present: Mapping[Key, int], daemons: Sequence[Pod], names: set[str], context: SimulationContext
) -> Iterator[_Source]:
    for group in plan.node_groups:
        shape = group_shape(group, context.zones, region=context.region, names=names)
        free = shape.allocatable - daemon_overhead(daemons, shape)
        key = next(key for name in ("maxSize", "desiredSize") if (key := (*group.path, name)) in present)
        yield _Source(group, shape, {key: {"cpu": free.cpu, "memory": free.memory, "pods": free.pods}})


def _pools(plan: Plan, present: Mapping[Key, int], context: SimulationContext) -> Iterator[_Source]:
    karpenter = plan.autoscaling.karpenter
    if karpenter is None:
        return
    for key, pools in pools_by_key(plan).items():
        limits = {(*key, "cpuLimit"): {"cpu": 1000}, (*key, "memoryLimit"): {"memory": GIB}}
        for pool in pools:
            shape = pool_shape(pool, karpenter.node_class, pool.instance_types[0], context.zones, region=context.region)
            yield _Source(pool, shape, {each: amounts for each, amounts in limits.items() if each in present})
