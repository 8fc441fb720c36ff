"""The prices of a region: amounts without tax, discounts or Savings Plans, as AWS's price list has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType

from multiarch.nodes.model import CapacityType

HOURS_PER_MONTH = 730
"""As AWS's pricing calculator counts: 365 days in 12 months."""
STALE_AFTER = timedelta(days=7)
"""The default age from which prices are named as old."""
_NONE: Mapping[str, Mapping[str, Decimal]] = MappingProxyType({})


class NetworkItem(StrEnum):
    """What of a network costs by the hour, in words."""

    NAT_GATEWAY = "NAT gateways"
    INTERFACE_ENDPOINT = "endpoint interfaces"
    PUBLIC_IPV4 = "public IPv4 addresses"


@dataclass(frozen=True, slots=True)
class UnknownPrice:
    """Why there is no price. ``reason`` is a clause without a full stop."""

    reason: str

    def to_json(self) -> None:
        """Return null: an amount that is not known."""


Amount = Decimal | UnknownPrice
"""A price in the region's currency, or why there is none."""


@dataclass(frozen=True, slots=True)
class RegionPrices:
    """What one region charges, in ``currency``.

    Per hour: ``on_demand`` by instance type (Linux, shared tenancy), ``spot`` by instance type and zone, ``cluster`` of
    an EKS control plane, ``extended_support`` on top of it, ``network`` by item, and ``auto_mode``, EKS Auto Mode's
    fee for managing an instance, by instance type. None, or a missing key, is what the
    price list did not have. ``ambiguous`` are instance types with several prices. ``with_spot`` is False if spot prices
    were not requested. ``fetched`` is in UTC.
    """

    region: str
    currency: str
    fetched: datetime
    on_demand: Mapping[str, Decimal]
    spot: Mapping[str, Mapping[str, Decimal]] = field(default_factory=lambda: _NONE)
    with_spot: bool = True
    cluster: Decimal | None = None
    extended_support: Decimal | None = None
    network: Mapping[NetworkItem, Decimal] = field(default_factory=dict)
    ambiguous: tuple[str, ...] = ()
    auto_mode: Mapping[str, Decimal] = field(default_factory=dict)

    def hour(self, instance_type: str, capacity_type: CapacityType, zones: Iterable[str] = ()) -> Amount:
        """Return the price of an hour of an instance; ``zones`` count for spot instances only."""
        if capacity_type is CapacityType.SPOT:
            return self.spot_hour(instance_type, zones)
        return self.on_demand_hour(instance_type)

    def on_demand_hour(self, instance_type: str) -> Amount:
        """Return the price of an hour of an on-demand instance."""
        found = self.on_demand.get(instance_type)
        if found is not None:
            return found
        if instance_type in self.ambiguous:
            return UnknownPrice(f"the price list of {self.region} has several on-demand prices for {instance_type}")
        return UnknownPrice(f"the price list of {self.region} has no on-demand price for {instance_type}")

    def spot_hour(self, instance_type: str, zones: Iterable[str] = ()) -> Amount:
        """Return the price of an hour of a spot instance: the mean over ``zones``, or over all that have a price."""
        if not self.with_spot:
            return UnknownPrice(f"spot prices of {self.region} were not fetched")
        wanted = set(zones)
        by_zone = self.spot.get(instance_type, {})
        found = [price for zone, price in by_zone.items() if not wanted or zone in wanted]
        if found:
            return sum(found, Decimal(0)) / len(found)
        where = ", ".join(sorted(wanted)) or self.region
        return UnknownPrice(f"EC2 had no spot price for {instance_type} in {where}")

    def auto_mode_hour(self, instance_type: str) -> Amount:
        """Return EKS Auto Mode's fee for an hour of an instance, which comes on top of its price, spot or on-demand.

        Source: Amazon EKS pricing, "Amazon EKS Auto Mode pricing".
        """
        found = self.auto_mode.get(instance_type)
        if found is not None:
            return found
        if not self.auto_mode:
            again = f"`multiarch prices fetch --region {self.region}` fetches them again"
            return UnknownPrice(f"the prices of {self.region} are without fees of EKS Auto Mode; {again}")
        return UnknownPrice(f"the price list of {self.region} has no fee of EKS Auto Mode for {instance_type}")

    def cluster_hour(self, *, extended: bool) -> Amount:
        """Return the price of an hour of an EKS control plane, in standard or ``extended`` support of its version."""
        if self.cluster is None:
            return UnknownPrice(f"the price list of {self.region} has no price for EKS clusters")
        if not extended:
            return self.cluster
        if self.extended_support is None:
            return UnknownPrice(f"the price list of {self.region} has no price for EKS extended support")
        return self.cluster + self.extended_support

    def network_hour(self, item: NetworkItem) -> Amount:
        """Return the price of an hour of one NAT gateway, endpoint in one zone or address, without traffic."""
        missing = UnknownPrice(f"the prices of {self.region} are without {item}; `multiarch prices fetch` may add them")
        return self.network.get(item, missing)

    def age(self, now: datetime) -> timedelta:
        """Return the time since the prices were fetched; 0 for a file from a machine whose clock is ahead."""
        return max(now - self.fetched, timedelta(0))


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of several regions, by name. ``source`` names the file, for messages."""

    source: str
    regions: Mapping[str, RegionPrices]

    def of(self, region: str | None) -> RegionPrices | UnknownPrice:
        """Return the prices of a region."""
        if region is None:
            return UnknownPrice("the region is unknown")
        found = self.regions.get(region)
        if found is None:
            return UnknownPrice(f"{self.source} has no prices of {region}; `multiarch prices fetch` adds them")
        return found
