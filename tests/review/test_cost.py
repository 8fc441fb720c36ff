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
TAGS = {"tags": {"team": "checkout"}}
BASE: Mapping[str, Any] = {**MANAGED, **TAGS}
NAT = "aws:ec2/natGateway:NatGateway"


def made(kind: str, name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, **more: Any) -> Step:
    """A step whose old state has an ARN, from which the region is read."""
    outputs = more.pop("outputs", None)
    return step_made(
        kind, name, old, new, outputs=None if old is None else {**old, **(outputs or {}), "arn": ARN}, **more
    )


def group(change: Mapping[str, Any], base: Mapping[str, Any] = BASE, **more: Any) -> Step:
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
    return list(cost.find_increases(cost.compare_costs(made), made.cost_threshold))


def reason(amount: object) -> str:
    assert isinstance(amount, UnknownPrice)
    return amount.reason


def test_another_type_costs_the_difference_at_the_present_and_at_the_maximum_size() -> None:
    found = row(group({"instanceTypes": ["m7g.xlarge"]}))
    assert (found.team, found.what) == ("checkout", "arm64 on-demand nodes")
    assert (found.nodes_before, found.nodes_after) == (2, 2)
    assert (found.vcpus, found.gib) == (Decimal(4), Decimal(16))
    assert (found.before, found.after, found.change) == (Decimal(146), Decimal(292), Decimal(146))
    assert found.change_at_most == 4 * 730 * Decimal("0.1")


def scaled(old: Mapping[str, Any], low: int, high: int) -> Step:
    new = {**old, "scalingConfig": {"desiredSize": 9, "minSize": low, "maxSize": high}}
    present = {"scalingConfig": {"desiredSize": 5, "minSize": 1, "maxSize": 9}}
    return made(GROUP, "graviton", old, new, outputs=present)


@pytest.mark.parametrize(
    ("low", "high", "size", "why"),
    [(1, 10, 5, "present"), (7, 10, 7, "minimum"), (1, 4, 4, "maximum")],
)
def test_the_size_after_an_update_is_the_present_one_within_the_limits(
    low: int, high: int, size: int, why: str
) -> None:
    old = {**BASE, "scalingConfig": {"desiredSize": 9, "minSize": 1, "maxSize": 9}}
    found = difference(scaled(old, low, high))
    assert (found.rows[0].nodes_before, found.rows[0].nodes_after) == (5, size)
    before, after = "5 × m7g.large, at most 9 (present size)", f"{size} × m7g.large, at most {high} ({why} size)"
    assert found.basis == (f"node group graviton: {before} → {after}",)


def test_what_replaces_a_group_has_the_declared_size() -> None:
    new = {**BASE, "instanceTypes": ["m7g.xlarge"], "scalingConfig": {"desiredSize": 1, "minSize": 1, "maxSize": 4}}
    found = row(made(GROUP, "graviton", BASE, new, operation=Operation.REPLACE))
    assert (found.nodes_before, found.nodes_after, found.change) == (2, 1, Decimal(0))


def test_without_a_declared_size_a_new_group_has_its_minimum() -> None:
    new = {**BASE, "scalingConfig": {"minSize": 1, "maxSize": 4}}
    found = difference(made(GROUP, "graviton", None, new), prices=None)
    assert "1 × m7g.large, at most 4 (minimum size)" in found.basis[0]


def test_a_move_to_another_architecture_is_a_row_of_each() -> None:
    rows = difference(group({"instanceTypes": ["m7i.large"]})).rows
    assert [(each.what, each.change) for each in rows] == [
        ("amd64 on-demand nodes", Decimal("175.2")),
        ("arm64 on-demand nodes", Decimal(-146)),
    ]


def test_spot_nodes_cost_the_mean_over_their_types_and_zones() -> None:
    step = group({"capacityType": "SPOT", "instanceTypes": ["m7g.large", "m6g.large"]})
    spot = next(each for each in difference(step).rows if "spot" in each.what)
    assert spot.after == 2 * 730 * Decimal("0.03")
    assert spot.at_most_after == 4 * 730 * Decimal("0.03")


def test_spot_prices_are_those_of_the_groups_zones() -> None:
    zones = {"nodeGroups": {"graviton": {"instanceTypes": ["m7g.large"], "zones": ["eu-west-1b"]}}}
    both = plan({"network": {"zones": ["eu-west-1a", "eu-west-1b"]}, **zones})
    spot = next(
        each for each in difference(group({"capacityType": "SPOT"}), plans=(both, both)).rows if "spot" in each.what
    )
    assert spot.after == 2 * 730 * Decimal("0.05")


def test_on_demand_groups_take_their_first_type_at_every_size() -> None:
    found = row(group({"instanceTypes": ["m6g.large", "m7g.xlarge"]}))
    assert found.after == 2 * 730 * Decimal("0.08")
    assert found.at_most_after == 4 * 730 * Decimal("0.08")


def test_self_managed_groups_are_priced_too() -> None:
    base = {**SELF_MANAGED, "tags": [{"key": "team", "value": "batch"}]}
    found = row(made(SCALING_GROUP, "batch", base, {**base, "minSize": 10, "maxSize": 10}))
    assert (found.team, found.what, found.nodes_before, found.nodes_after) == ("batch", "arm64 spot nodes", 8, 10)
    assert found.change == 2 * 730 * Decimal("0.03")


def test_a_new_and_a_deleted_group_cost_all_or_nothing() -> None:
    assert row(made(GROUP, "graviton", BASE, None)).change == -146
    other = made(GROUP, "other", {**BASE, "scalingConfig": {"desiredSize": 1, "minSize": 1, "maxSize": 1}}, None)
    assert difference(made(GROUP, "graviton", None, BASE), other).total == 73


@pytest.mark.parametrize(
    "operation", [Operation.SAME, Operation.DRIFT, Operation.FORGET, Operation.IMPORT, Operation.READ]
)
def test_what_the_update_leaves_alone_costs_nothing(operation: Operation) -> None:
    other = {**BASE, "instanceTypes": ["m7g.xlarge"]}
    assert difference(made(GROUP, "graviton", BASE, other, operation=operation)).rows == ()


def test_changes_without_a_price_and_new_names_make_no_row() -> None:
    assert difference(group({"labels": {"a": "b"}})).rows == ()
    assert difference(made(GROUP, "old", BASE, None), made(GROUP, "new", None, BASE)).rows == ()
    assert difference(made(GROUP, "old", BASE, None), made(GROUP, "new", None, BASE), prices=None).rows == ()


@pytest.mark.parametrize(
    ("old", "new", "amount"),
    [("1.35", "1.36", None), ("1.32", "1.35", Decimal(-365)), ("1.33", "1.35", Decimal(-365))],
)
def test_the_control_plane_costs_more_in_extended_support(old: str, new: str, amount: Decimal | None) -> None:
    base = {"name": "checkout-dev", "version": old, **TAGS}
    found = difference(made(CLUSTER, "cluster", base, {**base, "version": new}))
    assert [each.change for each in found.rows] == ([] if amount is None else [amount])
    if amount is not None:
        assert found.basis == ("control plane: extended support → standard support",)


def test_a_version_without_support_has_no_price() -> None:
    base = {"name": "checkout-dev", "version": "1.30", **TAGS}
    found = difference(made(CLUSTER, "cluster", base, {**base, "version": "1.35"}))
    assert found.unknown == ("control plane: EKS has ended the support of 1.30 and upgrades it",)


def test_nat_gateways_cost_their_hours() -> None:
    found = difference(made(NAT, "nat-0", {**TAGS}, None))
    assert (found.rows[0].what, found.total) == ("NAT gateways", Decimal("-35.04"))
    assert found.basis == ("nat-0 (NAT gateways): 1 without traffic → nothing",)


@pytest.mark.parametrize(
    ("inputs", "total"),
    [
        ({"vpcEndpointType": "Interface", "subnetIds": [UNKNOWN, UNKNOWN]}, Decimal("14.6")),
        ({"vpcEndpointType": "Interface", "subnetIds": UNKNOWN}, None),
        ({"vpcEndpointType": "Gateway", "routeTableIds": [UNKNOWN]}, None),
    ],
)
def test_an_interface_endpoint_costs_its_hours_in_each_zone(inputs: dict[str, Any], total: Decimal | None) -> None:
    endpoint = "aws:ec2/vpcEndpoint:VpcEndpoint"
    old = {**TAGS, **inputs, "subnetIds": []} if inputs["vpcEndpointType"] == "Interface" else {**TAGS, **inputs}
    found = difference(made(endpoint, "ecr.api", old, {**TAGS, **inputs}))
    assert found.total == total
    assert bool(found.unknown) is (inputs.get("subnetIds") == UNKNOWN)


def test_karpenters_nodes_are_unknown_with_the_pools_limits() -> None:
    limited = {**NODE_POOL, "spec": {**NODE_POOL["spec"], "limits": {"cpu": "64"}}}
    found = difference(changed(POOL, "general", NODE_POOL, {"spec": limited["spec"]}))
    assert found.basis == ("NodePool general: without a limit → up to 64 vCPUs",)
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
        ({"instanceTypes": ["m9g.huge"]}, "node group graviton: Unknown EC2 instance type: 'm9g.huge'"),
        ({"instanceTypes": ["c7g.large"]}, "the price list of eu-west-1 has no on-demand price for c7g.large"),
        ({"instanceTypes": [UNKNOWN]}, "node group graviton: its instance type is in its launch template, or is known"),
        ({"instanceTypes": UNKNOWN}, "node group graviton: its instance type"),
        ({"scalingConfig": UNKNOWN}, "node group graviton: its size is known only after the update"),
        (
            {"capacityType": "SPOT", "instanceTypes": ["m7i.xlarge"]},
            "EC2 had no spot price for m7i.xlarge in eu-west-1",
        ),
    ],
)
def test_what_can_not_be_priced_is_unknown_with_the_reason(change_: Mapping[str, Any], why: str) -> None:
    new = {**BASE, **change_}
    step = made(GROUP, "graviton", BASE, new)
    if "instanceTypes" in change_ and change_["instanceTypes"] == UNKNOWN:
        step = made(GROUP, "graviton", None, new)
        found = difference(step, made(GROUP, "other", BASE, None))
    else:
        found = difference(step)
    assert [each for each in found.unknown if each.startswith(why)], found.unknown
    assert not found.complete


def test_a_group_of_both_capacity_types_is_unknown() -> None:
    base = {**SELF_MANAGED, "tags": [{"key": "team", "value": "batch"}]}
    policy = {
        **SELF_MANAGED["mixedInstancesPolicy"],
        "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 40},
    }
    found = difference(made(SCALING_GROUP, "batch", base, {**base, "mixedInstancesPolicy": policy}))
    assert found.unknown == ("node group batch: 60 % of it is spot, the rest on-demand",)


def test_a_region_without_prices_is_named() -> None:
    frankfurt = plan(region="eu-central-1")
    found = difference(group({"instanceTypes": ["m7g.xlarge"]}), plans=(frankfurt, frankfurt))
    assert found.unknown == ("prices.json has no prices of eu-central-1; `multiarch prices fetch` adds them",)


def test_old_prices_are_named() -> None:
    step = group({"instanceTypes": ["m7g.xlarge"]})
    assert difference(step).stale == ""
    late = replace(priced(step), today=date(2026, 12, 24))
    assert cost.compare_costs(late).stale == (
        "The prices of eu-west-1 are 34 days old; `multiarch prices fetch --region eu-west-1` fetches them again"
    )


def test_an_increase_above_the_threshold_is_a_finding() -> None:
    step = group({"instanceTypes": ["m7g.xlarge"]})
    (found,) = find(step)
    assert (found.rule.name, found.subject) == ("cost-increase", "team checkout")
    assert found.text == "Costs rise by about 146.00 USD per month; at the groups' maximum sizes +292.00."
    assert found.details == ("arm64 on-demand nodes: +146.00",)
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
    assert [each.what for each in found.rows] == ["arm64 on-demand nodes"]
    assert found.rows[0].team == "shop"
    everything = cost.compare_costs(plans_only(None, plan()))
    assert {each.what for each in everything.rows} == {
        "amd64 on-demand nodes",
        "arm64 on-demand nodes",
        "control plane",
        "NAT gateways",
        "public IPv4 addresses",
    }
    broken = replace(plans_only(plan(), larger), before=StackVersion("stack.yaml", None, "invalid"))
    rejected = cost.compare_costs(broken)
    assert (rejected.rows, rejected.complete) == ((), False)
    assert rejected.unknown == ("the stack file is invalid, and there is no preview",)


def test_a_deleted_stack_file_saves_nothing_while_its_resources_run() -> None:
    deleted = cost.compare_costs(plans_only(plan(), None))
    assert (deleted.rows, deleted.total, deleted.complete) == ((), None, False)
    assert deleted.unknown == ("the stack file is deleted, and its resources keep running",)


def test_without_a_preview_nat_gateways_count_as_they_do_with_one() -> None:
    zones = ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
    single, spread = (plan({"network": {"zones": zones, "nat": nat}}) for nat in ("single", "per-zone"))
    found = cost.compare_costs(plans_only(single, spread))
    assert [(each.what, each.change) for each in found.rows] == [
        ("NAT gateways", Decimal("70.08")),
        ("public IPv4 addresses", Decimal("7.3")),
    ]
    assert found.basis[0] == "NAT gateways: 1 without traffic → 3 without traffic"
    assert cost.compare_costs(plans_only(spread, single)).total == Decimal("-77.38")


def test_a_second_cluster_of_the_same_price_is_not_taken_for_the_first() -> None:
    old, new = {"version": "1.34"}, {"version": "1.35"}
    steps = made(CLUSTER, "first", old, new), made(CLUSTER, "second", None, new)
    assert row(*steps).change == 73


def test_spot_groups_with_on_demand_nodes_at_their_base_are_unknown() -> None:
    policy = SELF_MANAGED["mixedInstancesPolicy"]
    spread = {"onDemandPercentageAboveBaseCapacity": 0, "onDemandBaseCapacity": 2}
    mixed = {**SELF_MANAGED, "mixedInstancesPolicy": {**policy, "instancesDistribution": spread}}
    found = difference(made(SCALING_GROUP, "batch", mixed, None))
    assert found.unknown == ("node group batch: 2 nodes of it are on-demand, others spot",)


def test_a_size_that_the_update_sets_counts() -> None:
    step = group({"scalingConfig": {"desiredSize": 4}})
    assert (row(step).nodes_before, row(step).nodes_after) == (2, 4)
