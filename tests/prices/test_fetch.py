"""Prices come from AWS's price list with the right filters, and what is not there is unknown with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from multiarch.errors import MultiarchError, OutsideError
from multiarch.prices.fetch import fetch_prices, get_pricing_region, read_products
from multiarch.prices.model import NetworkItem, RegionPrices, UnknownPrice
from tests.prices.stand_in import Stand, instance, ireland, other, serving

NOW = datetime(2026, 11, 22, 9, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture(scope="module")
def server() -> Iterator[Stand]:
    with serving() as stand:
        yield stand


@pytest.fixture
def stand(server: Stand) -> Stand:
    fresh = Stand()
    server.products, server.spot, server.fault = fresh.products, fresh.spot, {}
    server.requests.clear()
    return server


@pytest.fixture(scope="module")
def clients(server: Stand) -> dict[str, Any]:
    settings = Config(retries={"total_max_attempts": 1})
    session = boto3.session.Session("test", "test", region_name="eu-west-1")
    return {name: session.client(name, endpoint_url=server.url, config=settings) for name in ("pricing", "ec2")}


@pytest.fixture
def ask(stand: Stand, clients: dict[str, Any]) -> Any:  # noqa: ANN401
    del stand

    def asked(region: str = "eu-west-1", *, spot: bool = True) -> RegionPrices:
        return fetch_prices(clients["pricing"], clients["ec2"] if spot else None, region, NOW)

    return asked


def reason(amount: object) -> str:
    assert isinstance(amount, UnknownPrice)
    return amount.reason


def test_an_instance_has_the_price_of_linux_on_shared_hosts(ask: Any, stand: Stand) -> None:  # noqa: ANN401
    stand.products.append(instance("m7g.large", "0.09110"))  # the same price again
    prices = ask()
    assert "2" in [body.get("NextToken") for name, body in stand.requests if name == "GetProducts"]
    assert prices.on_demand_hour("m7g.large") == Decimal("0.0911")
    assert prices.on_demand_hour("c7g.metal") == Decimal("2.6")
    assert [prices.network_hour(each) for each in NetworkItem] == [Decimal("0.048"), Decimal("0.011"), Decimal("0.005")]
    assert (prices.region, prices.currency, prices.fetched) == ("eu-west-1", "USD", NOW.replace(microsecond=0))


def test_eks_auto_mode_has_a_fee_for_each_instance_type(ask: Any, stand: Stand) -> None:  # noqa: ANN401
    prices = ask()
    assert prices.auto_mode_hour("m7g.large") == Decimal("0.01093")
    assert reason(prices.auto_mode_hour("m7i.large")) == (
        "the price list of eu-west-1 has no fee of EKS Auto Mode for m7i.large"
    )
    # us-east-1 has no prefix; of two prices neither is taken.
    stand.products += [
        other("AmazonEKS", "EKS-Auto:m7i.large-management-hours", "0.0135", "Hours"),
        other("AmazonEKS", "EU-EKS-Auto:m7g.large-management-hours", "0.02", "Hours"),
    ]
    assert ask().auto_mode == {"m7i.large": Decimal("0.0135")}


def test_a_control_plane_in_extended_support_costs_both_prices(ask: Any) -> None:  # noqa: ANN401
    prices = ask()
    assert prices.cluster_hour(extended=False) == Decimal("0.1")
    assert prices.cluster_hour(extended=True) == Decimal("0.6")


def test_a_spot_price_is_the_latest_of_each_zone_and_the_mean_over_zones(ask: Any) -> None:  # noqa: ANN401
    prices = ask()
    assert prices.spot["m7g.large"] == {"eu-west-1a": Decimal("0.0341"), "eu-west-1b": Decimal("0.0361")}
    assert prices.spot_hour("m7g.large") == Decimal("0.0351")
    assert prices.spot_hour("m7g.large", ["eu-west-1b", "eu-west-1c"]) == Decimal("0.0361")


def test_spot_prices_are_asked_for_at_the_present_time(ask: Any, stand: Stand) -> None:  # noqa: ANN401
    ask()
    form = next(body for name, body in stand.requests if name == "DescribeSpotPriceHistory")
    assert form["StartTime"] == ["2026-11-22T09:00:00.123Z"] or form["StartTime"][0].startswith("2026-11-22T09:00:00")
    assert form["ProductDescription.1"] == ["Linux/UNIX"]


def test_what_has_no_price_is_unknown_with_the_reason(ask: Any) -> None:  # noqa: ANN401
    prices = ask()
    assert reason(prices.on_demand_hour("p5.48xlarge")) == (
        "the price list of eu-west-1 has no on-demand price for p5.48xlarge"
    )
    assert reason(prices.spot_hour("c7g.metal")) == "EC2 had no spot price for c7g.metal in eu-west-1"
    assert reason(prices.spot_hour("m7i.large", ["eu-west-1c"])) == (
        "EC2 had no spot price for m7i.large in eu-west-1c"
    )
    assert reason(ask(spot=False).spot_hour("m7g.large")) == "spot prices of eu-west-1 were not fetched"


def test_a_type_with_two_prices_is_unknown(ask: Any, stand: Stand) -> None:  # noqa: ANN401
    stand.products.append(instance("m7g.large", "0.0999"))
    assert reason(ask().on_demand_hour("m7g.large")) == (
        "the price list of eu-west-1 has several on-demand prices for m7g.large"
    )


def test_other_prices_that_are_missing_or_ambiguous_are_unknown(ask: Any, stand: Stand) -> None:  # noqa: ANN401
    stand.products[:] = [
        instance("m7g.large", "0.0911"),
        other("AmazonEKS", "EU-AmazonEKS-Hours:perCluster", "0.1", "Hours"),
        other("AmazonEC2", "EU-NatGateway-Hours", "0.048", "Hrs", productFamily="NAT Gateway"),
        other("AmazonEC2", "EU-NatGateway-Hours", "0.049", "Hrs", productFamily="NAT Gateway"),
    ]
    prices = ask()
    assert prices.cluster_hour(extended=False) == Decimal("0.1")
    assert (
        reason(prices.cluster_hour(extended=True))
        == "the price list of eu-west-1 has no price for EKS extended support"
    )
    assert reason(prices.network_hour(NetworkItem.NAT_GATEWAY)).startswith("the prices of eu-west-1 are without NAT")
    stand.products[:] = stand.products[:1]
    assert reason(ask().cluster_hour(extended=False)) == "the price list of eu-west-1 has no price for EKS clusters"


def test_chinas_prices_are_in_its_currency(ask: Any, stand: Stand) -> None:  # noqa: ANN401
    stand.products.append(instance("m7g.large", "0.5310", region="cn-north-1", currency="CNY"))
    prices = ask("cn-north-1")
    assert (prices.currency, prices.on_demand_hour("m7g.large")) == ("CNY", Decimal("0.531"))


def test_a_region_without_instances_is_an_error(ask: Any) -> None:  # noqa: ANN401
    with pytest.raises(OutsideError, match="no on-demand instances in eu-west-9"):
        ask("eu-west-9")


def test_a_rejected_request_is_botocores_error(ask: Any, stand: Stand) -> None:  # noqa: ANN401
    stand.fault["pricing"] = "AccessDeniedException"
    with pytest.raises(ClientError, match="AccessDenied"):
        ask()


@pytest.mark.parametrize(
    ("region", "nearest"),
    [("eu-west-1", "eu-central-1"), ("sa-east-1", "us-east-1")],
)
def test_the_nearest_of_the_partitions_endpoints_is_asked(region: str, nearest: str) -> None:
    available = boto3.session.Session().get_available_regions("pricing")
    assert get_pricing_region(region, available) == nearest


@pytest.mark.parametrize(("region", "partition"), [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")])
def test_each_partition_has_its_own_endpoint_or_none(region: str, partition: str) -> None:
    available = boto3.session.Session().get_available_regions("pricing", partition_name=partition)
    if available:
        assert get_pricing_region(region, available) == "cn-northwest-1"
        return
    with pytest.raises(MultiarchError, match="no Pricing API in the partition aws-us-gov"):
        get_pricing_region(region, available)


def test_what_is_not_a_region_is_named() -> None:
    with pytest.raises(MultiarchError, match="'ireland' is not an AWS region"):
        get_pricing_region("ireland", [])


def with_price(price: str) -> str:
    rate = {"unit": "Hrs", "pricePerUnit": {"USD": price}}
    return json.dumps({"product": {"attributes": {}}, "terms": {"OnDemand": {"a": {"priceDimensions": {"b": rate}}}}})


@pytest.mark.parametrize(
    "entry",
    [
        "{",
        "[]",
        '{"product": {"attributes": {}}, "terms": {"OnDemand": {"a": {}}}}',
        with_price("many"),
        with_price("-1"),
        "[" * 100_000,
    ],
    ids=range(6),
)
def test_an_entry_of_another_form_is_an_error(entry: str) -> None:
    with pytest.raises(OutsideError, match="an entry that can't be read"):
        list(read_products([entry], "USD"))


def test_reserved_and_free_terms_count_for_nothing() -> None:
    (found,) = read_products([each for each in ireland() if each["terms"]][:1], "USD")
    assert found.prices == (Decimal("0.0911"),)
    assert list(read_products([instance("m7g.large", "0.0000000000")], "USD")) == []
    assert list(read_products([instance("m7g.large", "0.5", currency="CNY")], "USD")) == []
