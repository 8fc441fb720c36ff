"""The part of a pod's spec that decides where it may run, as one frozen value that many pods share."""

from __future__ import annotations

from dataclasses import dataclass, field

from multiarch.facts.tolerations import Toleration
from multiarch.manifests.values import Value
from multiarch.scheduling.affinity import NodeAffinity, read_node_affinity
from multiarch.scheduling.priorities import PriorityClasses
from multiarch.scheduling.requests import sum_assumed_requests, sum_requests
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.scheduling.tolerations import read_tolerations
from multiarch.scheduling.topology_rules import (
    PodTerm,
    PreferredPodTerm,
    SpreadConstraint,
    read_pod_terms,
    read_preferred_pod_terms,
    read_spread,
)
from multiarch.scheduling.unmodelled import find_unmodelled

_NOT_READ = frozenset(("nodeName", "hostname", "ephemeralContainers", "serviceAccountName", "securityContext"))
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_NOT_READ_OF_CONTAINERS = frozenset(
    (*_PROBES, "args", "command", "env", "envFrom", "image", "name", "securityContext", "volumeMounts")
)


@dataclass(frozen=True, slots=True)
class PodSpec:
    """What a pod requires of a node, name, labels and images omitted, so that all pods of a workload are equal here.

    ``assumed`` is what kube-scheduler's scores add to ``requests`` for containers without requests; it is not reserved.
    Preferred terms about other pods exclude no node; Karpenter honors them as long as it can.
    ``priority`` is ``None`` where only the class's name is known; ``preempts``: the pod may take the place of pods of
    lower priority. ``unmodelled`` are clauses about what is requested
    and not checked. Its hash is computed once: specs are keys of caches.
    """

    requests: ResourceAmounts = field(default_factory=lambda: ResourceAmounts(pods=1))
    tolerations: tuple[Toleration, ...] = ()
    affinity: NodeAffinity = field(default_factory=NodeAffinity)
    spread: tuple[SpreadConstraint, ...] = ()
    pod_affinity: tuple[PodTerm, ...] = ()
    pod_anti_affinity: tuple[PodTerm, ...] = ()
    preferred_pod_affinity: tuple[PreferredPodTerm, ...] = ()
    preferred_pod_anti_affinity: tuple[PreferredPodTerm, ...] = ()
    priority: int | None = 0
    priority_class: str = ""
    preempts: bool = True
    operating_system: str = "linux"
    unmodelled: tuple[str, ...] = ()
    assumed: ResourceAmounts = field(default_factory=ResourceAmounts)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash."""
        parts = (self.requests, self.tolerations, self.affinity, self.spread, self.pod_affinity, self.pod_anti_affinity)
        preferred = (self.preferred_pod_affinity, self.preferred_pod_anti_affinity)
        object.__setattr__(
            self,
            "_hash",
            hash((*parts, *preferred, self.priority, self.priority_class, self.operating_system, self.unmodelled)),
        )

    def __hash__(self) -> int:
        """The hash of all parts."""
        return self._hash


class PodSpecs:
    """Reads pods' specs so that equal ones are one object, and the pods of one workload are read once."""

    def __init__(self, classes: PriorityClasses) -> None:
        """Start with nothing read; pods are of ``classes``."""
        self._classes = classes
        self._read: dict[str, PodSpec] = {}
        self._shared: dict[PodSpec, PodSpec] = {}

    def read(
        self, value: Value, *, more_tolerations: tuple[Toleration, ...] = (), more_unmodelled: tuple[str, ...] = ()
    ) -> PodSpec:
        """Read a pod's ``spec`` like :func:`read_pod_spec`."""
        added = (more_tolerations, more_unmodelled)
        written = repr((_what_matters(value.raw), added))
        if written not in self._read:
            spec = read_pod_spec(value, more_tolerations=added[0], more_unmodelled=added[1], classes=self._classes)
            self._read[written] = self._shared.setdefault(spec, spec)
        return self._read[written]


def read_pod_spec(
    value: Value,
    *,
    more_tolerations: tuple[Toleration, ...] = (),
    more_unmodelled: tuple[str, ...] = (),
    classes: PriorityClasses | None = None,
) -> PodSpec:
    """Read a pod's ``spec``. Raises ManifestError, naming document, object and path, for what the API server rejects.

    ``more_tolerations`` are those that a controller adds and the pod does not have yet; ``more_unmodelled`` is what
    the object around the pod requests; ``classes`` are the cluster's PriorityClasses.
    """
    priority = (classes or PriorityClasses()).of(value)
    written = read_tolerations(value["tolerations"])
    tolerations = (*written, *(added for added in more_tolerations if added not in written))
    requests = sum_requests(value)
    affinity = read_pod_terms(value["affinity"]["podAffinity"])
    anti_affinity = read_pod_terms(value["affinity"]["podAntiAffinity"])
    return PodSpec(
        requests=requests,
        tolerations=tolerations,
        affinity=read_node_affinity(value),
        spread=read_spread(value["topologySpreadConstraints"]),
        pod_affinity=affinity,
        pod_anti_affinity=anti_affinity,
        preferred_pod_affinity=read_preferred_pod_terms(value["affinity"]["podAffinity"]),
        preferred_pod_anti_affinity=read_preferred_pod_terms(value["affinity"]["podAntiAffinity"]),
        priority=priority.value,
        priority_class=value["priorityClassName"].text(),
        preempts=priority.preempts,
        operating_system=value["os"]["name"].text() or "linux",
        unmodelled=(*find_unmodelled(value, written, (*affinity, *anti_affinity)), *more_unmodelled),
        assumed=sum_assumed_requests(value, requests),
    )


def _what_matters(raw: object) -> object:
    """Return what is written, without what differs between the pods of a workload and is not read here.

    Every field that is kept can make two pods differ, which takes time; every field that is read must be kept.
    """
    if not isinstance(raw, dict):
        return raw
    kept = {key: part for key, part in raw.items() if key not in _NOT_READ}
    for key in ("containers", "initContainers"):
        if isinstance(containers := raw.get(key), list):
            kept[key] = [_resources_and_ports(container) for container in containers]
    if isinstance(volumes := raw.get("volumes"), list):
        kept["volumes"] = [sorted(volume, key=str) if isinstance(volume, dict) else volume for volume in volumes]
    return kept


def _resources_and_ports(container: object) -> object:
    if not isinstance(container, dict):
        return container
    return {key: part for key, part in container.items() if key not in _NOT_READ_OF_CONTAINERS}
