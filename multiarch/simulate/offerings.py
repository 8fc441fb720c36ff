"""What a NodePool can buy: instance types by zone, and which of them Karpenter takes.

An offering is an instance type in a zone. Karpenter knows those that have a price, and omits those that EC2 had no
capacity for. It plans a node with all zones that the node's pods allow, lost ones too, as long as one of them has an
offering.
Sources: karpenter-provider-aws, ``pkg/providers/instancetype/offering/base_resolver.go``; karpenter,
``pkg/controllers/provisioning/scheduling/nodeclaim.go`` (``filterInstanceTypesByRequirements``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from decimal import Decimal

from multiarch.autoscaling.model import NodePoolPlan
from multiarch.facts.instance_types import Accelerator, InstanceType
from multiarch.facts.partitions import find_zone_region
from multiarch.nodes.model import CapacityType
from multiarch.prices.model import RegionPrices
from multiarch.simulate.settled import Unavailable

_Zones = tuple[str | None, ...]


class Levels:
    """Sets of types by their amount of one resource."""

    def __init__(self, amounts: Sequence[int]) -> None:
        """``amounts`` are those of all types, in their order."""
        order = sorted(range(len(amounts)), key=lambda index: amounts[index])
        self._values = [amounts[index] for index in order]
        self._sets = [0] * (len(order) + 1)
        for place in range(len(order) - 1, -1, -1):
            self._sets[place] = self._sets[place + 1] | 1 << order[place]

    def at_least(self, amount: int) -> int:
        """Return the types with ``amount`` or more."""
        return self._sets[bisect_left(self._values, amount)]

    def at_most(self, amount: int) -> int:
        """Return the types with ``amount`` or less."""
        return self._sets[0] & ~self.at_least(amount + 1)


def get_first_type(types: int) -> int:
    """Return the index of the smallest type in a set that is not empty."""
    return (types & -types).bit_length() - 1


def list_type_indices(types: int) -> Iterable[int]:
    """Yield the indices of a set's types."""
    while types:
        yield get_first_type(types)
        types &= types - 1


class Offerings:
    """The offerings of one NodePool. Sets of ``types`` are integers, one bit per type, the smallest first."""

    def __init__(
        self,
        plan: NodePoolPlan,
        types: Sequence[InstanceType],
        zones: _Zones,
        unavailable: Unavailable,
        prices: RegionPrices | None,
    ) -> None:
        """``zones`` are all zones of the pool, ``(None,)`` where none are known; ``prices`` have one of each type."""
        self._plan = plan
        self._types = types
        self._unavailable = unavailable
        self._prices = prices
        self._capacity_type = plan.capacities[0].capacity_type
        self._capacities = {each.architecture: each for each in plan.capacities}
        self._zones = {zone: self._in_zone(zone) for zone in zones}
        self._bought: dict[_Zones, list[tuple[int, Sequence[str | None]]]] = {}

    def of(self, zones: Iterable[str | None]) -> int:
        """Return the set of types that have an offering in one of ``zones``."""
        found = 0
        for zone in zones:
            found |= self._zones[zone]
        return found

    def _in_zone(self, zone: str | None) -> int:
        had = {
            architecture
            for architecture, capacity in self._capacities.items()
            if self._unavailable.why_not(self._plan.name, capacity, (zone,)) is None
        }
        found = sum(1 << index for index, each in enumerate(self._types) if each.architecture in had)
        # On-demand prices are those of the region.
        if self._prices is None or self._capacity_type is not CapacityType.SPOT or not self._is_known(zone):
            return found
        spot = self._prices.spot
        return found & sum(1 << index for index, each in enumerate(self._types) if zone in spot.get(each.name, ()))

    def _is_known(self, zone: str | None) -> bool:
        """Return whether the prices are of a zone's region; other names are placeholders."""
        return zone is not None and self._prices is not None and find_zone_region(zone) == self._prices.region

    def why_none(self, types: int, zones: _Zones) -> str | None:
        """Return why none of ``types`` can be bought in ``zones``, or None. Limits are not looked at."""
        if types & self.of(zones):
            return None
        architectures = dict.fromkeys(self._types[index].architecture for index in list_type_indices(types))
        left = [f"zone {zone}" for zone in zones if zone not in self._unavailable.zones]
        without = f"no instance type that fits has a spot price in {', '.join(left)}"
        whys = (self._unavailable.why_not(self._plan.name, self._capacities[each], zones) for each in architectures)
        return "; ".join(dict.fromkeys(why or without for why in whys))

    def bought(self, types: int, zones: _Zones) -> tuple[int, Sequence[str | None]]:
        """Return the index of the type that is bought of a set, and those of ``zones`` in which it is the cheapest.

        Without prices it is the smallest type, in any of the zones that have it. Bare metal and accelerators come last,
        as Karpenter has it. One of ``types`` must have an offering in ``zones``.
        """
        if self._prices is None:
            index = get_first_type(types & self.of(zones))
            return index, [zone for zone in zones if self._zones[zone] >> index & 1]
        if zones not in self._bought:
            self._bought[zones] = self._by_price(zones, self._prices)
        return next((index, there) for index, there in self._bought[zones] if types >> index & 1)

    def _by_price(self, zones: _Zones, prices: RegionPrices) -> list[tuple[int, Sequence[str | None]]]:
        """Return all types with the zones in which they are the cheapest, in the order in which they are bought."""
        found = []
        for index, each in enumerate(self._types):
            hours = {
                zone: prices.hour(each.name, self._capacity_type, (zone,) if zone and self._is_known(zone) else ())
                for zone in zones
                if self._zones[zone] >> index & 1
            }
            known = [hour for hour in hours.values() if isinstance(hour, Decimal)]
            if known:
                lowest = min(known)
                found.append(((_is_exotic(each), lowest, index), [zone for zone in hours if hours[zone] == lowest]))
        return [(key[2], there) for key, there in sorted(found, key=lambda each: each[0])]


def list_priced_types(plan: NodePoolPlan, prices: RegionPrices) -> tuple[InstanceType, ...]:
    """List types with a price as the pool buys them: Karpenter takes others for types that the region lacks."""
    capacity_type = plan.capacities[0].capacity_type
    return tuple(each for each in plan.instance_types if isinstance(prices.hour(each.name, capacity_type), Decimal))


def _is_exotic(instance: InstanceType) -> bool:
    """Return whether Karpenter buys the type only if no other will do.

    Source: karpenter-provider-aws, ``pkg/providers/instance/filter/filter.go`` (``ExoticInstanceTypeFilter``).
    """
    return instance.bare_metal or instance.accelerator is not Accelerator.NONE
