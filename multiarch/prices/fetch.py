"""Fetch the prices of a region: on-demand, EKS and networks from the price list, spot from EC2.

IAM actions: ``pricing:GetProducts``, and ``ec2:DescribeSpotPriceHistory`` for spot prices.
Sources: AWS Price List Query API, GetProducts; EC2 API, DescribeSpotPriceHistory; karpenter-provider-aws,
``pkg/providers/pricing``, for the filters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from multiarch.errors import MultiarchError, OutsideError
from multiarch.facts.partitions import find_partition
from multiarch.prices.amounts import parse_price
from multiarch.prices.model import NetworkItem, RegionPrices

_COMPUTE = {
    "operatingSystem": "Linux",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
# The price list has bare metal as dedicated capacity only.
_FAMILIES = (("Compute Instance", "Shared"), ("Compute Instance (bare metal)", "Dedicated"))
_PAGE = 100
_HOURS = ("hrs", "hr", "hours")
_NETWORK = {
    NetworkItem.NAT_GATEWAY: "NatGateway-Hours",
    NetworkItem.INTERFACE_ENDPOINT: "VpcEndpoint-Hours",
    NetworkItem.PUBLIC_IPV4: "PublicIPv4:InUseAddress",
}
"""Usage types without their region."""
_CURRENCIES = {"aws-cn": "CNY"}
_PREFIX = re.compile(r"[A-Z0-9]+-")
"""What begins a usage type outside us-east-1: ``EUW1-``."""
_AUTO_MODE = re.compile(r"(?:[A-Z0-9]+-)?EKS-Auto:([^:]+)-management-hours")

PriceClient = Any
"""A boto3 client of Pricing or of EC2; None for no spot prices."""


def get_pricing_region(region: str, available: Iterable[str]) -> str:
    """Return the region, of ``available`` in its partition, whose Pricing API has the prices of ``region``.

    All of a partition have the same prices; the one of the same geography is nearest. Raises MultiarchError for a
    partition without the API.
    """
    partition = find_partition(region)
    if partition is None:
        raise MultiarchError(f"{region!r} is not an AWS region.", hint="Write a region such as eu-west-1.")
    regions = sorted(available)
    if not regions:
        raise MultiarchError(
            f"AWS has no Pricing API in the partition {partition.name} of {region}.",
            hint="Its prices stay unknown; reviews show differences in vCPU and GiB.",
        )
    near = [each for each in regions if each.partition("-")[0] == region.partition("-")[0]]
    return (near or [each for each in regions if each == "us-east-1"] or regions)[0]


def fetch_prices(pricing: PriceClient, ec2: PriceClient, region: str, now: datetime) -> RegionPrices:
    """Return all prices of ``region``. Without ``ec2``, a client in that region, there are no spot prices.

    ``now`` is in UTC. Raises OutsideError for a price list that has no instances or can't be read; botocore's own
    errors pass through.
    """
    partition = find_partition(region)
    currency = _CURRENCIES.get(partition.name if partition else "", "USD")
    prices = _Region(pricing, region, currency)
    on_demand, ambiguous = _on_demand(prices)
    eks = list(prices.products("AmazonEKS", {}))
    network = [*prices.products("AmazonEC2", {"productFamily": "NAT Gateway"}), *prices.products("AmazonVPC", {})]
    return RegionPrices(
        region=region,
        currency=currency,
        fetched=now.replace(microsecond=0),
        on_demand=on_demand,
        spot={} if ec2 is None else _spot(ec2, now),
        with_spot=ec2 is not None,
        cluster=_one(eks, "AmazonEKS-Hours:perCluster"),
        extended_support=_one(eks, "AmazonEKS-Hours:extendedSupport"),
        network={item: price for item, usage in _NETWORK.items() if (price := _one(network, usage)) is not None},
        ambiguous=ambiguous,
        auto_mode=_auto_mode(eks),
    )


@dataclass(frozen=True, slots=True)
class Product:
    """One product with its on-demand prices per unit that are not zero, each once and sorted."""

    attributes: Mapping[str, str]
    unit: str
    prices: tuple[Decimal, ...]

    @property
    def usage(self) -> str:
        """The usage type without its region: ``AmazonEKS-Hours:perCluster``."""
        text = self.attributes.get("usagetype", "")
        return _PREFIX.sub("", text, count=1) if _PREFIX.match(text) else text


def read_products(price_list: Iterable[str | Mapping[str, Any]], currency: str) -> Iterator[Product]:
    """Yield the products of GetProducts' ``PriceList`` that have a price in ``currency``.

    Raises OutsideError for an entry that has another form.
    """
    for entry in price_list:
        try:
            value = json.loads(entry) if isinstance(entry, str) else entry
            attributes = {str(key): str(text) for key, text in value["product"]["attributes"].items()}
            found = set(_prices(value.get("terms", {}), currency))
        except (ValueError, KeyError, TypeError, AttributeError, InvalidOperation, RecursionError) as error:
            raise OutsideError(
                f"AWS's price list has an entry that can't be read: {type(error).__name__}: {error}.",
                hint="Check that AWS_ENDPOINT_URL, if it is set, is a server of AWS's Pricing API.",
            ) from error
        for unit in sorted({unit for unit, _ in found}):
            yield Product(attributes, unit, tuple(sorted(price for each, price in found if each == unit)))


def _prices(terms: Mapping[str, Any], currency: str) -> Iterator[tuple[str, Decimal]]:
    """Yield unit and price of each on-demand rate, but for free ones, which are of reservations or first quantities."""
    for term in terms.get("OnDemand", {}).values():
        for rate in term["priceDimensions"].values():
            if currency not in rate["pricePerUnit"]:
                continue
            if price := parse_price(rate["pricePerUnit"][currency]):
                yield "hour" if rate["unit"].lower() in _HOURS else rate["unit"], price


class _Region:
    """The products of one region."""

    def __init__(self, pricing: PriceClient, region: str, currency: str) -> None:
        self._pages = pricing.get_paginator("get_products")
        self.region = region
        self._currency = currency

    def products(self, service: str, wanted: Mapping[str, str]) -> Iterator[Product]:
        filters = [
            {"Type": "TERM_MATCH", "Field": name, "Value": value}
            for name, value in {"regionCode": self.region, **wanted}.items()
        ]
        for page in self._pages.paginate(ServiceCode=service, Filters=filters, PaginationConfig={"PageSize": _PAGE}):
            yield from read_products(page["PriceList"], self._currency)


def _on_demand(prices: _Region) -> tuple[dict[str, Decimal], tuple[str, ...]]:
    """Return the price of each instance type, and the types that have several."""
    found: dict[str, set[Decimal]] = {}
    for family, tenancy in _FAMILIES:
        wanted = {**_COMPUTE, "productFamily": family, "tenancy": tenancy}
        for product in prices.products("AmazonEC2", wanted):
            if product.unit == "hour" and "instanceType" in product.attributes:
                found.setdefault(product.attributes["instanceType"], set()).update(product.prices)
    if not found:
        raise OutsideError(
            f"AWS's price list has no on-demand instances in {prices.region}.", hint="Check the region's name."
        )
    certain = {name: min(amounts) for name, amounts in sorted(found.items()) if len(amounts) == 1}
    return certain, tuple(sorted(found.keys() - certain.keys()))


def _one(found: Iterable[Product], usage: str) -> Decimal | None:
    """Return the one price of an hour of a usage type; None if there is no price, or more than one."""
    amounts = {price for each in found if each.usage == usage and each.unit == "hour" for price in each.prices}
    return amounts.pop() if len(amounts) == 1 else None


def _auto_mode(found: Iterable[Product]) -> dict[str, Decimal]:
    """Return EKS Auto Mode's fee for each instance type, without those that have several.

    Their usage type is ``EKS-Auto:m7g.large-management-hours``, as in the price list of September 2026.
    """
    fees: dict[str, set[Decimal]] = {}
    for each in found:
        if each.unit == "hour" and (name := _AUTO_MODE.fullmatch(each.attributes.get("usagetype", ""))):
            fees.setdefault(name[1], set()).update(each.prices)
    return {name: min(prices) for name, prices in sorted(fees.items()) if len(prices) == 1}


def _spot(ec2: PriceClient, now: datetime) -> dict[str, dict[str, Decimal]]:
    """Return the price of each instance type in each zone at ``now``."""
    latest: dict[tuple[str, str], tuple[datetime, Decimal]] = {}
    # With a start of now, EC2 answers with the last price before it.
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        StartTime=now, ProductDescriptions=["Linux/UNIX", "Linux/UNIX (Amazon VPC)"]
    )
    for page in pages:
        for row in page["SpotPriceHistory"]:
            try:
                key, when = (row["InstanceType"], row["AvailabilityZone"]), row["Timestamp"]
                price = parse_price(row["SpotPrice"])
            except (KeyError, ValueError, InvalidOperation) as error:
                raise OutsideError(f"EC2's spot price history has a row that can't be read: {error!r}.") from error
            if key not in latest or when > latest[key][0]:
                latest[key] = (when, price)
    spot: dict[str, dict[str, Decimal]] = {}
    for (name, zone), (_, price) in sorted(latest.items()):
        spot.setdefault(name, {})[zone] = price
    return spot
