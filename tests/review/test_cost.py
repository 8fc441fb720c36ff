"""What a change costs per month, from prices that are there, and unknown where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from multiarch.observed.resources.paths import UNKNOWN
from multiarch.prices.model import PriceList, RegionPrices, UnknownPrice
from multiarch.review import cost
from multiarch.review.cost import CostDifference, CostRow
from multiarch.review.model import Operation, Preview, StackChange, StackVersion, Step
from multiarch.rules import Finding
from multiarch.stack.model import Plan
from tests.cost.priced import PRICES
from tests.review.by_hand import CLUSTER, GROUP, MANAGED, NODE_POOL, POOL, SCALING_GROUP, SELF_MANAGED, change, changed
from tests.review.by_hand import made as step_made
from tests.stack.words import TODAY, plan

ARN = "arn:aws:eks:eu-west-1:123456789012:nodegroup/checkout-dev/graviton-a10fc5e/d4939c98"
NAT = "aws:ec2/natGateway:NatGateway"


def made(kind: str, name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, **more: Any) -> Step:
    """A step whose old state has an ARN, from which the region is read."""
    outputs = more.pop("outputs", None)
    return step_made(
        kind, name, old, new, outputs=None if old is None else {**old, **(outputs or {}), "arn": ARN}, **more
    )


def group(change: Mapping[str, Any], base: Mapping[str, Any] = MANAGED, **more: Any) -> Step:
    """An update of the group graviton; the state's size is 2."""
    return changed(GROUP, "graviton", base, change, outputs={**base, "arn": ARN}, **more)


def priced(*steps: Step, prices: RegionPrices | None = PRICES, threshold: int = 100, **more: Any) -> StackChange:
    found = None if prices is None else PriceList("prices.json", {"eu-west-1": prices})
    return replace(change(*steps, **more), prices=found, cost_threshold=Decimal(threshold))


def difference(*steps: Step, **more: Any) -> CostDifference:
    return cost.compare_costs(priced(*steps, **more))


def row(*steps: Step, **more: Any) -> CostRow:
    (only,) = difference(*steps, **more).rows
    return only


def find(*steps: Step, **more: Any) -> list[Finding]:
    made = priced(*steps, **more)
    return list(cost.find_increase(cost.compare_costs(made), made.preview.stack, made.cost_threshold))


def reason(amount: object) -> str:
    assert isinstance(amount, UnknownPrice)
    return amount.reason


def test_another_type_costs_the_difference_at_the_present_and_at_the_maximum_size() -> None:
    found = row(group({"instanceTypes": ["m7g.xlarge"]}))
    assert (found.what, found.size_before, found.size_after) == (
        "node group graviton",
        "2 × m7g.large on-demand",
        "2 × m7g.xlarge on-demand",
    )
    assert (found.vcpus, found.gib) == (Decimal(4), Decimal(16))
    assert (found.before, found.after, found.change) == (Decimal(146), Decimal(292), Decimal(146))
    assert found.change_at_most == 4 * 730 * Decimal("0.1")


@pytest.mark.parametrize(("low", "high", "size"), [(1, 10, 5), (7, 10, 7), (1, 4, 4)])
def test_the_size_after_an_update_is_the_present_one_within_the_limits(low: int, high: int, size: int) -> None:
    old = {**MANAGED, "scalingConfig": {"desiredSize": 9, "minSize": 1, "maxSize": 9}}
    new = {**MANAGED, "scalingConfig": {"desiredSize": 9, "minSize": low, "maxSize": high}}
    found = row(made(GROUP, "graviton", old, new, outputs={"scalingConfig": {"desiredSize": 5}}))
    assert (found.size_before, found.size_after) == sizes(5, size)


def sizes(*numbers: int) -> tuple[str, ...]:
    return tuple(f"{number} × m7g.large on-demand" for number in numbers)


def test_a_size_that_the_update_sets_counts_and_a_new_group_has_its_declared_size_or_its_minimum() -> None:
    found = row(group({"scalingConfig": {"desiredSize": 4}}))
    assert (found.size_before, found.size_after) == sizes(2, 4)
    new = {**MANAGED, "scalingConfig": {"desiredSize": 1, "minSize": 1, "maxSize": 4}}
    found = row(made(GROUP, "graviton", MANAGED, new, operation=Operation.REPLACE))
    assert (found.size_before, found.size_after) == sizes(2, 1)
    found = row(made(GROUP, "graviton", None, {**MANAGED, "scalingConfig": {"minSize": 3, "maxSize": 4}}), prices=None)
    assert (found.size_before, found.size_after) == ("nothing", *sizes(3))


def test_spot_nodes_cost_the_mean_over_their_types_and_zones() -> None:
    found = row(group({"capacityType": "SPOT", "instanceTypes": ["m7g.large", "m6g.large"]}))
    assert (found.size_after, found.after) == ("2 × m7g.large or others spot", 2 * 730 * Decimal("0.03"))
    assert found.at_most_after == 4 * 730 * Decimal("0.03")
    zones = {"nodeGroups": {"graviton": {"instanceTypes": ["m7g.large"], "zones": ["eu-west-1b"]}}}
    both = plan({"network": {"zones": ["eu-west-1a", "eu-west-1b"]}, **zones})
    assert row(group({"capacityType": "SPOT"}), plans=(both, both)).after == 2 * 730 * Decimal("0.05")


def test_on_demand_groups_take_their_first_type_at_every_size() -> None:
    found = row(group({"instanceTypes": ["m6g.large", "m7g.xlarge"]}))
    assert found.after == 2 * 730 * Decimal("0.08")
    assert found.at_most_after == 4 * 730 * Decimal("0.08")


@pytest.mark.parametrize(
    ("distribution", "size", "amount"),
    [
        ({"onDemandPercentageAboveBaseCapacity": 0}, "10 × m7g.large or others spot", "0.3"),
        (
            {"onDemandPercentageAboveBaseCapacity": 25, "onDemandBaseCapacity": 2},
            "4 × m7g.large or others on-demand, 6 × m7g.large or others spot",
            "0.58",
        ),
        ({}, "10 × m7g.large or others on-demand", "1"),
    ],
)
def test_self_managed_groups_are_priced_as_they_are_bought(
    distribution: dict[str, int], size: str, amount: str
) -> None:
    policy = {**SELF_MANAGED["mixedInstancesPolicy"], "instancesDistribution": distribution}
    new = {**SELF_MANAGED, "minSize": 10, "maxSize": 10, "mixedInstancesPolicy": policy}
    found = row(made(SCALING_GROUP, "batch", SELF_MANAGED, new))
    assert (found.what, found.size_before) == ("node group batch", "8 × m7g.large or others spot")
    assert (found.size_after, found.after) == (size, 730 * Decimal(amount))


def test_a_new_and_a_deleted_group_cost_all_or_nothing() -> None:
    assert row(made(GROUP, "graviton", MANAGED, None)).change == -146
    other = made(GROUP, "other", {**MANAGED, "scalingConfig": {"desiredSize": 1, "minSize": 1, "maxSize": 1}}, None)
    assert difference(made(GROUP, "graviton", None, MANAGED), other).total == 73


@pytest.mark.parametrize(
    "operation", [Operation.SAME, Operation.DRIFT, Operation.FORGET, Operation.IMPORT, Operation.READ]
)
def test_what_the_update_leaves_alone_costs_nothing(operation: Operation) -> None:
    other = {**MANAGED, "instanceTypes": ["m7g.xlarge"]}
    assert difference(made(GROUP, "graviton", MANAGED, other, operation=operation)).rows == ()
    assert difference(group({"labels": {"a": "b"}})).rows == ()


@pytest.mark.parametrize(
    ("old", "new", "amount"), [("1.35", "1.36", None), ("1.32", "1.35", Decimal(-365)), ("1.33", "1.35", Decimal(-365))]
)
def test_the_control_plane_costs_more_in_extended_support(old: str, new: str, amount: Decimal | None) -> None:
    found = difference(made(CLUSTER, "cluster", {"version": old}, {"version": new}))
    support = ("1 in extended support", "1 in standard support")
    assert [(each.change, each.size_before, each.size_after) for each in found.rows] == (
        [] if amount is None else [(amount, *support)]
    )
    more = made(CLUSTER, "second", None, {"version": new})
    assert difference(made(CLUSTER, "cluster", {"version": old}, {"version": new}), more).total == 73 + (amount or 0)


def test_a_version_without_support_has_no_price() -> None:
    found = difference(made(CLUSTER, "cluster", {"version": "1.30"}, {"version": "1.35"}))
    assert found.unknown == ("control plane: EKS has ended the support of 1.30 and upgrades it",)


def test_items_of_a_network_cost_their_hours_together() -> None:
    found = row(made(NAT, "nat-0", {}, None), made(NAT, "nat-1", {}, None))
    assert (found.what, found.size_before, found.size_after, found.change) == (
        "NAT gateways",
        "2 without traffic",
        "nothing",
        Decimal("-70.08"),
    )


@pytest.mark.parametrize(
    ("kind", "subnets", "total"),
    [("Interface", [UNKNOWN, UNKNOWN], Decimal("14.6")), ("Interface", UNKNOWN, None), ("Gateway", None, Decimal(0))],
)
def test_an_interface_endpoint_costs_its_hours_in_each_zone(kind: str, subnets: object, total: Decimal | None) -> None:
    inputs = {"vpcEndpointType": kind, "subnetIds": subnets}
    found = difference(made("aws:ec2/vpcEndpoint:VpcEndpoint", "ecr.api", None, inputs), made(NAT, "nat-0", {}, None))
    endpoints = next(each for each in found.rows if each.what == "endpoint interfaces")
    assert endpoints.change == total if total is not None else "number" in reason(endpoints.change)


def test_karpenters_nodes_are_unknown_with_the_pools_limits() -> None:
    limited = {**NODE_POOL, "spec": {**NODE_POOL["spec"], "limits": {"cpu": "64"}}}
    found = difference(changed(POOL, "general", NODE_POOL, {"spec": limited["spec"]}))
    (only,) = found.rows
    assert (only.what, only.size_before, only.size_after) == ("NodePool general", "without a limit", "up to 64 vCPUs")
    assert "Karpenter adds nodes as pods need them" in found.unknown
    assert found.total is None


def test_without_prices_the_capacity_remains() -> None:
    found = difference(group({"instanceTypes": ["m7g.xlarge"]}), prices=None)
    assert (found.rows[0].vcpus, found.rows[0].gib) == (Decimal(4), Decimal(16))
    assert (found.total, found.currency) == (None, "")
    assert found.unknown == ("no prices were given (--prices)",)
    assert find(group({"instanceTypes": ["m7g.xlarge"]}), prices=None) == []


@pytest.mark.parametrize(
    ("change_", "why"),
    [
        ({"instanceTypes": ["m9g.huge"]}, "the price list of eu-west-1 has no on-demand price for m9g.huge"),
        ({"instanceTypes": UNKNOWN}, "node group graviton: its instance type is in its launch template, or is known"),
        ({"scalingConfig": UNKNOWN}, "node group graviton: its size, or how it is bought, is known only"),
        (
            {"capacityType": "SPOT", "instanceTypes": ["m7i.xlarge"]},
            "EC2 had no spot price for m7i.xlarge in eu-west-1",
        ),
    ],
)
def test_what_can_not_be_priced_is_unknown_with_the_reason(change_: Mapping[str, Any], why: str) -> None:
    found = difference(made(GROUP, "graviton", None, {**MANAGED, **change_}), made(NAT, "nat-0", {}, None))
    assert [each for each in found.unknown if each.startswith(why)], found.unknown
    assert not found.complete


def test_a_region_without_prices_and_old_prices_are_named() -> None:
    step = group({"instanceTypes": ["m7g.xlarge"]})
    frankfurt = plan(region="eu-central-1")
    found = difference(step, plans=(frankfurt, frankfurt))
    assert found.unknown == ("prices.json has no prices of eu-central-1; `multiarch prices fetch` adds them",)
    assert difference(step).stale == ""
    late = replace(priced(step), today=date(2026, 12, 24))
    assert cost.compare_costs(late).stale.startswith("The prices of eu-west-1 are 34 days old; `multiarch prices fetch")


def test_an_increase_above_the_threshold_is_a_finding() -> None:
    step = group({"instanceTypes": ["m7g.xlarge"]})
    (found,) = find(step)
    assert (found.rule.name, found.subject) == ("cost-increase", "stack checkout-dev")
    assert found.text == "Costs rise by about 146.00 USD per month; at the groups' maximum sizes +292.00."
    assert found.details == ("node group graviton: +146.00",)
    assert find(step, threshold=146) == []
    assert find(group({"instanceTypes": ["m6g.large"]}), threshold=0) == []


def plans_only(old: Plan | None, new: Plan | None) -> StackChange:
    """The change of a stack file without a preview."""
    preview = Preview("shop-dev", "multiarch-eks", "", (), (), (), succeeded=True)
    before, after = (None if each is None else StackVersion("stack.yaml", each) for each in (old, new))
    return StackChange(preview, before, after, TODAY, prices=PriceList("prices.json", {"eu-west-1": PRICES}))


def test_without_a_preview_the_stack_files_are_compared() -> None:
    larger = plan({"nodeGroups": {"web-arm": {"instanceTypes": ["m7g.xlarge"], "minSize": 2, "maxSize": 4}}})
    found = cost.compare_costs(plans_only(plan(), larger))
    assert [each.what for each in found.rows] == ["node group web-arm"]
    everything = cost.compare_costs(plans_only(None, plan()))
    assert {each.what for each in everything.rows} == {
        "node group web",
        "node group web-arm",
        "control plane",
        "NAT gateways",
        "public IPv4 addresses",
    }
    single, spread = (plan({"network": {"zones": 3, "nat": nat}}) for nat in ("single", "per-zone"))
    found = cost.compare_costs(plans_only(single, spread))
    assert [(each.what, each.change) for each in found.rows] == [
        ("NAT gateways", Decimal("70.08")),
        ("public IPv4 addresses", Decimal("7.3")),
    ]


def test_what_a_stack_file_does_not_say_costs_an_unknown_amount() -> None:
    broken = replace(plans_only(plan(), plan()), before=StackVersion("stack.yaml", None, "invalid"))
    for change_, why in (
        (broken, "the stack file is invalid, and there is no preview"),
        (plans_only(plan(), None), "the stack file is deleted, and its resources keep running"),
    ):
        found = cost.compare_costs(change_)
        assert (found.rows, found.total, found.complete, found.unknown) == ((), None, False, (why,))
