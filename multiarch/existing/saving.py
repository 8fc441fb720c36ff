"""What the amd64 groups of a cluster cost in a month, and what their arm64 counterparts would with as many nodes."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.cost.model import CostLine, CostReport, OtherAmount
from multiarch.cost.pricing import PricedCapacity, Pricing
from multiarch.cost.stack import list_price_notes
from multiarch.existing.proposal import Proposal
from multiarch.facts.architectures import Architecture
from multiarch.observed.eks.model import ObservedCluster, ObservedGroup
from multiarch.prices.amounts import subtract_amounts, sum_amounts
from multiarch.prices.model import Amount

_NOTE = "Groups count with their instances now; those of NodePools are not counted."


@dataclass(frozen=True, slots=True)
class GroupSaving:
    """What the nodes of ``group`` cost now, and as many of the arm64 counterpart."""

    group: str
    now: Amount
    then: Amount

    @property
    def saved(self) -> Amount:
        """The difference; negative if arm64 costs more."""
        return subtract_amounts(self.now, self.then)


def compute_savings(found: Proposal, pricing: Pricing) -> tuple[GroupSaving, ...]:
    """Return a row for each amd64 group with a counterpart. A pod is taken to need as much of an arm64 node."""
    return tuple(
        GroupSaving(
            each.group.name,
            sum_amounts(line.monthly for line in _list_lines(each.group, found.cluster, pricing)),
            pricing.month(PricedCapacity(each.types, each.group.capacity_type, found.zones), each.group.size),
        )
        for each in found.counterparts
    )


def compute_group_costs(cluster: ObservedCluster, pricing: Pricing) -> CostReport:
    """Return what the groups of a cluster cost now, and its control plane."""
    control_plane, _ = pricing.control_plane(cluster.version)
    return CostReport(
        stack=cluster.name,
        team="",
        currency=pricing.known.currency if pricing.known else "",
        prices_fetched_at=pricing.known.fetched if pricing.known else None,
        nodes=tuple(line for group in cluster.groups for line in _list_lines(group, cluster, pricing)),
        others=(OtherAmount("control plane", control_plane),),
        notes=(*list_price_notes(pricing), _NOTE),
    )


def _list_lines(group: ObservedGroup, cluster: ObservedCluster, pricing: Pricing) -> list[CostLine]:
    zones = tuple(sorted({each.zone for each in cluster.subnets if each.id in group.subnets}))
    counted: dict[tuple[str, ...], int] = {(name,): count for name, count in group.nodes.items() if name}
    return [
        CostLine(
            group=group.name,
            architecture=group.architecture or Architecture.AMD64,
            capacity_type=group.capacity_type,
            instance_types=types,
            nodes=count,
            monthly=pricing.month(PricedCapacity(types, group.capacity_type, zones), count),
        )
        for types, count in (counted or {group.instance_types: group.size}).items()
    ]
