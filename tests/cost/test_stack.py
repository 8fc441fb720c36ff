"""What a stack costs: by the sizes of its groups, by simulated nodes, by the nodes of a cluster."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from multiarch.cost.chart import build_bars
from multiarch.cost.model import CostReport
from multiarch.cost.pricing import Pricing
from multiarch.cost.stack import compute_stack_costs
from multiarch.nodes.model import CapacityType
from multiarch.prices.model import Amount, RegionPrices, UnknownPrice
from tests.cost.priced import HOURS, PRICES, PRICING, node, reason
from tests.simulate.simulated import pooled
from tests.stack.words import AUTO_MODE, TODAY, plan

ZONES = {"network": {"zones": ["eu-west-1a", "eu-west-1b"]}}
SPOT = {
    **ZONES,
    "nodeGroups": {
        "web-arm": {"instanceTypes": ["m7g.large", "m6g.large"], "capacityType": "spot", "minSize": 2, "maxSize": 4}
    },
}


def monthly(report: CostReport) -> dict[str, Amount]:
    return {line.group: line.monthly for line in report.nodes} | dict(report.others)


def test_groups_count_with_their_desired_size_and_their_maximum() -> None:
    report = compute_stack_costs(plan({"nodeGroups": {"web": {"minSize": 2, "maxSize": 5}}}), PRICING)
    (web, arm) = report.nodes
    assert (web.group, web.nodes, web.capacity, web.instance_types) == ("web", 2, "amd64 on-demand", ("m7i.large",))
    assert web.monthly == 2 * HOURS * Decimal("0.12")
    assert dict(report.at_maximum_size)["web"] == 5 * HOURS * Decimal("0.12")
    assert arm.capacity == "arm64 on-demand"


def test_control_plane_and_nat_gateways_belong_to_no_group() -> None:
    found = monthly(compute_stack_costs(plan(), PRICING))
    assert found["control plane"] == 73
    assert found["NAT gateways (1)"] == HOURS * Decimal("0.048")
    each = monthly(compute_stack_costs(plan({"network": {"zones": 3, "nat": "per-zone"}}), PRICING))
    assert each["NAT gateways (3)"] == 3 * HOURS * Decimal("0.048")
    endpoints = ["ec2", "ec2messages", "ecr", "eks", "eks-auth", "logs", "s3", "ssm", "ssmmessages", "sts"]
    none = compute_stack_costs(plan({"network": {"nat": "none", "zones": 3, "endpoints": endpoints}}), PRICING)
    assert not [what for what in monthly(none) if "NAT" in what]
    assert monthly(none)["endpoint interfaces (30)"] == 30 * HOURS * Decimal("0.01")
    assert "Not counted: KMS keys (1)." in none.notes
    assert found["public IPv4 addresses (1)"] == HOURS * Decimal("0.005")


def test_a_provisioned_scaling_tier_makes_the_control_plane_unknown() -> None:
    found = compute_stack_costs(plan({"controlPlaneTier": "tier-xl"}), PRICING)
    assert found.unknown == ("control plane: the price of the scaling tier tier-xl is not read from AWS",)
    assert not found.complete


def test_a_spot_group_costs_the_mean_of_its_types_and_zones() -> None:
    report = compute_stack_costs(plan(SPOT), PRICING)
    arm = next(line for line in report.nodes if line.group == "web-arm")
    # m7g.large: the mean of 0.03 and 0.05; m6g.large has a price in one of the zones.
    assert arm.monthly == 2 * HOURS * Decimal("0.03")
    # At the maximum size each node costs the same.
    assert dict(report.at_maximum_size)["web-arm"] == 4 * HOURS * Decimal("0.03")
    assert "Spot nodes count with the mean of the last prices of their instance types and zones." in report.notes


def test_the_total_is_what_is_known_and_says_what_is_not() -> None:
    report = compute_stack_costs(plan({"nodeGroups": {"web": {"instanceTypes": ["m7a.large"]}}}), PRICING)
    assert not report.complete
    assert report.monthly == HOURS * Decimal("0.1") + 73 + HOURS * Decimal("0.053")
    assert report.unknown == ("the price list of eu-west-1 has no on-demand price for m7a.large",)


def test_without_prices_every_amount_has_the_reason_and_old_prices_are_named() -> None:
    report = compute_stack_costs(plan(), Pricing(UnknownPrice("no prices"), TODAY))
    assert (report.currency, report.prices_fetched_at, report.unknown) == ("", None, ("no prices",))
    assert report.monthly == 0
    old = Pricing(replace(PRICES, fetched=PRICES.fetched - timedelta(days=30)), TODAY)
    notes = compute_stack_costs(plan(), old).notes
    assert any(note.startswith("The prices of eu-west-1 are 31 days old") for note in notes)
    assert PRICING.stale == ""


def test_the_pools_of_a_plan_are_unknown_without_nodes() -> None:
    report = compute_stack_costs(plan(pooled({"general": {}})), PRICING)
    pools = {what: amount for what, amount in report.others if what.startswith("NodePool")}
    counted = [node("general-arm64-spot", "", name="general-arm64-spot-1", architecture="arm64")]
    (line,) = compute_stack_costs(plan(pooled({"general": {}})), PRICING, counted).nodes
    assert reason(line.monthly) == "the instance type of existing nodes of general-arm64-spot is not known"
    assert len(pools) == 4
    assert {reason(amount) for amount in pools.values()} == {"Karpenter adds nodes as pods need them"}


def test_simulated_nodes_of_a_pool_cost_what_their_type_and_zone_cost() -> None:
    made = plan({**pooled({"general": {}}), **ZONES})
    nodes = [
        node("general-arm64-spot", "m7g.large", name="a", zone="eu-west-1a"),
        node("general-arm64-spot", "m7g.large", name="b", zone="eu-west-1b"),
        node("general-arm64-spot", "m7g.large", name="c", zone="zone-1"),
    ]
    (line,) = compute_stack_costs(made, PRICING, nodes).nodes
    assert (line.nodes, line.capacity) == (3, "arm64 spot")
    # A zone that is a placeholder has the mean.
    assert line.monthly == HOURS * (Decimal("0.03") + Decimal("0.05") + Decimal("0.04"))


def test_nodes_of_eks_auto_mode_cost_its_fee_beside_their_price() -> None:
    made = plan(AUTO_MODE)
    lean, labels = node("general-arm64-spot", "m7g.large"), (("eks.amazonaws.com/compute-type", "auto"),)
    nodes = [replace(lean, shape=replace(lean.shape, labels=(*lean.shape.labels, *labels)))]
    priced = Pricing(replace(PRICES, auto_mode={"m7g.large": Decimal("0.012")}), TODAY)
    report = compute_stack_costs(made, priced, nodes)
    assert [line.monthly for line in report.nodes] == [HOURS * (Decimal("0.04") + Decimal("0.012"))]
    assert "Nodes of EKS Auto Mode count with its fee for each instance." in report.notes
    # Prices that were fetched before the fee was known of.
    (line,) = compute_stack_costs(made, PRICING, nodes).nodes
    assert reason(line.monthly).startswith("the prices of eu-west-1 are without fees of EKS Auto Mode; `multiarch pri")
    other = Pricing(replace(PRICES, auto_mode={"m7i.large": Decimal("0.012")}), TODAY)
    (line,) = compute_stack_costs(made, other, nodes).nodes
    assert reason(line.monthly) == "the price list of eu-west-1 has no fee of EKS Auto Mode for m7g.large"
    pools = [amount for what, amount in compute_stack_costs(made, PRICING).others if what.startswith("NodePool")]
    assert {reason(amount) for amount in pools} == {"EKS Auto Mode adds nodes as pods need them"}


def test_simulated_nodes_of_a_group_may_be_of_any_of_its_types_and_running_ones_are_of_one() -> None:
    nodes = [node("web-arm", "m7g.large", zone="eu-west-1b")]
    (planned,) = compute_stack_costs(plan(SPOT), PRICING, nodes).nodes
    assert (planned.instance_types, planned.monthly) == (("m7g.large", "m6g.large"), HOURS * Decimal("0.03"))
    (running,) = compute_stack_costs(plan(SPOT), PRICING, nodes, running=True).nodes
    assert (running.instance_types, running.monthly) == (("m7g.large",), HOURS * Decimal("0.05"))


def test_running_nodes_of_no_group_are_counted_and_unknown_ones_named() -> None:
    nodes = [
        node("", "m7g.large", name="own", capacity=CapacityType.ON_DEMAND),
        node("", "m7g.large", name="no-label"),
        node("", "", name="no-type", capacity=CapacityType.SPOT, architecture="arm64"),
    ]
    report = compute_stack_costs(plan(), PRICING, nodes, running=True)
    assert [(line.group, line.nodes) for line in report.nodes] == [("", 1)] * 3
    assert report.unknown == (
        "the capacity type of node no-label is not known",
        "the instance type of node no-type is not known",
    )
    assert sum(line.monthly for line in report.nodes if isinstance(line.monthly, Decimal)) == HOURS * Decimal("0.1")


def test_the_chart_has_a_bar_for_each_kind_of_cost_the_largest_first() -> None:
    report = compute_stack_costs(plan({"nodeGroups": {"web": {"minSize": 2}}}), PRICING)
    found = build_bars(report)
    assert (found[0].label, found[0].length) == ("amd64 on-demand nodes", 1)
    assert sum(bar.share for bar in found) == pytest.approx(1)
    assert [bar.length for bar in found] == sorted((bar.length for bar in found), reverse=True)
    nothing = RegionPrices("eu-west-1", "USD", PRICES.fetched, {})
    found = build_bars(compute_stack_costs(plan(), Pricing(nothing, TODAY)))
    assert {(bar.length, bar.share) for bar in found} == {(0.0, 0.0)}
