"""What a simulation says: frozen values that the command line shows and tests compare."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.autoscaling.model import Autoscaler
from multiarch.facts.architectures import Architecture
from multiarch.scheduling.pods import Pod


@dataclass(frozen=True, slots=True)
class Place:
    """Where one pod goes: ``group`` is a node group or NodePool; ``new`` that its node is not there yet.

    ``architectures`` are those that its node can have, sorted: both where a NodePool buys either and prices decide.
    """

    pod: str
    group: str
    node: str
    new: bool
    architectures: tuple[Architecture, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one group is to a workload.

    ``rank`` is its place among the groups that the autoscaler tries for it, from 1, or None where it can't use the
    group or nobody adds nodes to it. ``pods`` are those that got a node of it. ``reason`` says why it got no pod, or
    why no more of them, and is empty where it got all that were left.
    """

    group: str
    rank: int | None
    usable: bool
    pods: int
    reason: str


@dataclass(frozen=True, slots=True)
class WorkloadOutcome:
    """Pods that ask for the same: where each goes, and what each group is to them.

    ``unplaced`` are pods' names; ``notes`` what applies to them and is not modelled.
    """

    name: str
    namespace: str
    pods: int
    answers: tuple[Answer, ...]
    places: tuple[Place, ...]
    unplaced: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """One node group or NodePool after the simulation. CPU in millicores, memory in bytes.

    ``scaled_by`` is None for node groups that no autoscaler grows; ``preference`` is the expander's priority or the
    NodePool's weight. ``allocatable`` and ``requested`` are sums over its nodes, there and new; ``overhead`` of
    DaemonSets is part of ``requested``. ``instance_types`` counts new nodes by type.
    """

    name: str
    kind: str
    scaled_by: Autoscaler | None
    preference: int | None
    there: int
    new: int
    most: int | None
    instance_types: tuple[tuple[str, int], ...]
    pods: int
    cpu_allocatable: int
    cpu_requested: int
    memory_allocatable: int
    memory_requested: int

    @property
    def cpu_waste(self) -> int:
        """Millicores that nobody asked for."""
        return self.cpu_allocatable - self.cpu_requested

    @property
    def memory_waste(self) -> int:
        """Bytes that nobody asked for."""
        return self.memory_allocatable - self.memory_requested


@dataclass(frozen=True, slots=True)
class Simulation:
    """The whole answer. ``left_out`` counts pods that were not simulated by why; ``notes`` is what is not modelled."""

    autoscaler: Autoscaler
    groups: tuple[GroupOutcome, ...]
    workloads: tuple[WorkloadOutcome, ...]
    left_out: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]

    @property
    def unplaced(self) -> int:
        """Pods that got no node."""
        return sum(len(workload.unplaced) for workload in self.workloads)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Pods that nothing tells apart but their names: judged once, placed one by one.

    ``ruled`` tells whether other pods' places matter to them, ``counted`` whether theirs matter to any.
    """

    number: int
    name: str
    pods: tuple[Pod, ...]
    ruled: bool
    counted: bool

    @property
    def sample(self) -> Pod:
        """Any of the pods."""
        return self.pods[0]
