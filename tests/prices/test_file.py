"""The price file is written whole, read back as it was, and rejected by name when it is something else."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.errors import MultiarchError
from multiarch.prices import file as files
from multiarch.prices.model import NetworkItem, PriceList, RegionPrices, UnknownPrice

PRICES = st.integers(0, 10**13).map(lambda price: (Decimal(price) / 10**10).normalize())
NAMES = st.sampled_from(["m7g.large", "m7i.large", "c7g.metal", "p5.48xlarge"])
ZONES = st.sampled_from(["eu-west-1a", "eu-west-1b", "eu-west-1c"])
REGIONS = st.builds(
    RegionPrices,
    region=st.just("eu-west-1"),
    currency=st.sampled_from(["USD", "CNY"]),
    fetched=st.datetimes(datetime(2020, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001
        lambda when: when.replace(microsecond=0)
    ),
    on_demand=st.dictionaries(NAMES, PRICES),
    spot=st.dictionaries(NAMES, st.dictionaries(ZONES, PRICES, min_size=1)),
    with_spot=st.booleans(),
    cluster=st.none() | PRICES,
    extended_support=st.none() | PRICES,
    network=st.dictionaries(st.sampled_from(NetworkItem), PRICES),
    ambiguous=st.lists(NAMES, unique=True).map(tuple),
    auto_mode=st.dictionaries(NAMES, PRICES),
)
ONE = RegionPrices("eu-west-1", "USD", datetime(2026, 11, 22, tzinfo=UTC), {"m7g.large": Decimal("0.0911")})


@given(REGIONS)
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, prices: RegionPrices) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.json"
    files.write_prices(path, PriceList(str(path), {"eu-west-1": prices}))
    assert files.read_prices(path) == PriceList(str(path), {"eu-west-1": prices})


def test_a_file_of_an_earlier_release_has_no_fees_of_auto_mode(tmp_path: Path) -> None:
    content = files.build_price_file(PriceList("", {"eu-west-1": ONE}))
    del content["regions"]["eu-west-1"]["autoModePerHour"]
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(content))
    assert files.read_prices(path).regions["eu-west-1"] == ONE


def test_a_region_replaces_its_old_prices_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    files.write_prices(path, PriceList("", {"eu-west-1": ONE, "us-east-1": ONE}))
    new = RegionPrices("eu-west-1", "USD", datetime(2026, 11, 23, tzinfo=UTC), {})
    merged = files.merge_prices(files.read_prices(path), new, str(path))
    assert merged.regions["eu-west-1"] == new
    assert merged.regions["us-east-1"].on_demand == ONE.on_demand
    assert len(merged.regions) == 2


def test_a_region_that_is_not_in_the_file_is_unknown() -> None:
    prices = PriceList("prices.json", {"eu-west-1": ONE})
    assert prices.of("eu-west-1") is ONE
    assert prices.of("eu-west-2") == UnknownPrice(
        "prices.json has no prices of eu-west-2; `multiarch prices fetch` adds them"
    )
    assert prices.of(None) == UnknownPrice("the region is unknown")


def test_a_file_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MultiarchError, match=r"no price file .*prices\.json.*multiarch prices fetch"):
        files.read_prices(tmp_path / "prices.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "is not JSON; it may be truncated"),
        (lambda _: "config:\n  aws:region: eu-west-1\n", "is not a price file"),
        (lambda _: '{"version": "1", "kind": "stack-list"}', "is not a price file"),
        (lambda text: text.replace('"version": "1"', '"version": "2"'), "has version '2'"),
        (lambda text: text.replace('"0.0911"', "0.0911"), "has invalid prices: TypeError"),
        (lambda text: text.replace('"0.0911"', '"-0.0911"'), "has invalid prices: ValueError"),
        (lambda text: text.replace('"0.0911"', '"a lot"'), "has invalid prices: InvalidOperation"),
        (lambda text: text.replace("fetchedAt", "fetched"), "has invalid prices: KeyError"),
        (lambda text: text.replace('"perHour": {', '"perHour": [], "other": {'), "has invalid prices: TypeError"),
    ],
)
def test_a_file_of_another_form_is_named(tmp_path: Path, change: object, message: str) -> None:
    path = tmp_path / "prices.json"
    files.write_prices(path, PriceList(str(path), {"eu-west-1": ONE}))
    assert callable(change)
    path.write_text(change(path.read_text()))
    with pytest.raises(MultiarchError, match=message):
        files.read_prices(path)
