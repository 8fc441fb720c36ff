"""What nodes reach from an existing VPC's subnets, by what EC2 says of routes and endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from multiarch.doctor.model import CheckState
from multiarch.doctor.routes import check_routes
from multiarch.stack.plan import make_plan
from tests.stack.test_autoscaling_contradictions import IN_A_VPC, copied, groups, karpenter
from tests.stack.words import AUTO_MODE, EXISTING_CLUSTER, TODAY, merged, stack

A, B = IN_A_VPC["network"]["privateSubnetIds"]
OUT = {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1", "State": "active"}
LOCAL = {"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local", "State": "active"}
NEEDED = "ec2 ec2messages ecr.api ecr.dkr eks eks-auth logs s3 ssm ssmmessages sts autoscaling sqs"
ISOLATED = merged(merged(karpenter(isolatedVPC=True), IN_A_VPC), copied())
SCALED = merged(groups(), IN_A_VPC)


def table(*routes: Mapping[str, str], subnet: str | None = None) -> dict[str, Any]:
    """A route table: the main one, or that of one subnet."""
    return {"Associations": [{"SubnetId": subnet} if subnet else {"Main": True}], "Routes": [LOCAL, *routes]}


def check(change: Mapping[str, Any], tables: list[dict[str, Any]], services: str = "") -> list[tuple[CheckState, str]]:
    """State and text of the rows."""
    of = stack(change)
    answers = {
        "describe_route_tables": {"RouteTables": tables},
        "describe_vpc_endpoints": {
            "VpcEndpoints": [{"ServiceName": f"com.amazonaws.eu-west-1.{each}"} for each in services.split()]
        },
    }
    ec2 = SimpleNamespace(
        describe_subnets=lambda **_: {"Subnets": [{"VpcId": "vpc-1"}]},
        get_paginator=lambda name: SimpleNamespace(paginate=lambda **_: [answers[name]]),
    )
    rows = check_routes(lambda _: ec2, make_plan(of, today=TODAY), of.spec, "eu-west-1")
    return [(row.state, row.text) for row in rows]


@pytest.mark.parametrize("tables", [[table(OUT)], [table(), table(OUT, subnet=A), table(OUT, subnet=B)]])
def test_with_a_default_route_nothing_is_asked_of_endpoints(tables: list[dict[str, Any]]) -> None:
    assert check(SCALED, tables) == [(CheckState.OK, f"the default route of {A}, {B}")]


def test_without_one_each_thing_that_may_be_missing_is_a_warning() -> None:
    blackhole = OUT | {"State": "blackhole"}
    tables = [table(OUT), table(blackhole, subnet=B)]
    assert check(SCALED, tables, NEEDED.replace("autoscaling", "").replace("ecr.dkr", "")) == [
        (CheckState.WARNING, f"{B} without a default route: the VPC has no endpoints for autoscaling, ecr.dkr"),
        (CheckState.WARNING, f"{B} without a default route: registry.k8s.io can't be reached"),
    ]
    (row,) = check(merged(merged(karpenter(), IN_A_VPC), copied()), tables, NEEDED)
    assert row == (CheckState.WARNING, f"{B} without a default route: Karpenter can't reach IAM and the price list")


def test_with_all_endpoints_and_copies_nothing_is_missing() -> None:
    ((state, text),) = check(ISOLATED, [table()], NEEDED)
    assert (state, text) == (CheckState.OK, f"VPC endpoints: {', '.join(sorted(NEEDED.split()))}")


@pytest.mark.parametrize("change", [{}, EXISTING_CLUSTER, merged(AUTO_MODE, {"network": {"nat": "single"}})])
def test_a_new_vpc_and_nodes_alone_in_an_existing_cluster_have_no_row(change: Mapping[str, Any]) -> None:
    assert check(change, []) == []
