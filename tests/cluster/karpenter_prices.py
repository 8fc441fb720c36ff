"""The on-demand prices that Karpenter's controller brings along, which an isolated one does not update."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal

from multiarch.prices.model import RegionPrices
from tests.cluster.karpenter import PROVIDER
from tools import build

_FILE = "pkg/providers/pricing/zz_generated.pricing_aws.go"
_FETCHED = re.compile(r"^// generated at (\S+) for ", re.MULTILINE)
_REGION = re.compile(r'^\t"([a-z0-9-]+)": \{$(.*?)^\t\},$', re.MULTILINE | re.DOTALL)
_PRICE = re.compile(r'"([a-z0-9.-]+)": ([0-9.]+),')


def prices(region: str) -> RegionPrices:
    """Read the prices of a region from the source of the controller. Raises KeyError if it has none."""
    text = (build.module_dir("karpenter", PROVIDER) / _FILE).read_text(encoding="utf-8")
    fetched = _FETCHED.search(text)
    if fetched is None:
        raise ValueError(f"{_FILE} does not say when it was generated")
    rows = {found[1]: found[2] for found in _REGION.finditer(text)}
    return RegionPrices(
        region=region,
        currency="USD",
        fetched=datetime.fromisoformat(fetched[1]).astimezone(UTC),
        on_demand={found[1]: Decimal(found[2]) for found in _PRICE.finditer(rows[region])},
        with_spot=False,
    )
