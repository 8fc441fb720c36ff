"""PodDisruptionBudgets: which pods they select, and how many of them have to stay available.

Source: https://kubernetes.io/docs/tasks/run-application/configure-pdb/ and the disruption controller, which rounds
percentages up for both limits (``pkg/controller/disruption/disruption.go``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from multiarch.manifests.objects import unpack_objects
from multiarch.manifests.selectors import LabelSelector, read_label_selector
from multiarch.manifests.values import Labels, Value

DISRUPTION_BUDGET = "PodDisruptionBudget"
_PERCENT = re.compile(r"([0-9]{1,3})%")
_WHOLE = 100


@dataclass(frozen=True, slots=True)
class PodCount:
    """A number of pods, or a percentage of them."""

    value: int
    percent: bool = False

    def of(self, pods: int) -> int:
        """Return the number for ``pods`` pods, rounded up."""
        return -(-self.value * pods // _WHOLE) if self.percent else self.value

    def __str__(self) -> str:
        """As written: ``3``, ``50%``."""
        return f"{self.value}%" if self.percent else str(self.value)


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """One PodDisruptionBudget. At most one of the two limits is set; without a ``selector`` it selects no pods.

    ``allowed`` is how many of its pods may be evicted now, as the cluster says; 0 in a manifest.
    """

    namespace: str
    name: str
    selector: LabelSelector | None
    min_available: PodCount | None = None
    max_unavailable: PodCount | None = None
    allowed: int = 0

    def selects(self, namespace: str, labels: Labels) -> bool:
        """Return whether it is for the pods with these labels in ``namespace``."""
        return self.selector is not None and namespace == self.namespace and self.selector.matches(dict(labels))

    def least(self, pods: int) -> int:
        """Return the number of its ``pods`` pods that have to stay available. It can be larger than ``pods``."""
        if self.max_unavailable is not None:
            return max(0, pods - self.max_unavailable.of(pods))
        return 0 if self.min_available is None else self.min_available.of(pods)

    @property
    def limit(self) -> str:
        """``minAvailable 3``, ``maxUnavailable 25%``, or ``no limit``."""
        if self.max_unavailable is not None:
            return f"maxUnavailable {self.max_unavailable}"
        return "no limit" if self.min_available is None else f"minAvailable {self.min_available}"

    def __str__(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


def read_disruption_budgets(documents: Iterable[object]) -> Iterator[DisruptionBudget]:
    """Yield the PodDisruptionBudgets of loaded YAML or JSON documents; lists are unpacked, other kinds skipped.

    Raises ManifestError, naming document, kind, name and path, for one that the API server rejects.
    """
    for number, document in enumerate(documents, start=1):
        for each in unpack_objects(document, number):
            if each.kind == DISRUPTION_BUDGET:
                yield _budget(each.namespace, each.name, each.value)


def _budget(namespace: str, name: str, value: Value) -> DisruptionBudget:
    spec = value["spec"]
    least, most = _count(spec["minAvailable"]), _count(spec["maxUnavailable"])
    if least is not None and most is not None:
        raise spec.error("minAvailable and maxUnavailable are both set.", hint="Set one of them.")
    if not name:
        raise value["metadata"]["name"].error("is missing or empty.")
    allowed = value["status"]["disruptionsAllowed"].whole(0, least=0)
    return DisruptionBudget(namespace, name, read_label_selector(spec["selector"]), least, most, allowed)


def parse_percentage(text: str) -> PodCount | None:
    """Return ``25%`` as a share of pods, or None for another string."""
    found = _PERCENT.fullmatch(text)
    return PodCount(int(found[1]), percent=True) if found else None


def _count(value: Value) -> PodCount | None:
    if value.missing:
        return None
    if isinstance(value.raw, str):
        found = parse_percentage(value.raw)
        if found is None or found.value > _WHOLE:
            raise value.error(f"must be a number or a percentage up to 100%, not {value.raw!r}.")
        return found
    return PodCount(value.whole(0, least=0))
