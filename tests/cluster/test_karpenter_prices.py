"""With the prices that the real Karpenter has, the simulator names the instance types that Karpenter buys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from multiarch.nodes.model import CapacityType
from multiarch.prices.model import RegionPrices
from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.simulation import simulate_nodes
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import wait_for
from tests.cluster import agreement
from tests.cluster.aws import REGION, ZONES
from tests.cluster.karpenter_prices import prices
from tests.cluster.placements import incomplete
from tests.cluster.rig import NODE_CLAIMS, Rig
from tests.cluster.scenario_pods import CAPACITY, HOST, TOLERANT, TYPE, ZONE, Ask
from tests.cluster.scenarios import Pools
from tests.cluster.shortages import TIER

ON_DEMAND = {"capacityTypes": ["on-demand"]}
BOTH = {"multiArchitecture": True, "arm64Taint": False}
ONE_ZONE = "spot-in-one-zone"
WORDS: Mapping[str, Mapping[str, Any]] = {
    "everything": ON_DEMAND,
    # An m6a costs less than a c7a with half of its memory.
    "two-generations": {**ON_DEMAND, "architectures": ["amd64"], "families": ["c7a", "m6a", "r6a"]},
    "one-for-both": {**ON_DEMAND, **BOTH},
    "spot-of-each": {"families": ["c7g", "c7gd", "c8g", "r7g", "r8g", "c7a", "c7i", "r7a", "r7i"]},
    "spot-of-both": {**BOTH, "families": ["c7g", "c8g", "r7g", "r8g", "c7i", "r7i", "r7a"]},
    ONE_ZONE: {"families": ["c7gd"], "architectures": ["arm64"]},
}
POOLS = Pools("prices", {name: {**words, "labels": {TIER: name}} for name, words in WORDS.items()})
SIZES = (
    (300, 400), (1500, 1024), (1510, 3600), (1700, 9000), (3500, 4000), (3600, 20_000), (7000, 6000), (12_000, 50_000),
)  # fmt: skip
"""Millicores and MiB of pods that no two of share a node.

None is near a type's memory: of a type that it has had as a node, Karpenter knows the memory better than before.
"""

Bought = Counter[tuple[str, str, str]]
"""Nodes by NodePool and instance type, spot nodes by zone too: on-demand prices are those of the region."""


def _pods() -> list[Object]:
    """For each of :data:`WORDS` one pod of each size anywhere, and two that need a zone."""
    terms = [{"topologyKey": HOST, "labelSelector": {}}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    made = []
    for name in WORDS:
        for number, (cpu, memory) in enumerate(SIZES):
            made += Ask(f"{name}-{number}", cpu, memory).pods(**TOLERANT, affinity=apart, nodeSelector={TIER: name})
        for zone in (ZONES[0], ZONES[2]):
            selector = {TIER: name, ZONE: zone}
            made += Ask(f"{name}-in-{zone}", 1520, 3700).pods(**TOLERANT, affinity=apart, nodeSelector=selector)
    return made


def _simulated(known: RegionPrices | None) -> Bought:
    made, context = agreement.plan_of(POOLS), SimulationContext(ZONES, region=REGION, prices=known)
    settled = simulate_nodes(made.autoscaling, (), context, read_pods(_pods()))
    assert not settled.unplaced
    spot = CapacityType.SPOT
    return Counter(
        (node.group, node.instance_type, str(node.zone) if node.capacity_type is spot else "") for node in settled.nodes
    )


def _bought(rig: Rig, count: int) -> Bought | None:
    """The nodes that Karpenter has launched, once there are so many: each pod needs its own."""
    rig.check()
    claims = {item["metadata"]["name"]: item for item in rig.kube.list(*NODE_CLAIMS)}
    if len(claims) < count or incomplete(claims):
        return None
    labels = [item["metadata"]["labels"] for item in claims.values()]
    return Counter(
        (each["karpenter.sh/nodepool"], each[TYPE], each[ZONE] if each[CAPACITY] == "spot" else "") for each in labels
    )


def test_the_simulator_names_the_types_that_karpenter_buys(rig: Rig) -> None:
    agreement.apply(rig, POOLS)
    pods = _pods()
    for each in pods:
        rig.kube.create(each)
    got = wait_for(lambda: _bought(rig, len(pods)), "a node for each pod", timeout=180, pause=0.5)
    assert got == _simulated(prices(REGION, ZONES))


def test_prices_decide() -> None:
    found, without = _simulated(prices(REGION, ZONES)), _simulated(None)
    assert all(_of(found, name) != _of(without, name) for name in ("two-generations", "spot-of-each"))


def test_where_no_type_is_sold_as_spot_on_demand_is_bought() -> None:
    found = _of(_simulated(prices(REGION, ZONES)), ONE_ZONE)
    assert sum(count for (pool, _, _), count in found.items() if pool == f"{ONE_ZONE}-arm64-on-demand") == 1
    assert {zone for pool, _, zone in found if pool == f"{ONE_ZONE}-arm64-spot"} == {ZONES[2]}


def _of(bought: Bought, name: str) -> Bought:
    """Those of the NodePools that one of :data:`WORDS` is about."""
    return Counter({key: count for key, count in bought.items() if key[0].startswith(f"{name}-")})
