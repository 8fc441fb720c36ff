"""What the sources say about a cluster's nodes, and what comes of comparing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.observed.nodes import ObservedNode
from multiarch.rules import Finding, Severity
from multiarch.serialization import OMITTED
from multiarch.ssm.model import InstanceAnswer
from multiarch.verify.nodes.planned import AUTO_MODE_POOL_TAG, PlannedGroup
from multiarch.verify.on_node.model import NodeReport


@dataclass(frozen=True, slots=True)
class Image:
    """An AMI. ``architecture`` is None for one that is neither amd64 nor arm64; ``name`` is empty if it is gone."""

    id: str
    name: str
    architecture: Architecture | None


@dataclass(frozen=True, slots=True)
class LaunchTemplateVersion:
    """The launch template of an instance in an Auto Scaling Group, and the version that the group uses now.

    Versions are numbers; ``current`` is empty if it is not known.
    """

    id: str
    version: str
    current: str


@dataclass(frozen=True, slots=True)
class Instance:
    """An EC2 instance.

    ``architecture`` is the instance type's, None for an unknown type. ``scaling_group`` is its Auto Scaling Group's
    name or empty; ``lifecycle`` its state there, such as ``InService``, or empty; ``template`` is None if nothing is
    known of it. ``profile`` is the ARN of its instance profile, or empty.
    """

    id: str
    type: str
    architecture: Architecture | None = field(metadata=OMITTED)
    image: Image
    state: str
    launched: datetime
    zone: str
    private_dns: str = field(metadata=OMITTED)
    tags: Mapping[str, str] = field(metadata=OMITTED)
    profile: str = field(default="", metadata=OMITTED)
    scaling_group: str = ""
    lifecycle: str = ""
    template: LaunchTemplateVersion | None = None

    @property
    def auto_mode(self) -> bool:
        """Whether EKS Auto Mode launched it: it takes no command through SSM."""
        return AUTO_MODE_POOL_TAG in self.tags

    @property
    def running(self) -> bool:
        """Whether EC2 runs it."""
        return self.state == "running"

    @property
    def gone(self) -> bool:
        """Whether it has ended, or is about to."""
        return self.state in ("terminated", "shutting-down")

    @property
    def out_of_service(self) -> bool:
        """Whether Auto Scaling keeps it in a warm pool, or is about to end it.

        Source: Amazon EC2 Auto Scaling user guide, "Amazon EC2 Auto Scaling instance lifecycle".
        """
        return self.lifecycle.startswith(("Warmed", "Terminat", "Detach"))


@dataclass(frozen=True, slots=True)
class BootFault:
    """Why a node did not join: ``cause`` is a clause, ``lines`` the log's lines that say so, ``hint`` the fix."""

    cause: str
    hint: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeReadings:
    """Everything that was read. A source that could not be read is None, and ``notes`` say why.

    ``planned`` None: no stack was given. ``on_node`` has a report, or the reason why there is none, by instance ID.
    ``boot`` says by instance ID why it did not join, as far as it is known. ``kubernetes_version`` is the control
    plane's minor, or empty. ``now`` is the time at which the instances were read; an instance that runs longer than
    ``join_minutes`` without a Node counts as never joined. ``findings`` are about the cluster. ``others``: the cluster
    was there before the stack, and has nodes that are not the stack's.
    """

    cluster: str
    planned: tuple[PlannedGroup, ...] | None
    instances: tuple[Instance, ...] | None
    nodes: tuple[ObservedNode, ...] | None
    on_node: Mapping[str, NodeReport | InstanceAnswer] | None
    now: datetime
    kubernetes_version: str = ""
    region: str | None = None
    arm64_taint: Taint | None = None
    boot: Mapping[str, BootFault] = field(default_factory=dict)
    join_minutes: float = 10.0
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    others: bool = False


@dataclass(frozen=True, slots=True)
class NodePair:
    """An instance and its Node, of which one may be missing, with what they are compared with.

    ``id`` is the instance's, or empty for a Node without one. ``group_name`` is what tags and labels call its group.
    """

    id: str
    instance: Instance | None
    node: ObservedNode | None
    group: PlannedGroup | None
    group_name: str
    answer: NodeReport | InstanceAnswer | None

    @property
    def report(self) -> NodeReport | None:
        """What the node reports about itself."""
        return self.answer if isinstance(self.answer, NodeReport) else None


class NodeVerdict(StrEnum):
    """What became of one node, the best first."""

    OK = "ok"
    """All sources were read and agree."""
    PARTLY_CHECKED = "partly checked"
    """What was read agrees, and something could not be read."""
    JOINING = "joining"
    """The instance was started a few minutes ago and has no Node yet, or one that is not Ready yet."""
    WARNING = "warning"
    NEVER_JOINED = "never joined"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node with what each source says of it. ``instance`` or ``node`` may be None, not both.

    ``group`` is the plan's name for its group, else EC2's or Karpenter's, or empty. ``architectures`` has the
    sources that name one, of ``plan``, ``EC2``, ``AMI``, ``node``, ``CPU``, in this order. ``not_checked`` are
    sentences.
    """

    name: str
    group: str
    instance: Instance | None
    node: ObservedNode | None
    on_node: NodeReport | InstanceAnswer | None
    architectures: Mapping[str, str]
    findings: tuple[Finding, ...]
    not_checked: tuple[str, ...]
    verdict: NodeVerdict
    missing_taints: tuple[Taint, ...] = field(default=(), metadata=OMITTED)
    """The plan's taints that can be added to the Node: it has no other taint with the same key and effect."""


@dataclass(frozen=True, slots=True)
class NodeVerification:
    """The rows, sorted by group and name, what was not read at all, and findings about the cluster as a whole."""

    cluster: str
    rows: tuple[NodeRow, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    def count(self, verdict: NodeVerdict) -> int:
        """Return the number of rows with this verdict."""
        return sum(row.verdict is verdict for row in self.rows)

    def counted(self) -> Counter[Severity]:
        """Return the number of findings of each severity."""
        of_nodes = (finding for row in self.rows for finding in row.findings)
        return Counter(finding.rule.severity for finding in (*of_nodes, *self.findings))
