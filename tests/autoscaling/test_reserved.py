"""Capacity reservations: Karpenter takes them first, and what they cost and hold is said."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from multiarch.autoscaling.karpenter import build_node_class
from multiarch.cost.stack import compute_stack_costs
from tests.cost.priced import PRICING
from tests.simulate.simulated import TOLERANT, got, pods, pooled, run
from tests.stack.words import merged, plan

POOL = {"capacityTypes": ["reserved", "on-demand", "spot"], "instanceTypes": ["m7g.large", "m7i.large"], "cpuLimit": 64}
RESERVED: dict[str, Any] = merged(
    pooled({"general": POOL}), {"autoscaling": {"karpenter": {"capacityReservations": ["cr-02", "cr-01"]}}}
)
ALL = [f"general-{arch}-reserved" for arch in ("arm64", "amd64")]
ALL += [f"general-{arch}-{bought}" for arch in ("arm64", "amd64") for bought in ("spot", "on-demand")]


def test_reserved_capacity_comes_first_because_it_is_paid_for() -> None:
    made = plan(RESERVED).autoscaling
    assert [pool.name for pool in made.pools] == ALL
    assert [pool.weight for pool in made.pools] == [90, 75, 60, 45, 30, 15]
    assert [each.values for each in made.pools[0].requirements if each.key == "karpenter.sh/capacity-type"] == [
        ("reserved",)
    ]
    assert next(row.rule for row in made.derived if row.key == "order").startswith("reserved first")
    written = ["arm64-spot", "amd64-reserved"]
    chosen = plan(merged(RESERVED, {"autoscaling": {"order": written}})).autoscaling
    assert [pool.name for pool in chosen.pools] == [f"general-{each}" for each in written]


def test_the_node_class_names_the_reservations() -> None:
    karpenter = plan(RESERVED).autoscaling.karpenter
    assert karpenter is not None
    spec: Any = build_node_class(karpenter.node_class, cluster="shop", role="nodes", tags=())["spec"]
    assert spec["capacityReservationSelectorTerms"] == [{"id": "cr-01"}, {"id": "cr-02"}]


def test_a_simulation_takes_it_first_and_says_that_its_room_is_unknown() -> None:
    result = run(RESERVED, pods(count=3, cpu="1.5", **TOLERANT))
    assert got(result) == {"web": 2, ALL[0]: 1}
    note = f"How much room the capacity reservations of {', '.join(ALL[:2])} have is not known here"
    assert [each for each in result.notes if each.startswith(note)]
    assert not [each for each in run(pooled({"general": {}}), pods()).notes if "reservation" in each]


def test_its_nodes_cost_the_on_demand_price_and_the_rest_of_a_reservation_is_said_not_to_count() -> None:
    group = {"zones": ["eu-west-1a"], "capacityReservation": "cr-01", "minSize": 2}
    made = plan({"network": {"zones": ["eu-west-1a", "eu-west-1b"]}, "nodeGroups": {"web": group}})
    report = compute_stack_costs(made, PRICING)
    assert next(line.monthly for line in report.nodes if line.group == "web") == 2 * 730 * Decimal("0.12")
    (said,) = (note for note in report.notes if "reservation" in note)
    assert said.startswith("Nodes of web count with their on-demand price.")
    assert ", ".join(ALL[:2]) in " ".join(compute_stack_costs(plan(RESERVED), PRICING).notes)
