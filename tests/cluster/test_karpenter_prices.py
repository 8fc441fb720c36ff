"""With the prices that the real Karpenter has, the simulator names the instance types that Karpenter buys."""

from __future__ import annotations

from collections import Counter

import pytest

from multiarch.prices.model import RegionPrices
from multiarch.scheduling.pods import pods_from
from multiarch.simulate.simulation import SimulationContext, simulate
from sandbox.cluster.kube import Object
from tests.cluster import agreement
from tests.cluster.aws import REGION, ZONES
from tests.cluster.karpenter_prices import prices
from tests.cluster.placements import Placement
from tests.cluster.rig import Rig
from tests.cluster.scenario_pods import HOST, TOLERANT, Ask
from tests.cluster.scenarios import Pools

ON_DEMAND = {"order": ["arm64-on-demand", "amd64-on-demand"]}
POOLS = (
    Pools("everything", {"general": {}}, ON_DEMAND),
    # An m6a costs less than a c7a with half of its memory.
    Pools(
        "two-generations",
        {"general": {"architectures": ["amd64"], "families": ["c7a", "m6a", "r6a"]}},
        {"order": ["amd64-on-demand"]},
    ),
    Pools("one-for-both", {"general": {"multiArchitecture": True, "arm64Taint": False}}, ON_DEMAND),
)
SIZES = (
    (300, 400), (1500, 1024), (1510, 3000), (1700, 9000), (3500, 4000), (3600, 20_000), (7000, 6000), (12_000, 50_000),
)  # fmt: skip
"""Millicores and MiB of pods that no two of share a node."""


def _pods() -> list[Object]:
    terms = [{"topologyKey": HOST, "labelSelector": {}}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    asks = [Ask(f"w{number}", cpu, memory) for number, (cpu, memory) in enumerate(SIZES)]
    return [pod for ask in asks for pod in ask.pods(**TOLERANT, affinity=apart)]


def _simulated(pools: Pools, known: RegionPrices | None) -> Counter[str]:
    context = SimulationContext(ZONES, region=REGION, prices=known)
    result = simulate(agreement.plan_of(pools).autoscaling, (), context, pods_from(_pods()))
    assert not result.unplaced
    return Counter({kind: count for group in result.groups for kind, count in group.instance_types})


@pytest.mark.parametrize("pools", POOLS, ids=lambda pools: str(pools.name))
def test_the_simulator_names_the_types_that_karpenter_buys(rig: Rig, pools: Pools) -> None:
    expected = _simulated(pools, prices(REGION))
    agreement.apply(rig, pools)
    got = rig.run_pods(_pods())
    assert Counter(place.instance_type for place in got.values() if isinstance(place, Placement)) == expected


def test_prices_decide() -> None:
    assert any(_simulated(pools, None) != _simulated(pools, prices(REGION)) for pools in POOLS)


def test_the_prices_are_those_of_the_region() -> None:
    known = prices(REGION)
    assert len(known.on_demand) > 1000
    assert known.on_demand["m7g.large"] < known.on_demand["m7i.large"]
