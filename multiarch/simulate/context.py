"""Where the pods of a stack are placed: the zones of its network."""

from __future__ import annotations

from dataclasses import dataclass, replace

from multiarch.prices.model import RegionPrices
from multiarch.stack.model import ExistingNetwork, Plan


@dataclass(frozen=True, slots=True)
class SimulationContext:
    """Where pods are placed: ``zones`` and ``region`` of the plan's network.

    ``assumed`` is a sentence that says where zone names are placeholders, or empty. With ``prices`` Karpenter buys the
    cheapest instance type, without them the smallest.
    """

    zones: tuple[str, ...]
    assumed: str = ""
    region: str | None = None
    prices: RegionPrices | None = None


def build_simulation_context(
    plan: Plan, *, seen: tuple[str, ...] = (), prices: RegionPrices | None = None
) -> SimulationContext:
    """Return the zones of a stack's network, or assumed ones.

    ``seen`` are the zones of a cluster's nodes; where the network has more, the others get placeholders as names.
    """
    return replace(_zones(plan, seen), region=plan.region, prices=prices)


def _zones(plan: Plan, seen: tuple[str, ...]) -> SimulationContext:
    network = plan.network
    if network.zones:
        return SimulationContext(network.zones)
    count, why = network.zone_count, "The stack does not name its zones"
    if isinstance(network, ExistingNetwork):
        why = "One zone is assumed for each private subnet"
    if len(seen) >= count:
        more = f"Nodes are in {len(seen)} zones and the network has {count}; the result uses {', '.join(seen)}."
        return SimulationContext(seen, more if len(seen) > count else "")
    names = tuple(f"zone-{number}" for number in range(len(seen) + 1, count + 1))
    return SimulationContext((*seen, *names), f"{why}; the result uses {', '.join(names)} as placeholders.")
