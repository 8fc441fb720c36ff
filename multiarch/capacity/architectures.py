"""Which architectures of a stack's nodes a pod may be on, whether or not there is room."""

from __future__ import annotations

from collections.abc import Iterable

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import EKS_NODE_GROUP
from multiarch.scheduling.fit import Fit
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause
from multiarch.simulate.batches import asked_values, mentioned
from multiarch.simulate.pools import Pool
from multiarch.simulate.shapes import group_shape
from multiarch.simulate.simulation import SimulationContext
from multiarch.stack.model import Plan

_SIZE = (Cause.RESOURCES, Cause.POD_COUNT)


class AllowedArchitectures:
    """Judges pods by taints, node selector and affinity; pods with the same spec once."""

    def __init__(self, plan: Plan, context: SimulationContext, pods: Iterable[Pod]) -> None:
        """``pods`` are those that are asked about later."""
        specs = {pod.spec for pod in pods}
        names = {name for spec in specs for name in asked_values(spec, EKS_NODE_GROUP)}
        self._shapes = [
            group_shape(group, context.zones, region=context.region, names=names) for group in plan.node_groups
        ]
        karpenter = plan.autoscaling.karpenter
        keys = frozenset(key for spec in specs for key in mentioned(spec))
        self._pools = [
            Pool(each, karpenter.node_class, context.zones, keys, region=context.region)
            for each in (karpenter.pools if karpenter else ())
            if karpenter and each.instance_types
        ]
        of_pools = {each for pool in self._pools for each in pool.architectures(pool.all)}
        self.all = tuple(sorted({shape.architecture for shape in self._shapes} | of_pools))
        """The architectures of the stack's nodes, sorted."""
        self._fit = Fit()
        self._known: dict[PodSpec, tuple[tuple[Architecture, ...], tuple[str, ...]]] = {}

    def of(self, pod: Pod) -> tuple[Architecture, ...]:
        """The architectures of node groups and NodePools that ``pod`` may use, sorted; empty if it fits none."""
        return self._judged(pod)[0]

    def zones(self, pod: Pod) -> tuple[str, ...]:
        """The zones in which these may give it a node, sorted."""
        return self._judged(pod)[1]

    def _judged(self, pod: Pod) -> tuple[tuple[Architecture, ...], tuple[str, ...]]:
        if pod.spec not in self._known:
            found: set[Architecture] = set()
            zones: set[str | None] = set()
            for shape in self._shapes:
                why = self._fit.why_never(pod, shape)
                if why is None or why.cause in _SIZE:
                    found.add(shape.architecture)
                    zones.update(self._fit.zones(pod, shape))
            for pool in self._pools:
                offer = pool.offer(pod.spec, soft_taints=False)
                if offer is not None:
                    found.update(pool.architectures(offer.types))
                    zones.update(offer.zones)
            self._known[pod.spec] = tuple(sorted(found)), tuple(sorted(each for each in zones if each is not None))
        return self._known[pod.spec]
