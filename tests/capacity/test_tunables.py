"""What of a stack can be raised, what it costs, and the plan and the changes that come of it."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from multiarch.capacity.recommendation.changes import ValueChange, compare_plans
from multiarch.capacity.recommendation.rates import get_rates
from multiarch.capacity.recommendation.tunables import Cost, Tunable, list_tunables, with_values
from multiarch.cost.pricing import Pricing
from multiarch.cost.stack import compute_stack_costs
from multiarch.prices.model import RegionPrices
from multiarch.stack.model import Plan
from tests.simulate.simulated import grown, pooled
from tests.stack.words import TODAY, merged, plan

ZONES = ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
NETWORK = {"network": {"zones": ZONES}}


def tunables(made: Plan) -> dict[str, Tunable]:
    return {".".join(each.key): each for each in list_tunables(made, get_rates(made, None))}


def test_the_cluster_autoscaler_grows_to_max_size() -> None:
    made = plan(grown({"api": {"instanceTypes": ["m7i.xlarge"], "maxSize": 4}}))
    (only,) = tunables(made).values()
    assert only == Tunable(("nodeGroups", "api", "maxSize"), 4, Cost(at_most=Decimal(4)))
    changed = with_values(made, {only.key: 6})
    assert [group.sizes.maximum for group in changed.node_groups] == [6]
    assert list(compare_plans(made, changed)) == [ValueChange(only.key, 4, 6)]


def test_without_an_autoscaler_the_desired_size_counts_and_max_size_follows() -> None:
    made = plan({"nodeGroups": {"web": {"instanceTypes": ["m7i.large"], "maxSize": 3}, "web-arm": None}})
    (only,) = tunables(made).values()
    assert only == Tunable(("nodeGroups", "web", "desiredSize"), 1, Cost(always=Decimal(2)))
    assert list(compare_plans(made, with_values(made, {only.key: 5}))) == [
        ValueChange(("nodeGroups", "web", "desiredSize"), 1, 5),
        ValueChange(("nodeGroups", "web", "maxSize"), 3, 5),
    ]


def test_groups_of_one_key_are_raised_together() -> None:
    words = grown({"api": {"instanceTypes": ["m7i.large"], "maxSize": 2, "onePerZone": True}})
    made = plan(merged(words, NETWORK))
    (only,) = tunables(made).values()
    assert only.cost == Cost(at_most=Decimal(3 * 2))
    changed = with_values(made, {only.key: 3})
    assert [group.sizes.maximum for group in changed.node_groups] == [3, 3, 3]
    assert list(compare_plans(made, changed)) == [ValueChange(only.key, 2, 3)]


def test_a_group_that_leaves_zones_out_can_have_all_of_them() -> None:
    made = plan(merged(grown({"api": {"instanceTypes": ["m7i.large"], "zones": ZONES[:1]}}), NETWORK))
    key = ("nodeGroups", "api", "zones")
    assert tunables(made)[".".join(key)] == Tunable(key, 0, Cost(), most=1)
    changed = with_values(made, {key: 1})
    assert list(compare_plans(made, changed)) == [ValueChange(key, (ZONES[0],), tuple(ZONES))]


def test_limits_of_node_pools_count_for_each_pool() -> None:
    pool = {"sizes": ["xlarge"], "cpuLimit": 8, "memoryLimit": "64Gi", "zones": ZONES[:2]}
    made = plan(merged(pooled({"general": pool}), NETWORK))
    found = tunables(made)
    prefix = "autoscaling.karpenter.nodePools.general"
    cpu, memory = found[f"{prefix}.cpuLimit"], found[f"{prefix}.memoryLimit"]
    assert (cpu.present, cpu.step, cpu.cost) == (8, 4, Cost(at_most=Decimal(4)))  # 4 NodePools, 1 vCPU each
    assert (memory.present, memory.step) == (64, 32)
    changed = with_values(made, {cpu.key: 20, memory.key: 96, found[f"{prefix}.zones"].key: 1})
    assert [(each.key[-1], each.new) for each in compare_plans(made, changed)] == [
        ("cpuLimit", 20),
        ("memoryLimit", "96Gi"),
        ("zones", tuple(ZONES)),
    ]


def test_prices_replace_vcpus() -> None:
    made = plan(grown({"api": {"instanceTypes": ["m7i.large"]}, "spot": {"instanceTypes": ["m7g.large"]}}))
    prices = RegionPrices("eu-west-1", "USD", datetime(2026, 11, 20, tzinfo=UTC), {"m7i.large": Decimal("0.1")})
    without = get_rates(made, prices)
    assert (without.unit, without.node["api"]) == ("vCPU", Decimal(2))
    assert without.unknown == "the price list of eu-west-1 has no on-demand price for m7g.large"
    full = RegionPrices("eu-west-1", "USD", prices.fetched, {"m7i.large": Decimal("0.1"), "m7g.large": Decimal("0.08")})
    rates = get_rates(made, full)
    assert (rates.unit, rates.node, rates.unknown) == ("USD", {"api": Decimal(73), "spot": Decimal("58.4")}, "")


def test_a_node_of_a_spot_group_costs_what_the_cost_report_says() -> None:
    types = ["m7g.large", "c7g.xlarge"]
    made = plan(grown({"web": {"instanceTypes": types, "capacityType": "spot", "minSize": 1, "desiredSize": 1}}))
    spot = {"m7g.large": {"eu-west-1a": Decimal("0.03")}, "c7g.xlarge": {"eu-west-1a": Decimal("0.09")}}
    on_demand = {"m7i.large": Decimal("0.1"), "m7g.large": Decimal("0.08")}
    prices = RegionPrices("eu-west-1", "USD", datetime(2026, 11, 20, tzinfo=UTC), on_demand, spot)
    costs = {each.group: each.monthly for each in compute_stack_costs(made, Pricing(prices, TODAY)).nodes}
    assert get_rates(made, prices).node["web"] == costs["web"] == Decimal("43.80")
