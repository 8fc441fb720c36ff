"""The values of an audit of DaemonSets: its input and its results."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import OPERATING_SYSTEM
from multiarch.facts.taints import Taint
from multiarch.images.model import LINUX, Judgement
from multiarch.manifests.values import Labels
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.serialization import OMITTED, JsonProperty

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
        """Return the judgement of one architecture. Raises StopIteration for one that was not requested."""
        return next(each for each in self.judgements if each.architecture is architecture)


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """A DaemonSet. ``spec`` holds the tolerations that its controller adds.

    ``add_on`` names the EKS add-on that brings it; ``source`` says where what is known about it was published. Both are
    empty for one that was read itself. ``doubt`` says why nothing is certain about it, if so. ``node_name`` is the
    ``nodeName`` of its pods. ``installed_by`` is the key in the stack file that installs it, if one does.
    """

    namespace: str
    name: str
    spec: PodSpec
    containers: tuple[Container, ...]
    add_on: str = ""
    source: str = ""
    doubt: str = ""
    node_name: str = ""
    installed_by: str = ""

    def __str__(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def requires(self) -> dict[str, str]:
        """What ``nodeName`` and ``os`` of its pods require, by label or :data:`NODE_NAME`; all nodes here run Linux."""
        system = self.spec.operating_system
        required = {NODE_NAME: self.node_name, OPERATING_SYSTEM: system if system != LINUX else ""}
        return {key: value for key, value in required.items() if value}


@dataclass(frozen=True, slots=True)
class Profile:
    """Nodes of a group that are alike for all DaemonSets: ``count`` of them.

    ``labels`` are those that any DaemonSet requests, as far as nodes have them; those in ``unknown_labels`` are
    unknown until the nodes exist.
    """

    labels: Labels
    taints: tuple[Taint, ...] = ()
    unknown_labels: frozenset[str] = frozenset()
    count: int = 1


@dataclass(frozen=True, slots=True)
class NodeSet:
    """Nodes of one architecture that belong together. ``unit`` is what its profiles count, in the plural.

    ``kind`` is ``node group``, ``NodePool``, ``nodes`` or ``architecture``: all ``groups`` of one; ``planned`` that
    there may be no such node yet.
    """

    name: str
    kind: str
    architecture: Architecture
    profiles: tuple[Profile, ...] = field(metadata=OMITTED)
    unit: str = field(default="nodes", metadata=OMITTED)
    planned: bool = field(default=False, metadata=OMITTED)
    groups: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name, with the architecture unless the name contains it."""
        architecture = str(self.architecture)
        return self.name if architecture in self.name else f"{self.name} ({architecture})"

    @JsonProperty
    def taints(self) -> tuple[Taint, ...]:
        """Return the taints of any of its nodes, sorted."""
        return tuple(sorted({taint for profile in self.profiles for taint in profile.taints}))

    @JsonProperty
    def nodes(self) -> int | None:
        """Return how many nodes there are, None in a plan."""
        return None if self.planned else self.count

    @property
    def count(self) -> int:
        """How many ``unit`` there are."""
        return sum(profile.count for profile in self.profiles)


@dataclass(frozen=True, slots=True)
class Cell:
    """The answer for one DaemonSet and one group. ``reasons`` are all that there are, the images' last."""

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

    columns: tuple[NodeSet, ...]
    rows: tuple[DaemonSetRow, ...]
    notes: tuple[str, ...] = field(default=())

    def count(self, outcome: DaemonSetOutcome) -> int:
        """Return how many cells have this outcome."""
        return sum(cell.outcome is outcome for row in self.rows for cell in row.cells)

    @property
    def findings(self) -> int:
        """How many cells are findings."""
        return sum(cell.finding for row in self.rows for cell in row.cells)
