"""What the nodes of a simulation cost in a month."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from multiarch.cost.model import GroupAmount
from multiarch.cost.pricing import Pricing
from multiarch.cost.stack import NodePrices
from multiarch.prices.amounts import list_unknown_reasons, sum_amounts
from multiarch.prices.model import Amount
from multiarch.serialization import JsonProperty
from multiarch.simulate.settled import NodeState, Settled
from multiarch.stack.model import Plan


@dataclass(frozen=True, slots=True)
class SimulatedCosts:
    """Costs of nodes, without the control plane and NAT gateways; ``groups`` in the order of the simulation.

    ``prices_fetched_at`` is the time at which the prices were fetched, in UTC, None without prices.
    """

    currency: str
    prices_fetched_at: datetime | None
    groups: tuple[GroupAmount, ...]
    monthly_of_new_nodes: Amount
    stale: str = ""

    @JsonProperty
    def monthly(self) -> Amount:
        """Return all nodes together."""
        return sum_amounts(amount for _, amount in self.groups)

    @JsonProperty
    def unknown(self) -> tuple[str, ...]:
        """Return why amounts are unknown, sorted."""
        return list_unknown_reasons(amount for _, amount in self.groups)


def compute_simulated_costs(
    plan: Plan, pricing: Pricing, settled: Settled, live: Sequence[NodeState] | None = None
) -> SimulatedCosts:
    """Return the costs of the existing and the new nodes of each group; ``live`` are the nodes of a cluster."""
    known, groups = pricing.known, settled.simulation.groups
    existing = sum(group.existing for group in groups) if live is None else len(live)
    before, planned = NodePrices(plan, pricing, running=live is not None), NodePrices(plan, pricing)
    months = [(before if at < existing else planned).month(node) for at, node in enumerate(settled.nodes)]
    return SimulatedCosts(
        currency=known.currency if known else "",
        prices_fetched_at=known.fetched if known else None,
        groups=tuple(
            GroupAmount(
                group.name,
                sum_amounts(
                    month for node, month in zip(settled.nodes, months, strict=True) if node.group == group.name
                ),
            )
            for group in groups
        ),
        monthly_of_new_nodes=sum_amounts(months[existing:]),
        stale=pricing.stale,
    )
