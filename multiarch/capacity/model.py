"""Failures, and what of each workload keeps running during and after them: frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from multiarch.autoscaling.model import Autoscaler
from multiarch.facts.architectures import Architecture
from multiarch.serialization import INLINED, OMITTED, JsonProperty


@dataclass(frozen=True, slots=True)
class CapacityFailure:
    """What fails at the same time.

    Nodes in ``zones``, of ``groups`` (node groups and NodePools), of ``architectures``, and spot nodes of the
    architectures in ``spot`` are lost, and no new ones can be had. The ``largest_nodes`` nodes with the most
    allocatable CPU are lost too; new ones can be had in their place.
    """

    zones: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    spot: tuple[Architecture, ...] = ()
    architectures: tuple[Architecture, ...] = ()
    largest_nodes: int = 0

    @JsonProperty
    def name(self) -> str:
        """Return what fails, in words."""
        return str(self)

    def __str__(self) -> str:
        """``zone eu-west-1b``, ``group general-arm64``, ``arm64 spot``, ``all arm64``, ``2 largest nodes``; with +."""
        parts = [f"zone {each}" for each in self.zones]
        parts += [f"group {each}" for each in self.groups]
        parts += [f"{each} spot" for each in self.spot]
        parts += [f"all {each}" for each in self.architectures]
        if self.largest_nodes:
            parts.append("largest node" if self.largest_nodes == 1 else f"{self.largest_nodes} largest nodes")
        return " + ".join(parts) or "nothing"


NO_FAILURE = CapacityFailure()
"""Nothing fails."""


@dataclass(frozen=True, slots=True)
class OtherWorkloads:
    """The other ``workloads`` of a PodDisruptionBudget, with the number of their pods.

    ``surviving`` of their ``pods`` are on nodes that stay, ``running`` have a node in the end.
    """

    workloads: int
    pods: int
    surviving: int
    running: int


NO_OTHERS = OtherWorkloads(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Minimum:
    """The number of pods that have to run, and ``source``, which says what requires it.

    Pods of ``others`` count too, where a PodDisruptionBudget selects several workloads.
    """

    pods: int
    source: str
    others: OtherWorkloads = field(default=NO_OTHERS, metadata=OMITTED)


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """One workload during and after one failure.

    ``surviving`` pods are on nodes that stay; ``moved`` pods get another node, the last of them after
    ``wait_seconds`` (None if no pod moves); ``pending`` pods get no node until the failure is over. ``limit`` says what
    keeps the pending pods from a node, ``change`` what would help; both are empty without pending pods.
    ``architectures`` are those that its images and scheduling rules allow.
    """

    namespace: str
    name: str
    architectures: tuple[Architecture, ...]
    replicas: int
    minimum: Minimum
    surviving: int
    moved: int
    pending: int
    wait_seconds: int | None = None
    limit: str = ""
    change: str = ""

    @JsonProperty
    def keeps_minimum_throughout(self) -> bool:
        """Return whether the pods on nodes that stay are enough."""
        return self.surviving + self.minimum.others.surviving >= self.minimum.pods

    @JsonProperty
    def keeps_minimum(self) -> bool:
        """Return whether there are enough pods once all that can get another node have got one."""
        return not self.lacking

    @property
    def lacking(self) -> int:
        """How many pods more have to get a node for its minimum."""
        return max(0, self.needed - (self.replicas - self.pending))

    @property
    def needed(self) -> int:
        """How many of its own pods have to run, besides those of other workloads that do."""
        return max(0, self.minimum.pods - self.minimum.others.running)

    @property
    def minimum_text(self) -> str:
        """``minimum 2 (PodDisruptionBudget shop/api: minAvailable 2)``, or ``minimum 12 of the 18 pods of 2 …``."""
        others = self.minimum.others
        scope = f" of the {self.minimum_of} pods of {others.workloads + 1} workloads" if others.workloads else ""
        return f"minimum {self.minimum.pods}{scope} ({self.minimum.source})"

    @JsonProperty
    def minimum_of(self) -> int:
        """Return the number of pods that count for the minimum."""
        return self.replicas + self.minimum.others.pods


class GroupCount(NamedTuple):
    """A number of nodes of one node group or NodePool."""

    group: str
    nodes: int


@dataclass(frozen=True, slots=True)
class FailureResult:
    """What one failure does. ``lost`` and ``added`` are nodes by group, sorted by name."""

    failure: CapacityFailure = field(metadata=INLINED)
    workloads: tuple[WorkloadResult, ...]
    lost: tuple[GroupCount, ...] = ()
    added: tuple[GroupCount, ...] = ()

    @property
    def short(self) -> tuple[WorkloadResult, ...]:
        """The workloads that do not keep their minimum."""
        return tuple(each for each in self.workloads if not each.keeps_minimum)

    @JsonProperty
    def short_workloads(self) -> int:
        """Return the number of workloads that do not keep their minimum."""
        return len(self.short)


@dataclass(frozen=True, slots=True)
class CapacityReport:
    """All failures of one stack, in the order in which they were given.

    ``without_failure`` is the result when nothing fails: pods that are pending there fit nowhere. ``assumptions`` say
    what was assumed for these workloads, ``warnings`` what is wrong with them (contradictory budgets, images that could
    not be read, pods that fit nowhere). docs/explanation/capacity.md says what is never modelled.
    """

    stack: str
    autoscaler: Autoscaler
    without_failure: FailureResult
    failures: tuple[FailureResult, ...]
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def results(self) -> tuple[FailureResult, ...]:
        """The result without a failure, then those of the failures: their numbers in tables."""
        return self.without_failure, *self.failures

    @JsonProperty
    def workloads(self) -> int:
        """Return the number of workloads."""
        return len(self.without_failure.workloads)

    @JsonProperty
    def pods(self) -> int:
        """Return the number of pods."""
        return sum(each.replicas for each in self.without_failure.workloads)
