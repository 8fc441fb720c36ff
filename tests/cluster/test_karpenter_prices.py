"""With the prices that the real Karpenter has, the simulator names the instance types that Karpenter buys."""

from __future__ import annotations

from collections import Counter

import pytest

from multiarch.nodes.model import CapacityType
from multiarch.prices.model import RegionPrices
from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.simulation import simulate_nodes
from sandbox.cluster.kube import Object
from tests.cluster import agreement
from tests.cluster.aws import REGION, ZONES
from tests.cluster.karpenter_prices import prices
from tests.cluster.placements import Placement
from tests.cluster.rig import Rig
from tests.cluster.scenario_pods import HOST, TOLERANT, ZONE, Ask
from tests.cluster.scenarios import Pools

ON_DEMAND = {"order": ["arm64-on-demand", "amd64-on-demand"]}
ONE_ZONE = Pools("spot-in-one-zone", {"general": {"families": ["c7gd"], "architectures": ["arm64"]}})
POOLS = (
    Pools("everything", {"general": {}}, ON_DEMAND),
    # An m6a costs less than a c7a with half of its memory.
    Pools(
        "two-generations",
        {"general": {"architectures": ["amd64"], "families": ["c7a", "m6a", "r6a"]}},
        {"order": ["amd64-on-demand"]},
    ),
    Pools("one-for-both", {"general": {"multiArchitecture": True, "arm64Taint": False}}, ON_DEMAND),
    Pools("spot", {"general": {"families": ["c7g", "c7gd", "c8g", "r7g", "r8g", "c7a", "c7i", "r7a", "r7i"]}}),
    Pools(
        "spot-of-both",
        {
            "general": {
                "multiArchitecture": True,
                "arm64Taint": False,
                "families": ["c7g", "c8g", "r7g", "r8g", "c7i", "r7i", "r7a"],
            }
        },
    ),
    ONE_ZONE,
)
SIZES = (
    (300, 400), (1500, 1024), (1510, 3600), (1700, 9000), (3500, 4000), (3600, 20_000), (7000, 6000), (12_000, 50_000),
)  # fmt: skip
"""Millicores and MiB of pods that no two of share a node.

None is near a type's memory: of a type that it has had as a node, Karpenter knows the memory better than before.
"""

Bought = Counter[tuple[str, str, str]]
"""Nodes by NodePool and instance type, spot nodes by zone too: on-demand prices are those of the region."""


def _pods() -> list[Object]:
    """One of each size anywhere, and two that need a zone."""
    terms = [{"topologyKey": HOST, "labelSelector": {}}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    made = [
        pod
        for number, (cpu, memory) in enumerate(SIZES)
        for pod in Ask(f"w{number}", cpu, memory).pods(**TOLERANT, affinity=apart)
    ]
    for zone in (ZONES[0], ZONES[2]):
        made += Ask(f"in-{zone}", 1520, 3700).pods(**TOLERANT, affinity=apart, nodeSelector={ZONE: zone})
    return made


def _simulated(pools: Pools, known: RegionPrices | None) -> Bought:
    made, context = agreement.plan_of(pools), SimulationContext(ZONES, region=REGION, prices=known)
    settled = simulate_nodes(made.autoscaling, (), context, read_pods(_pods()))
    assert not settled.unplaced
    spot = CapacityType.SPOT
    return Counter(
        (node.group, node.instance_type, str(node.zone) if node.capacity_type is spot else "") for node in settled.nodes
    )


@pytest.mark.parametrize("pools", POOLS, ids=lambda pools: str(pools.name))
def test_the_simulator_names_the_types_that_karpenter_buys(rig: Rig, pools: Pools) -> None:
    expected = _simulated(pools, prices(REGION, ZONES))
    agreement.apply(rig, pools)
    got = rig.run_pods(_pods(), bound=False)
    assert expected == Counter(
        (place.pool, place.instance_type, place.zone if place.capacity_type == "spot" else "")
        for place in got.values()
        if isinstance(place, Placement)
    )


def test_prices_decide() -> None:
    assert any(_simulated(pools, None) != _simulated(pools, prices(REGION, ZONES)) for pools in POOLS)


def test_where_no_type_is_sold_as_spot_on_demand_is_bought() -> None:
    found = _simulated(ONE_ZONE, prices(REGION, ZONES))
    on_demand = {key: count for key, count in found.items() if key[0] == "general-arm64-on-demand"}
    assert sum(on_demand.values()) == 1
    assert {zone for pool, _, zone in found if pool == "general-arm64-spot"} == {ZONES[2]}


def test_the_prices_are_those_of_the_region() -> None:
    known = prices(REGION, ZONES)
    assert len(known.on_demand) > 1000
    assert known.on_demand["m7g.large"] < known.on_demand["m7i.large"]
    assert all(price < known.on_demand[name] for name, zones in known.spot.items() for price in zones.values())
