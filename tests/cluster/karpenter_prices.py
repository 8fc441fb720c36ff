"""The prices that the test's Karpenter has: on-demand those that it brings along, spot those of the test's AWS."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache

from multiarch.prices.model import RegionPrices
from tests.cluster.karpenter import PROVIDER
from tools import build

_FILE = "pkg/providers/pricing/zz_generated.pricing_aws.go"
_FETCHED = re.compile(r"^// generated at (\S+) for ", re.MULTILINE)
_REGION = re.compile(r'^\t"([a-z0-9-]+)": \{$(.*?)^\t\},$', re.MULTILINE | re.DOTALL)
_PRICE = re.compile(r'"([a-z0-9.-]+)": ([0-9.]+),')
_IN_ONE_ZONE = ("c7gd.", "c7a.")
"""Types that are sold as spot instances in the last zone only. None of the scenarios without prices need them."""


@cache
def prices(region: str, zones: tuple[str, ...]) -> RegionPrices:
    """On-demand prices of a region, from the source of the controller, and spot prices in ``zones``.

    An isolated controller does not update the former. Raises KeyError if it has none of the region.
    """
    text = (build.module_dir("karpenter", PROVIDER) / _FILE).read_text(encoding="utf-8")
    fetched = _FETCHED.search(text)
    if fetched is None:
        raise ValueError(f"{_FILE} does not say when it was generated")
    rows = {found[1]: found[2] for found in _REGION.finditer(text)}
    on_demand = {found[1]: Decimal(found[2]) for found in _PRICE.finditer(rows[region])}
    return RegionPrices(
        region=region,
        currency="USD",
        fetched=datetime.fromisoformat(fetched[1]).astimezone(UTC),
        on_demand=on_demand,
        spot={name: _spot(name, price, zones) for name, price in on_demand.items()},
    )


def _spot(name: str, on_demand: Decimal, zones: Sequence[str]) -> dict[str, Decimal]:
    """Spot prices by zone: 25 to 75 % of the on-demand price, the same in every run, and no two zones' alike."""
    sold_in = zones[-1:] if name.startswith(_IN_ONE_ZONE) else zones
    shares = {
        zone: 25 + zlib.crc32(f"{name} {zone}".encode()) % 51 + Decimal(place) / 100
        for place, zone in enumerate(sold_in)
    }
    return {zone: (on_demand * share / 100).quantize(Decimal("0.000001")) for zone, share in shares.items()}
