"""What a page is made of: results of the other commands, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from multiarch.audit.daemonset_model import DaemonSetAudit
from multiarch.audit.workloads import WorkloadAudit
from multiarch.capacity.model import CapacityReport
from multiarch.cost.model import CostReport
from multiarch.existing.proposal import Proposal
from multiarch.existing.saving import GroupSaving
from multiarch.observed.eks.model import ObservedCluster
from multiarch.scheduling.pods import Pod
from multiarch.simulate.settled import NodeState
from multiarch.stack.model import Plan


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a part could not be read: a sentence, and what the reader can do."""

    reason: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Where pods are, or would be.

    ``unplaced`` pods have no node. ``live``: the nodes are those of a running cluster, and otherwise those that the
    autoscaler would have added. ``notes`` say what was omitted or assumed.
    """

    nodes: tuple[NodeState, ...]
    unplaced: tuple[Pod, ...] = ()
    live: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterContents:
    """Everything that the page of a cluster without a stack shows. ``made`` is in UTC.

    ``proposal`` is the stack that `stack new --from-cluster` would write. ``savings`` are empty without prices.
    """

    cluster: ObservedCluster
    made: datetime
    proposal: Proposal | Unread
    placement: Placement | Unread
    workloads: WorkloadAudit | Unread
    daemon_sets: DaemonSetAudit | Unread
    cost: CostReport | Unread
    savings: tuple[GroupSaving, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportContents:
    """Everything that the page shows. ``source`` says what was read, ``made`` is in UTC."""

    plan: Plan
    source: str
    made: datetime
    placement: Placement | Unread
    workloads: WorkloadAudit | Unread
    daemon_sets: DaemonSetAudit | Unread
    capacity: CapacityReport | Unread
    cost: CostReport | Unread
