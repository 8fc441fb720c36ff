"""Which pods come first, and which may take the place of others: PriorityClasses, and what pods say themselves.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from multiarch.manifests.objects import Object
from multiarch.manifests.values import Value

PRIORITY_CLASS = "PriorityClass"
_LEAST = -(2**31)
_NEVER = "Never"


@dataclass(frozen=True, slots=True)
class PodPriority:
    """The rank of a pod, higher first; ``None`` where only the class's name is known.

    ``preempts``: the pod may take the place of pods of lower priority.
    """

    value: int | None = 0
    preempts: bool = True


_SYSTEM: Mapping[str, PodPriority] = MappingProxyType(
    {"system-cluster-critical": PodPriority(2_000_000_000), "system-node-critical": PodPriority(2_000_001_000)}
)
"""The classes that every cluster has."""


class PriorityClasses:
    """The PriorityClasses of a stream of objects, and those that every cluster has."""

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        """Read the PriorityClasses among ``objects``. Raises ManifestError for what the API server rejects."""
        self._by_name = dict(_SYSTEM)
        self._default = PodPriority()
        for each in objects:
            if each.kind == PRIORITY_CLASS:
                made = PodPriority(
                    each.value["value"].whole(0, least=_LEAST), each.value["preemptionPolicy"].text() != _NEVER
                )
                self._by_name[each.name] = made
                if each.value["globalDefault"].truth():
                    self._default = made

    def of(self, pod_spec: Value) -> PodPriority:
        """Return the priority of a pod. What a live pod says itself comes first: it was filled in from its class."""
        name = pod_spec["priorityClassName"].text()
        known = self._by_name.get(name, PodPriority(None)) if name else self._default
        value, policy = pod_spec["priority"], pod_spec["preemptionPolicy"]
        return PodPriority(
            known.value if value.missing else value.whole(0, least=_LEAST),
            known.preempts if policy.missing else policy.text() != _NEVER,
        )
