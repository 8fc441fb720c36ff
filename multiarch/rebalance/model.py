"""What is moved, what stays and why, and how a run ended: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from multiarch.kubernetes.resources import ApiResource
from multiarch.manifests.owners import WorkloadKey
from multiarch.serialization import INLINED, OMITTED


@dataclass(frozen=True, slots=True)
class Controller:
    """An object that replaces pods. ``workload`` is the object at the end of its chain of owners.

    ``selector`` has its pods' labels in kubectl's notation; pods of others may have them too. ``changing`` says why a
    new pod would differ from the one that it replaces; empty if it would not.
    """

    uid: str
    resource: ApiResource
    name: str
    workload: WorkloadKey
    selector: str
    changing: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """A pod to evict. ``target`` is the group of the arm64 node that it is expected on.

    ``controller`` replaces it. ``grace_seconds`` is its termination grace period; ``placeholder`` the spec of a pod
    that needs the same room. ``needs_another``: it is evicted only while another pod of its controller is ready.
    """

    namespace: str
    name: str
    uid: str = field(metadata=OMITTED)
    workload: WorkloadKey
    controller: Controller = field(metadata=OMITTED)
    target: str
    new_node: bool
    grace_seconds: int = field(default=30, metadata=OMITTED)
    needs_another: bool = field(default=False, metadata=OMITTED)
    placeholder: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False, metadata=OMITTED)

    def __str__(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class NodeMoves:
    """An amd64 node and the pods to evict from it, in order. ``pods_left`` counts its other pods, DaemonSets' aside."""

    node: str
    group: str
    moves: tuple[Move, ...]
    pods_left: int


@dataclass(frozen=True, slots=True, order=True)
class Staying:
    """Pods of a workload that could run on arm64 and stay on amd64, for one ``reason``, a clause."""

    workload: WorkloadKey
    reason: str
    pods: int


@dataclass(frozen=True, slots=True, order=True)
class Leftover:
    """A node that an earlier run has cordoned and not uncordoned. ``at`` is when, as it was written."""

    node: str
    run: str
    at: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A node that is left alone, with ``pods`` that could run on arm64. ``by_karpenter``: it moves them itself."""

    node: str
    reason: str
    pods: int
    by_karpenter: bool = False


@dataclass(frozen=True, slots=True)
class MovePlan:
    """What a run would do.

    ``on_amd64`` counts the pods on amd64 nodes that a controller replaces, ``possible`` those of them that tolerate
    arm64 nodes and may run there by their own rules.
    """

    nodes: tuple[NodeMoves, ...]
    staying: tuple[Staying, ...]
    leftovers: tuple[Leftover, ...]
    skipped: tuple[Skipped, ...]
    on_amd64: int
    possible: int

    @property
    def moves(self) -> int:
        """How many pods would be moved."""
        return sum(len(each.moves) for each in self.nodes)

    @property
    def left_to_karpenter(self) -> int:
        """How many pods Karpenter moves itself."""
        return sum(each.pods for each in self.skipped if each.by_karpenter)


class Result(StrEnum):
    """What became of a pod that was to be moved. A run goes on after the first three only."""

    MOVED = "moved"
    LEFT = "left"
    NOT_REPLACED = "not replaced"
    CAME_BACK = "came back to amd64"
    NOT_READY = "not ready"
    PENDING = "no node"
    UNKNOWN = "unknown"
    INTERRUPTED = "interrupted"

    @property
    def failed(self) -> bool:
        """Whether the run stops because of it, and later runs leave the workload alone for a while."""
        return self in (Result.CAME_BACK, Result.NOT_READY, Result.PENDING, Result.UNKNOWN)


@dataclass(frozen=True, slots=True)
class PodOutcome:
    """What became of one pod. ``detail`` is a clause.

    ``node`` is the node of the pod that replaces it, and ``replacement`` that pod's uid, where there is one.
    """

    move: Move = field(metadata=INLINED)
    result: Result
    detail: str = ""
    node: str = ""
    replacement: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run that has ended, and why: ``ended`` is a sentence. ``exit_code`` is not 0 if it had to stop early.

    ``uncordoned`` are nodes of earlier runs; ``still_cordoned`` could not be uncordoned.
    """

    outcomes: tuple[PodOutcome, ...]
    ended: str
    exit_code: int = field(default=0, metadata=OMITTED)
    uncordoned: tuple[str, ...] = ()
    still_cordoned: tuple[str, ...] = ()

    def count(self, result: Result) -> int:
        """Return how many pods ended so."""
        return sum(each.result is result for each in self.outcomes)
