"""Monthly costs: frozen values that the command line and the report show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType
from multiarch.prices.model import Amount


@dataclass(frozen=True, slots=True)
class CostLine:
    """Nodes of one instance type in one node group or NodePool, at the present size (or the desired size of a plan).

    ``monthly`` is for ``nodes`` nodes, ``at_most`` at the group's maximum size.
    """

    team: str
    group: str
    architecture: Architecture
    capacity_type: CapacityType
    instance_type: str
    nodes: int
    monthly: Amount
    at_most: Amount


@dataclass(frozen=True, slots=True)
class Saving:
    """What a workload would save in a month on arm64 nodes, and what keeps it on amd64."""

    workload: str
    blockers: tuple[str, ...]
    monthly: Amount


@dataclass(frozen=True, slots=True)
class CostReport:
    """What a stack or a cluster costs in a month.

    ``others`` are costs that belong to no node group: the control plane, NAT gateways. ``fallback`` is what pods that
    may run on arm64 cost more because they are on amd64 nodes. ``savings`` are of blocked workloads, the largest first.
    ``prices`` is the time at which the prices were fetched, in UTC, None without prices. ``notes`` say what is assumed
    and left out.
    """

    currency: str
    prices: datetime | None
    lines: tuple[CostLine, ...]
    others: tuple[tuple[str, Amount], ...] = ()
    fallback: Amount | None = None
    savings: tuple[Saving, ...] = ()
    notes: tuple[str, ...] = ()
