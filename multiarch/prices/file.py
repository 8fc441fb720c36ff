"""The price file: JSON with a version, written whole or not at all, which a CI job can keep.

``{"version": "1", "kind": "prices", "regions": {REGION: {...}}}``; docs/reference/json-output.md describes it. Amounts
are strings, so that nothing is rounded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from multiarch.errors import MultiarchError
from multiarch.escaping import format_json
from multiarch.files import read_text, write_atomically
from multiarch.prices.amounts import parse_price
from multiarch.prices.model import NetworkItem, PriceList, RegionPrices

VERSION = "1"
KIND = "prices"
_NETWORK = {
    "natGateway": NetworkItem.NAT_GATEWAY,
    "interfaceEndpoint": NetworkItem.INTERFACE_ENDPOINT,
    "publicIpv4Address": NetworkItem.PUBLIC_IPV4,
}
_AGAIN = "Fetch it again: `multiarch prices fetch`."


def read_prices(path: Path) -> PriceList:
    """Read a price file. Raises MultiarchError if there is none, or if it is not such a file."""
    try:
        text = read_text(path)
    except FileNotFoundError as error:
        hint = f"Fetch it: `multiarch prices fetch --region REGION --file {path}`."
        raise MultiarchError(f"There is no price file {path}.", hint=hint) from error
    except (OSError, UnicodeDecodeError) as error:
        raise MultiarchError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}.") from error
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.startswith("{"):
            raise MultiarchError(f"{path} is not JSON; it may be truncated.", hint=_AGAIN) from error
        value = None
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise MultiarchError(f"{path} is not a price file.", hint="`multiarch prices fetch` writes one.")
    if value.get("version") != VERSION:
        raise MultiarchError(
            f"{path} has version {value.get('version')!r}; this release of multiarch reads {VERSION!r}.", hint=_AGAIN
        )
    try:
        regions = {name: _region(name, data) for name, data in value["regions"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, InvalidOperation) as error:
        raise MultiarchError(f"{path} has invalid prices: {type(error).__name__}: {error}.", hint=_AGAIN) from error
    return PriceList(str(path), regions)


def write_prices(path: Path, prices: PriceList) -> None:
    """Write the file; the same prices give the same bytes. Raises MultiarchError if the folder can't be written."""
    write_atomically(path, format_json(build_price_file(prices)))


def merge_prices(old: PriceList | None, new: RegionPrices, source: str) -> PriceList:
    """Return the old prices with those of one region in their place."""
    others = {} if old is None else old.regions
    return PriceList(source, {**others, new.region: new})


def build_price_file(prices: PriceList) -> dict[str, Any]:
    """Return the file's content."""
    regions = {name: build_region(each) for name, each in sorted(prices.regions.items())}
    return {"version": VERSION, "kind": KIND, "regions": regions}


def build_region(prices: RegionPrices) -> dict[str, Any]:
    """Return one region's part of the file."""
    return {
        "currency": prices.currency,
        "fetchedAt": f"{prices.fetched:%Y-%m-%dT%H:%M:%SZ}",
        "withSpot": prices.with_spot,
        "perHour": {
            "cluster": _text(prices.cluster),
            "extendedSupport": _text(prices.extended_support),
            **{key: _text(prices.network.get(item)) for key, item in _NETWORK.items()},
        },
        "onDemandPerHour": {name: _text(price) for name, price in sorted(prices.on_demand.items())},
        "spotPerHour": {
            name: {zone: _text(price) for zone, price in sorted(zones.items())}
            for name, zones in sorted(prices.spot.items())
        },
        "autoModePerHour": {name: _text(price) for name, price in sorted(prices.auto_mode.items())},
        "ambiguous": list(prices.ambiguous),
    }


def _text(price: Decimal | None) -> str | None:
    """Write a number without an exponent, whatever its size."""
    return None if price is None else f"{price:f}"


def _region(name: str, data: Mapping[str, Any]) -> RegionPrices:
    hour = data["perHour"]
    return RegionPrices(
        region=name,
        currency=str(data["currency"]),
        fetched=datetime.strptime(data["fetchedAt"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC),
        on_demand=_prices(data["onDemandPerHour"]),
        spot={each: _prices(zones) for each, zones in data["spotPerHour"].items()},
        with_spot=bool(data["withSpot"]),
        cluster=_price(hour["cluster"]),
        extended_support=_price(hour["extendedSupport"]),
        # Files of earlier releases have NAT gateways alone.
        network={item: _known(hour[key]) for key, item in _NETWORK.items() if hour.get(key) is not None},
        ambiguous=tuple(data["ambiguous"]),
        # Files of earlier releases are without it.
        auto_mode=_prices(data.get("autoModePerHour", {})),
    )


def _prices(data: Mapping[str, Any]) -> dict[str, Decimal]:
    return {name: _known(text) for name, text in data.items()}


def _price(text: object) -> Decimal | None:
    return None if text is None else _known(text)


def _known(text: object) -> Decimal:
    if not isinstance(text, str):
        raise TypeError(f"the price {text!r} must be a string")
    return parse_price(text)
