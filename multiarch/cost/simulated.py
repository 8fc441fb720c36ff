"""What the nodes of a simulation cost in a month."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from multiarch.cost.pricing import Pricing
from multiarch.cost.stack import NodePrices
from multiarch.prices.amounts import reasons, total
from multiarch.prices.model import Amount
from multiarch.simulate.settled import Settled
from multiarch.stack.model import Plan


@dataclass(frozen=True, slots=True)
class SimulatedCosts:
    """Costs of nodes, without the control plane and NAT gateways; ``groups`` in the order of the simulation.

    ``prices`` is the time at which the prices were fetched, in UTC, None without prices.
    """

    currency: str
    prices: datetime | None
    groups: tuple[tuple[str, Amount], ...]
    of_new_nodes: Amount
    stale: str = ""

    @property
    def monthly(self) -> Amount:
        """All nodes together."""
        return total(amount for _, amount in self.groups)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Why amounts are unknown, sorted."""
        return reasons(amount for _, amount in self.groups)


def simulated_costs(plan: Plan, pricing: Pricing, settled: Settled) -> SimulatedCosts:
    """The costs of the existing and the new nodes of each group."""
    prices, known = NodePrices(plan, pricing), pricing.known
    groups = settled.simulation.groups
    existing = sum(group.existing for group in groups)
    return SimulatedCosts(
        currency=known.currency if known else "",
        prices=known.fetched if known else None,
        groups=tuple(
            (group.name, total(prices.month(node) for node in settled.nodes if node.group == group.name))
            for group in groups
        ),
        of_new_nodes=total(prices.month(node) for node in settled.nodes[existing:]),
        stale=pricing.stale,
    )
