"""Monthly costs: frozen values that the command line and the report show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType
from multiarch.prices.amounts import list_unknown_reasons, sum_known
from multiarch.prices.model import Amount
from multiarch.serialization import JsonProperty


@dataclass(frozen=True, slots=True)
class CostLine:
    """Nodes of one group, architecture, capacity type and choice of instance types, with what they cost in a month.

    ``group`` is a node group or NodePool, empty for nodes of neither. ``instance_types`` are several where EC2 chooses.
    ``capacity_type`` is None where it is unknown.
    """

    group: str
    architecture: Architecture
    capacity_type: CapacityType | None
    instance_types: tuple[str, ...]
    nodes: int
    monthly: Amount

    @property
    def capacity(self) -> str:
        """``arm64 spot``."""
        return f"{self.architecture} {self.capacity_type or 'unknown capacity type'}"


@dataclass(frozen=True, slots=True)
class Saving:
    """What ``pods`` of a workload on amd64 nodes would save in a month on arm64 nodes. Negative: they cost more there.

    ``blockers`` are clauses that say what keeps the workload off arm64.
    """

    namespace: str
    workload: str
    blockers: tuple[str, ...]
    pods: int
    monthly: Amount


@dataclass(frozen=True, slots=True)
class LabelCost:
    """What ``pods`` with one value of a label cost in a month: their shares of their nodes.

    ``value`` is empty for pods without the label, and None for what no pod requests.
    """

    value: str | None
    pods: int
    monthly: Amount


class GroupAmount(NamedTuple):
    """What a node group or NodePool costs in a month."""

    group: str
    monthly: Amount


class OtherAmount(NamedTuple):
    """What something that belongs to no node costs in a month."""

    what: str
    monthly: Amount


@dataclass(frozen=True, slots=True)
class CostReport:
    """What one stack, or one cluster, costs in a month.

    For a cluster whose stack is not known, ``stack`` names the cluster, and ``team`` is empty. ``prices_fetched_at`` is
    in UTC, None without prices. ``at_maximum_size`` are node groups at their maximum size. ``others`` are costs that
    belong to no nodes: the control plane, NAT gateways, NodePools whose nodes are not known.
    ``fallback`` is what pods that may run on arm64 cost more because they are on amd64 nodes, None where nothing is
    known about pods. ``savings`` are of workloads that can't run on arm64 yet, the largest first. ``by_label`` are
    the nodes' costs by the pods' values of ``label``. ``notes`` say what is assumed and omitted.
    """

    stack: str
    team: str
    currency: str
    prices_fetched_at: datetime | None
    nodes: tuple[CostLine, ...]
    at_maximum_size: tuple[GroupAmount, ...] = ()
    others: tuple[OtherAmount, ...] = ()
    fallback: Amount | None = None
    savings: tuple[Saving, ...] = ()
    label: str = ""
    by_label: tuple[LabelCost, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def amounts(self) -> Iterator[Amount]:
        """What adds up to the total."""
        yield from (line.monthly for line in self.nodes)
        yield from (amount for _, amount in self.others)

    @JsonProperty
    def monthly(self) -> Decimal:
        """Return the sum of all amounts that are known."""
        return sum_known(self.amounts)

    @JsonProperty
    def unknown(self) -> tuple[str, ...]:
        """Return why amounts are unknown, sorted; empty if the total has all of them."""
        more = [self.fallback] if self.fallback is not None else []
        saved = [saving.monthly for saving in self.savings]
        at_most = [amount for _, amount in self.at_maximum_size]
        return list_unknown_reasons([*self.amounts, *more, *saved, *at_most])

    @JsonProperty
    def complete(self) -> bool:
        """Return whether the total has all amounts."""
        return not list_unknown_reasons(self.amounts)
