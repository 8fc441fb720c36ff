"""What node groups, control planes and networks cost in a month: reviews and ``multiarch cost`` count the same.

Without what :data:`OMITTED` names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal

from multiarch.errors import UnknownFactError
from multiarch.facts import kubernetes
from multiarch.nodes.model import CapacityType, NodeGroupPlan
from multiarch.prices.amounts import average_amounts, compute_month, multiply_amount, sum_amounts
from multiarch.prices.model import STALE_AFTER, Amount, NetworkItem, RegionPrices, UnknownPrice
from multiarch.stack.model import ExistingNetwork, Nat, Plan

OMITTED = "without KMS keys, volumes, traffic, discounts and taxes"


@dataclass(frozen=True, slots=True)
class PricedCapacity:
    """What nodes of a group are bought as: instance types in the order of the group, and the zones of spot prices.

    With ``auto_mode`` EKS Auto Mode's fee for each instance comes on top.
    """

    types: tuple[str, ...]
    capacity_type: CapacityType
    zones: tuple[str, ...] = ()
    auto_mode: bool = False


@dataclass(frozen=True, slots=True)
class Pricing:
    """The prices of one region, or why there are none.

    Support of Kubernetes versions counts as of ``today``; prices that are older than a week are named.
    """

    prices: RegionPrices | UnknownPrice
    today: date

    @property
    def known(self) -> RegionPrices | None:
        """The prices, if there are any."""
        return None if isinstance(self.prices, UnknownPrice) else self.prices

    @property
    def stale(self) -> str:
        """A clause that names old prices, or an empty string."""
        if isinstance(self.prices, UnknownPrice):
            return ""
        age, region = self.prices.age(datetime.combine(self.today, time.max, UTC)), self.prices.region
        if age <= STALE_AFTER:
            return ""
        again = f"`multiarch prices fetch --region {region}` fetches them again"
        return f"The prices of {region} are {age.days} days old; {again}"

    def hour(self, capacity: PricedCapacity) -> Amount:
        """Return the price of an hour of a node, as :func:`get_node_hour` does."""
        return self.prices if isinstance(self.prices, UnknownPrice) else get_node_hour(self.prices, capacity)

    def month(self, capacity: PricedCapacity, nodes: int) -> Amount:
        """Return what a number of nodes cost in a month."""
        return compute_month(nodes, self.hour(capacity))

    def control_plane(self, version: str, scaling: str | None = None) -> tuple[Amount, str]:
        """Return the price of an EKS cluster in its version's present support tier, and the tier if it has a price.

        A provisioned ``scaling`` tier has a price of its own, which is not in the file.
        """
        if scaling not in (None, "standard"):
            return UnknownPrice(f"control plane: the price of the scaling tier {scaling} is not read from AWS"), ""
        try:
            tier = kubernetes.get_support_status(version, self.today).tier
        except UnknownFactError as error:
            return UnknownPrice(f"control plane: {error.message.rstrip('.')}"), ""
        if tier == "unsupported":
            return UnknownPrice(f"control plane: EKS has ended the support of {version} and upgrades it"), ""
        if tier == "unconfirmed":
            # A minor whose dates AWS has not confirmed yet is a new one.
            tier = "standard"
        monthly = self._other(1, lambda prices: prices.cluster_hour(extended=tier == "extended"))
        return monthly, f"{tier} support"

    def network(self, item: NetworkItem, number: int) -> Amount:
        """Return what a number of one item of a network cost, without traffic."""
        return self._other(number, lambda prices: prices.network_hour(item))

    def _other(self, number: int, hour: Callable[[RegionPrices], Amount]) -> Amount:
        return compute_month(number, self.prices if isinstance(self.prices, UnknownPrice) else hour(self.prices))


def get_node_hour(prices: RegionPrices, capacity: PricedCapacity) -> Amount:
    """Return the price of an hour of a node: the one that costs, recommendations and reviews count with.

    Of several on-demand types EC2 takes the first while it can be had; of several spot types any, so these count with
    the mean of their prices.
    """
    hours = [prices.hour(each, capacity.capacity_type, capacity.zones) for each in capacity.types]
    if capacity.auto_mode:
        hours = [
            sum_amounts((hour, prices.auto_mode_hour(each))) for each, hour in zip(capacity.types, hours, strict=True)
        ]
    return average_amounts(hours) if capacity.capacity_type is CapacityType.SPOT else hours[0]


def list_zones(plan: Plan, group: str) -> tuple[str, ...]:
    """Return the names of the zones of a node group or NodePool; empty where only their number is known."""
    own = next((each.zones for each in plan.node_groups if each.name == group), ())
    return own or plan.network.zones


def get_capacity(plan: Plan, group: NodeGroupPlan) -> PricedCapacity:
    """Return what a node group buys."""
    names = tuple(each.name for each in group.instance_types)
    return PricedCapacity(names, group.capacity_type, list_zones(plan, group.name))


def list_capacities(whole: PricedCapacity, numbers: Mapping[CapacityType, int]) -> list[tuple[PricedCapacity, int]]:
    """Return what a group's nodes are bought as, with their numbers; one entry at least."""
    parts = [(replace(whole, capacity_type=kind), number) for kind, number in numbers.items() if number]
    return parts or [(whole, 0)]


def get_next_node_price(plan: Plan, group: NodeGroupPlan, price: Callable[[PricedCapacity], Amount]) -> Amount:
    """Return what one more node of a group costs, in the mean over its on-demand share; ``price`` is of a node."""
    whole = get_capacity(plan, group)
    if not group.mixed:
        return price(whole)
    share = Decimal(group.distribution.percentage) / 100
    parts = ((CapacityType.ON_DEMAND, share), (CapacityType.SPOT, 1 - share))
    return sum_amounts(multiply_amount(price(replace(whole, capacity_type=kind)), part) for kind, part in parts)


def count_network_items(plan: Plan) -> dict[NetworkItem, int]:
    """Return how many of each item a stack's own network has, without those that it has none of."""
    network = plan.network
    if isinstance(network, ExistingNetwork):
        return {}
    gateways = {Nat.NONE: 0, Nat.SINGLE: 1}.get(network.nat, network.zone_count)
    counts = {
        NetworkItem.NAT_GATEWAY: gateways,
        NetworkItem.INTERFACE_ENDPOINT: network.interface_endpoints * network.zone_count,
        # Each NAT gateway has one.
        NetworkItem.PUBLIC_IPV4: gateways,
    }
    return {item: number for item, number in counts.items() if number}
