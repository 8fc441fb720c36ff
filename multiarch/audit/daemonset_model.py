"""The values of an audit of DaemonSets: its input and its results."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.images.model import Judgement
from multiarch.manifests.values import Labels
from multiarch.scheduling.pod_spec import PodSpec

NODE_NAME = "metadata.name"
"""Not a label, but what ``matchFields`` and ``nodeName`` compare."""


class DaemonSetOutcome(StrEnum):
    """What happens to a DaemonSet's pods on a group of nodes.

    ``FAILS``: they are scheduled to its nodes and can't start there. ``KEPT_OFF``: the architecture alone keeps them
    off, by a label, a taint or both. ``EXCLUDED``: something else does, as it would on nodes of the other architecture.
    """

    FAILS = "fails"
    KEPT_OFF = "does not run"
    UNKNOWN = "unknown"
    RUNS = "runs"
    EXCLUDED = "excluded"


WORST_FIRST = tuple(DaemonSetOutcome)
"""Of several outcomes in one cell the first of these is shown."""


class CellCause(StrEnum):
    """What a reason is about."""

    IMAGE = "image"
    TAINT = "taint"
    NODE_SELECTOR = "node-selector"
    NODE_AFFINITY = "node-affinity"
    NODE_NAME = "node-name"
    OPERATING_SYSTEM = "operating-system"
    STAND_IN = "stand-in"
    CONFIGURATION = "configuration"


@dataclass(frozen=True, slots=True)
class CellReason:
    """One reason, a clause without a full stop. ``of_architecture``: it is one because of the nodes' architecture."""

    cause: CellCause
    text: str
    of_architecture: bool = False


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a DaemonSet, with its image's judgement for both architectures."""

    name: str
    role: str
    image: str
    judgements: tuple[Judgement, ...]

    def judged(self, architecture: Architecture) -> Judgement:
        """The judgement of one architecture. Raises StopIteration for one that was not asked for."""
        return next(each for each in self.judgements if each.architecture is architecture)


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a field of a pod's spec asks of a node's label or name; ``text`` is a clause."""

    cause: CellCause
    key: str
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """A DaemonSet. ``spec`` holds the tolerations that its controller adds.

    ``add_on`` names the EKS add-on that brings it; ``source`` says where what is known about it was published. Both are
    empty for one that was read itself. ``doubt`` says why nothing is certain about it, if so. ``requires`` are
    ``nodeName`` and ``os`` of its pods, which no node selector says.
    """

    namespace: str
    name: str
    spec: PodSpec
    containers: tuple[Container, ...]
    add_on: str = ""
    source: str = ""
    doubt: str = ""
    requires: tuple[Requirement, ...] = ()

    def __str__(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Profile:
    """Nodes of a group that are alike for all DaemonSets: ``count`` of them.

    ``labels`` are those that any DaemonSet asks for, as far as nodes have them; those in ``unknown_labels`` are
    unknown until the nodes exist.
    """

    labels: Labels
    taints: tuple[Taint, ...] = ()
    unknown_labels: frozenset[str] = frozenset()
    count: int = 1


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes of one architecture that belong together. ``unit`` is what its profiles count, in the plural.

    ``kind`` is ``node group``, ``NodePool`` or ``nodes``; ``planned`` that there may be no such node yet.
    """

    name: str
    kind: str
    architecture: Architecture
    profiles: tuple[Profile, ...]
    unit: str = "nodes"
    planned: bool = False

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints of any of its nodes, sorted."""
        return tuple(sorted({taint for profile in self.profiles for taint in profile.taints}))

    @property
    def count(self) -> int:
        """How many ``unit`` there are."""
        return sum(profile.count for profile in self.profiles)


@dataclass(frozen=True, slots=True)
class Column:
    """What one column of the matrix is about: one group, or all groups of an architecture (its ``groups``).

    ``nodes`` is ``None`` in a plan.
    """

    name: str
    kind: str
    architecture: Architecture
    nodes: int | None
    taints: tuple[Taint, ...]
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """The answer for one DaemonSet and one column. ``reasons`` are all that there are, the images' last."""

    outcome: DaemonSetOutcome
    finding: bool = False
    reasons: tuple[CellReason, ...] = ()


@dataclass(frozen=True, slots=True)
class DaemonSetRow:
    """A DaemonSet with its cells, in the order of the columns."""

    daemon_set: DaemonSet
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class DaemonSetAudit:
    """The matrix, sorted by namespace and name; ``notes`` say what was omitted or assumed."""

    columns: tuple[Column, ...]
    rows: tuple[DaemonSetRow, ...]
    notes: tuple[str, ...] = field(default=())

    def count(self, outcome: DaemonSetOutcome) -> int:
        """How many cells have this outcome."""
        return sum(cell.outcome is outcome for row in self.rows for cell in row.cells)

    @property
    def findings(self) -> int:
        """How many cells are findings."""
        return sum(cell.finding for row in self.rows for cell in row.cells)
