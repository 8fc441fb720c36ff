"""The result of a simulation: frozen values that the command line shows and tests compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from multiarch.autoscaling.model import Autoscaler
from multiarch.facts.architectures import Architecture
from multiarch.scheduling.pods import Pod
from multiarch.serialization import JsonProperty

EXPECTED_ZONE = "the autoscaler expects new nodes in"
"""How the reason begins where a group would help in another of its zones."""


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """The node of one pod. ``group`` is a node group or NodePool; ``new`` means that the node does not exist yet.

    ``architectures`` are those that the node can have, sorted: both where a NodePool buys either and prices decide.
    """

    pod: str
    group: str
    node: str
    new: bool
    architectures: tuple[Architecture, ...]


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """What one node group or NodePool does for a workload.

    ``rank`` is its position among those that the autoscaler tries for the workload, from 1; None where the workload
    can't use it or no autoscaler adds nodes to it. ``pods`` is the number of pods on its nodes. ``reason`` says why it
    got no pods; for a group that got some, why it took no more, or empty.
    """

    group: str
    rank: int | None
    usable: bool
    pods: int
    reason: str


@dataclass(frozen=True, slots=True)
class WorkloadOutcome:
    """Pods with the same spec: the node of each, and one answer for each node group and NodePool.

    ``unplaced`` are names of pods without a node; ``notes`` say what of their spec is not modelled. ``on_amd64`` is
    the number of pods on amd64 nodes that some arm64 node would take, if it had room.
    """

    name: str
    namespace: str
    pods: int
    answers: tuple[GroupAnswer, ...]
    places: tuple[PodPlacement, ...]
    unplaced: tuple[str, ...]
    notes: tuple[str, ...]
    on_amd64: int = 0


@dataclass(frozen=True, slots=True)
class SimulatedDaemonSet:
    """A DaemonSet: what it requests on each node that it runs on, CPU in millicores and memory in bytes."""

    name: str
    namespace: str
    nodes: int
    cpu: int
    memory: int


class TypeCount(NamedTuple):
    """A number of nodes of one instance type."""

    instance_type: str
    nodes: int


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """One node group or NodePool after the simulation. CPU in millicores, memory in bytes.

    ``scaled_by`` is None for node groups that no autoscaler grows; ``preference`` is the expander's priority or the
    NodePool's weight. ``existing`` and ``new`` are numbers of nodes; ``allocatable`` and ``requested`` are sums over
    both, DaemonSets included in ``requested``. ``instance_types`` counts new nodes by instance type.
    """

    name: str
    kind: str
    scaled_by: Autoscaler | None
    preference: int | None
    existing: int
    new: int
    max_size: int | None
    instance_types: tuple[TypeCount, ...]
    pods: int
    cpu_allocatable: int
    cpu_requested: int
    memory_allocatable: int
    memory_requested: int

    @JsonProperty
    def cpu_waste(self) -> int:
        """Return millicores that no pod requests."""
        return self.cpu_allocatable - self.cpu_requested

    @JsonProperty
    def memory_waste(self) -> int:
        """Return bytes that no pod requests."""
        return self.memory_allocatable - self.memory_requested


class OmittedPods(NamedTuple):
    """Pods that are not simulated; ``why`` follows their number."""

    why: str
    pods: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result.

    ``omitted`` counts pods that were not simulated, by reason; ``notes`` say what is assumed or omitted for these
    pods. docs/explanation/simulation.md says what is never simulated, and where the real autoscalers differ.
    """

    autoscaler: Autoscaler
    groups: tuple[GroupOutcome, ...]
    workloads: tuple[WorkloadOutcome, ...]
    daemon_sets: tuple[SimulatedDaemonSet, ...]
    omitted: tuple[OmittedPods, ...]
    notes: tuple[str, ...]

    @property
    def unplaced(self) -> int:
        """The number of pods without a node."""
        return sum(len(workload.unplaced) for workload in self.workloads)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Pods that differ in nothing but their names: judged once, placed one by one.

    ``depends_on_pods``: they have topology spread constraints, pod affinity or anti-affinity. ``counted``: such a rule
    of some pod selects them.
    """

    number: int
    name: str
    pods: tuple[Pod, ...]
    depends_on_pods: bool
    counted: bool

    @property
    def sample(self) -> Pod:
        """One of the pods."""
        return self.pods[0]


Waiting = dict[Batch, list[Pod]]
"""Pods without a node, by batch, in their order."""


@dataclass(slots=True)
class Reasons:
    """Why a group took no pod of a batch when it was tried, by the batch's number and the group's name.

    ``rejected``: the group can't take it; ``outranked``: the expander chose another group.
    """

    rejected: dict[tuple[int, str], str] = field(default_factory=dict)
    outranked: dict[tuple[int, str], str] = field(default_factory=dict)

    def get(self, batch: Batch, group: str) -> str:
        """Return the reason, or an empty string."""
        return self.rejected.get((batch.number, group)) or self.outranked.get((batch.number, group), "")
