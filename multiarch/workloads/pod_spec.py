"""The part of a pod's spec that decides where it may run, as one frozen value that many pods share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from multiarch.workloads.affinity import NodeAffinity, node_affinity_from
from multiarch.workloads.manifest_values import Value
from multiarch.workloads.requests import requests_of
from multiarch.workloads.resources import Resources
from multiarch.workloads.terms import PodTerm, SpreadConstraint, pod_terms_from, spread_from
from multiarch.workloads.tolerations import Toleration, tolerations_from
from multiarch.workloads.unmodelled import unmodelled_in

_SYSTEM_PRIORITIES: Mapping[str, int] = MappingProxyType(
    {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
)
"""The classes that every cluster has. https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/"""


@dataclass(frozen=True, slots=True)
class PodSpec:
    """What a pod asks of a node, name, labels and images left out, so that all pods of a workload are equal here.

    ``priority`` is ``None`` where only the class's name is known. ``unmodelled`` are clauses about what is asked for
    and judged by nobody here. Its hash is computed once: specs are keys of caches.
    """

    requests: Resources = field(default_factory=lambda: Resources(pods=1))
    tolerations: tuple[Toleration, ...] = ()
    affinity: NodeAffinity = field(default_factory=NodeAffinity)
    spread: tuple[SpreadConstraint, ...] = ()
    pod_affinity: tuple[PodTerm, ...] = ()
    pod_anti_affinity: tuple[PodTerm, ...] = ()
    priority: int | None = 0
    priority_class: str = ""
    unmodelled: tuple[str, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash."""
        parts = (self.requests, self.tolerations, self.affinity, self.spread, self.pod_affinity, self.pod_anti_affinity)
        object.__setattr__(self, "_hash", hash((*parts, self.priority, self.priority_class, self.unmodelled)))

    def __hash__(self) -> int:
        """The hash of all parts."""
        return self._hash


def pod_spec_from(value: Value, *, more_tolerations: tuple[Toleration, ...] = ()) -> PodSpec:
    """Read a pod's ``spec``. Raises ManifestError, naming document, object and path, for what the API server refuses.

    ``more_tolerations`` are those that a controller adds and the pod does not have yet.
    """
    written = tolerations_from(value["tolerations"])
    tolerations = (*written, *(added for added in more_tolerations if added not in written))
    spread = spread_from(value["topologySpreadConstraints"])
    affinity = pod_terms_from(value["affinity"]["podAffinity"])
    anti_affinity = pod_terms_from(value["affinity"]["podAntiAffinity"])
    return PodSpec(
        requests=requests_of(value),
        tolerations=tolerations,
        affinity=node_affinity_from(value),
        spread=spread,
        pod_affinity=affinity,
        pod_anti_affinity=anti_affinity,
        priority=_priority(value),
        priority_class=value["priorityClassName"].text(),
        unmodelled=tuple(unmodelled_in(value, written, spread, (*affinity, *anti_affinity))),
    )


def _priority(value: Value) -> int | None:
    if not value["priority"].missing:
        return value["priority"].whole(0, least=-(2**31))
    name = value["priorityClassName"].text()
    return _SYSTEM_PRIORITIES.get(name) if name else 0
