"""Fleets and spot prices: the cheapest that EC2 has, and what the answer says of what it lacks."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.aws.fleets import Shortage
from sandbox.aws.remote import Remote
from tests.sandbox.served import REGION, Served

CHEAP, DEAR = "m7g.large", "m7g.xlarge"
PRICES = {(CHEAP, "a"): 0.1, (CHEAP, "b"): 0.2, (DEAR, "a"): 0.3, (DEAR, "b"): 0.4}


@pytest.fixture
def remote(aws: Served) -> Remote:
    return Remote(aws.endpoint)


def fleet(aws: Served, capacity_type: str, *, count: int = 1) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Request instances of either type in either zone; return type and zone of each, and of each error."""
    _, subnets = aws.network()
    data = {"ImageId": aws.image("arm64")}
    ec2 = aws.client("ec2")
    template = ec2.create_launch_template(LaunchTemplateName="team", LaunchTemplateData=data)["LaunchTemplate"]
    overrides = [
        {
            "InstanceType": name,
            "SubnetId": subnets["ab".index(zone)],
            "AvailabilityZone": f"{REGION}{zone}",
            "Priority": price,
        }
        for (name, zone), price in PRICES.items()
    ]
    answer = ec2.create_fleet(
        Type="instant",
        LaunchTemplateConfigs=[
            {
                "LaunchTemplateSpecification": {"LaunchTemplateId": template["LaunchTemplateId"], "Version": "$Latest"},
                "Overrides": overrides,
            }
        ],
        TargetCapacitySpecification={"TotalTargetCapacity": count, "DefaultTargetCapacityType": capacity_type},
        SpotOptions={"AllocationStrategy": "price-capacity-optimized"},
    )
    assert {each["ErrorCode"] for each in answer["Errors"]} <= {"InsufficientInstanceCapacity"}
    return (
        [spot(each["LaunchTemplateAndOverrides"]["Overrides"]) for each in answer["Instances"]],
        [spot(each["LaunchTemplateAndOverrides"]["Overrides"]) for each in answer["Errors"]],
    )


def spot(override: dict[str, Any]) -> tuple[str, str]:
    return override["InstanceType"], override["AvailabilityZone"].removeprefix(REGION)


def test_a_fleet_starts_the_first_priority(aws: Served) -> None:
    assert fleet(aws, "on-demand", count=2) == ([(CHEAP, "a")] * 2, [])


def test_a_fleet_passes_over_a_zone_without_capacity_and_says_so(aws: Served, remote: Remote) -> None:
    remote.set_shortages(Shortage(zone=f"{REGION}a"))
    assert fleet(aws, "spot") == ([(CHEAP, "b")], [(CHEAP, "a"), (DEAR, "a")])


def test_where_there_is_no_capacity_a_fleet_starts_nothing(aws: Served, remote: Remote) -> None:
    remote.set_shortages(Shortage(capacity_type="spot"))
    assert fleet(aws, "spot") == ([], list(PRICES))
    assert aws.client("ec2").describe_instances()["Reservations"] == []


def test_a_shortage_of_spot_leaves_on_demand_and_ends(aws: Served, remote: Remote) -> None:
    remote.set_shortages(Shortage(zone=f"{REGION}a", capacity_type="spot"))
    assert fleet(aws, "on-demand") == ([(CHEAP, "a")], [])
    aws.empty()
    assert fleet(aws, "spot") == ([(CHEAP, "a")], [])


def test_spot_prices_are_those_that_were_set(aws: Served, remote: Remote) -> None:
    remote.set_spot_prices({CHEAP: {f"{REGION}a": "0.0301", f"{REGION}c": "0.0402"}})
    rows = aws.client("ec2").describe_spot_price_history()["SpotPriceHistory"]
    found = {(row["InstanceType"], row["AvailabilityZone"]): row["SpotPrice"] for row in rows}
    assert found == {(CHEAP, f"{REGION}a"): "0.0301", (CHEAP, f"{REGION}c"): "0.0402"}
