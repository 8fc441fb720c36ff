"""What pods prefer about other pods: spread over hosts and zones, near to some, apart from others.

No preference keeps a pod off a node; kube-scheduler's scores weigh them against everything else
(:mod:`multiarch.scheduling.scores`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from multiarch.facts.labels import HOSTNAME, ZONE
from multiarch.manifests.owners import WorkloadKey
from multiarch.scheduling.nodes import Node
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.scores import DEFAULT_SPREAD, SoftSpread
from multiarch.scheduling.topology import Placements
from multiarch.scheduling.topology_rules import BoundTerm

_WITH_SELECTOR = frozenset(("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"))
"""Controllers with a selector, by which kube-scheduler spreads their pods; a Deployment's pods have its ReplicaSet."""


class PodsByController:
    """How many pods of each controller are on each node and in each zone."""

    def __init__(self, samples: Iterable[Pod]) -> None:
        """Count the pods of the controllers of ``samples`` only."""
        self._counts: dict[WorkloadKey, tuple[Counter[str], Counter[str | None]]] = {}
        for sample in samples:
            if sample.owner is not None and _spread_by_default(sample):
                self._counts[sample.owner] = Counter(), Counter()

    def place(self, pod: Pod, node: Node) -> None:
        """Count a pod that gets a node."""
        if pod.owner is not None and (found := self._counts.get(pod.owner)):
            found[0][node.name] += 1
            found[1][node.labels.get(ZONE)] += 1

    def of(self, pod: Pod) -> tuple[Counter[str], Counter[str | None]]:
        """Return the number of pods by node and by zone, which change as pods are placed."""
        known = self._counts.get(pod.owner) if pod.owner is not None else None
        return known or (Counter(), Counter())


class SoftRules:
    """The preferences of one batch's pods.

    ``spread`` are topologies to spread over. ``any``: there are preferences at all; ``by_host``: nodes of one zone can
    differ in them.
    """

    def __init__(
        self, sample: Pod, terms: Iterable[BoundTerm], placements: Placements, counts: PodsByController
    ) -> None:
        """``terms`` are those by which other pods may attract the pods or repel them."""
        self._sample = sample
        self._placements = placements
        self._by_default = _spread_by_default(sample)
        self._on, self._in = counts.of(sample)
        own = (SoftSpread(each.topology_key, each.max_skew) for each in sample.spec.spread if not each.hard)
        self.spread = DEFAULT_SPREAD if self._by_default else tuple(own)
        labels = dict(sample.labels)
        preferred = (*sample.spec.preferred_pod_affinity, *sample.spec.preferred_pod_anti_affinity)
        keys = {each.term.topology_key for each in preferred}
        keys |= {term.topology_key for term in terms if term.selects(sample.namespace, labels)}
        self._attracted, self._attracted_by_host = bool(keys), HOSTNAME in keys
        self.any = bool(keys or self.spread)
        self.by_host = HOSTNAME in keys or any(each.topology_key == HOSTNAME for each in self.spread)

    def spread_counts(self, node: Node) -> tuple[tuple[str | None, int], ...]:
        """Return for each of ``spread`` the domain of a node, and the number of pods there that count."""
        if self._by_default:
            zone = node.labels.get(ZONE)
            return (node.name, self._on[node.name]), (zone, self._in[zone])
        if not self.spread:
            return ()
        counts = self._placements.soft_counts(self._sample, node)
        return tuple((node.labels.get(each.topology_key), n) for each, n in zip(self.spread, counts, strict=True))

    def attraction(self, node: Node) -> int:
        """Return how much other pods attract the pods to a node; negative where they repel them."""
        return self._placements.attraction(self._sample, node) if self._attracted else 0

    def host_counts(self, node: Node) -> tuple[int, ...]:
        """Return what of these differs between the nodes of one zone."""
        if not self.by_host:
            return ()
        found = [
            count
            for each, (_, count) in zip(self.spread, self.spread_counts(node), strict=True)
            if each.topology_key == HOSTNAME
        ]
        if self._attracted_by_host:
            found.append(self._placements.attraction(self._sample, node, by=HOSTNAME))
        return tuple(found)


def _spread_by_default(pod: Pod) -> bool:
    return not pod.spec.spread and pod.owner is not None and pod.owner.kind in _WITH_SELECTOR
