"""The on-demand share of a spot group is what costs, simulations, failures and quotas count with."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from multiarch.capacity.failures import list_lost_nodes
from multiarch.capacity.model import CapacityFailure
from multiarch.cost.pricing import get_next_node_price
from multiarch.cost.stack import compute_stack_costs
from multiarch.doctor.quotas import list_needs
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType
from multiarch.review.nodes.group_states import GroupState, list_group_changes
from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.simulation import list_planned_nodes, settle_pods
from multiarch.stack.model import Plan
from tests.components.declared import SCALING_GROUP, world
from tests.cost.priced import PRICING
from tests.review.by_hand import change, changed
from tests.simulate.simulated import pods
from tests.stack.words import plan

ON_DEMAND, SPOT = CapacityType.ON_DEMAND, CapacityType.SPOT
ZONES = ("eu-west-1a", "eu-west-1b")


def words(base: int = 1, share: int = 25, **more: object) -> dict[str, Any]:
    distribution = {"onDemandBaseCapacity": base, "onDemandPercentageAboveBaseCapacity": share}
    group = {
        "kind": "self-managed",
        "instanceTypes": ["m7i.large"],
        "capacityType": "spot",
        "instancesDistribution": distribution,
        "minSize": 5,
        "maxSize": 9,
    }
    return {
        "network": {"zones": list(ZONES)},
        "nodeGroups": {"web": {**group, **more}, "web-arm": None},
        "autoscaling": {"use": "cluster-autoscaler"},
    }


def made(**more: Any) -> Plan:
    return plan(words(**more))


@pytest.mark.parametrize(
    ("base", "share", "nodes", "on_demand"),
    [(0, 0, 4, 0), (2, 0, 1, 1), (0, 25, 10, 3), (2, 30, 5, 3), (3, 99, 0, 0)],
)
def test_the_base_comes_first_and_fractions_are_on_demand(base: int, share: int, nodes: int, on_demand: int) -> None:
    (group,) = made(base=base, share=share).node_groups
    assert group.split(nodes) == {ON_DEMAND: on_demand, SPOT: nodes - on_demand}
    assert group.mixed is bool(base or share)


def test_costs_follow_the_share() -> None:
    report = compute_stack_costs(made(), PRICING)
    assert [(line.capacity_type, line.nodes) for line in report.nodes] == [(ON_DEMAND, 2), (SPOT, 3)]
    assert [line.monthly for line in report.nodes] == [2 * 730 * Decimal("0.12"), 3 * 730 * Decimal("0.06")]
    assert report.at_maximum_size[0].monthly == 730 * (3 * Decimal("0.12") + 6 * Decimal("0.06"))
    (group,) = made().node_groups
    assert get_next_node_price(made(), group, PRICING.hour) == Decimal("0.12") / 4 + Decimal("0.06") * 3 / 4


def test_a_simulation_has_nodes_of_both_and_a_failure_of_spot_takes_its_own() -> None:
    stack, context, waiting = made(), SimulationContext(ZONES), list(read_pods([pods(count=8, cpu="1.5")]))
    nodes = list_planned_nodes(stack.node_groups, context, waiting)
    assert [each.capacity_type for each in nodes] == [ON_DEMAND] * 2 + [SPOT] * 3
    after = settle_pods(stack.autoscaling, stack.node_groups, context, nodes, waiting).nodes
    assert [each.capacity_type for each in after].count(ON_DEMAND) == stack.node_groups[0].split(8)[ON_DEMAND] == 3
    lost = list_lost_nodes(CapacityFailure(spot=(Architecture.AMD64,)), after)
    assert lost == {each.name for each in after if each.capacity_type is SPOT}


def test_quotas_of_both_are_needed() -> None:
    needs = {quota.name: need for quota, need in list_needs(made()).items() if "instances" in quota.name}
    found = {name.split()[-2]: (need.start, need.largest) for name, need in needs.items()}
    assert found == {"on-demand": (4, 6), "spot": (6, 12)}


def test_a_review_of_a_preview_knows_both() -> None:
    inputs = dict(world(words()).inputs(SCALING_GROUP, "web"))
    (group,) = list_group_changes(change(changed(SCALING_GROUP, "web", inputs, {"maxSize": 8})))
    assert isinstance(group.after, GroupState)
    assert group.after.capacity_types == (ON_DEMAND, SPOT)
