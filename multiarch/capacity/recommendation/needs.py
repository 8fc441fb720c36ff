"""What every solution satisfies: enough nodes for the pods that a failure leaves, whatever node each of them gets.

A need compares sums, so it is necessary and not sufficient: pods do not fill nodes completely. Needs bring the
optimiser near the solution before anything is evaluated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from multiarch.capacity.failures import list_unavailable
from multiarch.capacity.model import CapacityFailure
from multiarch.capacity.recommendation.tunables import Key, Tunable, Values, group_pools, with_values
from multiarch.facts.node_resources import GIB
from multiarch.scheduling.fit import sum_daemon_overhead
from multiarch.scheduling.pods import Pod
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.settled import Unavailable
from multiarch.simulate.supply import Supply
from multiarch.stack.model import Plan

Amounts = Mapping[str, int]
"""Amounts by resource: ``cpu`` in millicores, ``memory`` in bytes, ``pods``; what is missing has no limit."""


@dataclass(frozen=True, slots=True)
class Need:
    """The values of tunables, each times its weight, add up to ``least`` or more."""

    weights: Mapping[Key, float]
    least: float

    def satisfied(self, values: Values) -> bool:
        """Return whether values satisfy it; rounding errors count for them."""
        return sum(weight * values[key] for key, weight in self.weights.items()) >= self.least * (1 - 1e-9)


@dataclass(frozen=True, slots=True)
class Demand:
    """``count`` pods like ``sample`` have to run in ``failure``."""

    failure: CapacityFailure
    sample: Pod
    count: int


class NodeSources:
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
        self._supply = Supply(plan.autoscaling, plan.node_groups, context, everything)
        self._gives: dict[str, Mapping[Key, Amounts]] = {}
        """What a node, a vCPU or a GiB more of a node group or NodePool gives, by its name."""
        self._paths = {group.name: group.path for group in plan.node_groups}
        daemons = [pod for pod in everything if pod.per_node]
        for group in plan.node_groups:
            shape = self._supply.shapes[group.name]
            free = shape.allocatable - sum_daemon_overhead(daemons, shape)
            amounts = {"cpu": free.cpu, "memory": free.memory, "pods": free.pods}
            sizes = [(*group.path, name) for name in ("maxSize", "desiredSize")]
            self._gives[group.name] = {key: amounts for key in sizes if key in self._present}
        for path, pools in group_pools(plan).items():
            limits = {(*path, "cpuLimit"): {"cpu": 1000}, (*path, "memoryLimit"): {"memory": GIB}}
            for pool in pools:
                self._paths[pool.name] = path
                self._gives[pool.name] = {key: each for key, each in limits.items() if key in self._present}
        self._usable: dict[int, frozenset[str]] = {}

    def paths(self, pod: Pod) -> set[Key]:
        """Return the paths in the stack file of the node groups and NodePools that may take a pod."""
        return {self._paths[name] for name in self._usable_by(pod) & self._paths.keys()}

    def needs(self, demands: Sequence[Demand]) -> Iterator[Need]:
        """Yield the needs that the present values do not satisfy."""
        by_failure: dict[CapacityFailure, list[Demand]] = {}
        for demand in demands:
            by_failure.setdefault(demand.failure, []).append(demand)
        for failure, own in by_failure.items():
            lost = list_unavailable(failure, self._plan)
            there = self._names(lost)
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

    def _names(self, lost: Unavailable) -> frozenset[str]:
        """Return the node groups and NodePools that can have new nodes, or may be able to."""
        groups = {each.name for each in self._plan.node_groups if lost.why_no_node(each, each.zones) is None}
        pools = {
            pool.plan.name
            for pool in self._supply.pools
            if not all(lost.why_not(pool.plan.name, each, (None,)) for each in pool.plan.capacities)
        }
        return frozenset(self._gives.keys() & (groups | pools))

    def _usable_by(self, pod: Pod) -> frozenset[str]:
        key = id(pod.spec)
        if key not in self._usable:
            self._usable[key] = frozenset(each.name for each in self._supply.takers(pod.spec))
        return self._usable[key]

    def _need(self, sources: frozenset[str], resource: str, amount: int) -> Iterator[Need]:
        weights: Counter[Key] = Counter()
        for name in sorted(sources):
            limits = [key for key, amounts in self._gives[name].items() if resource in amounts]
            if not limits:
                return  # nothing limits it
            weights[limits[0]] += self._gives[name][limits[0]][resource]
        if weights and sum(weight * self._present[key] for key, weight in weights.items()) < amount:
            yield Need({key: weight / amount for key, weight in weights.items()}, 1.0)
