"""Pods on given nodes, which have pods already, and on the nodes that autoscalers add where they can be had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from multiarch.autoscaling.model import Capacity
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType
from multiarch.scheduling.pods import Pod, read_pods
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.settled import NodeState, Settled, Unavailable
from multiarch.simulate.simulation import list_planned_nodes, settle_pods
from tests.scheduling.manifests import ZONES
from tests.simulate.simulated import TOLERANT, answer, grown, planned, pods, pooled
from tests.stack.words import merged

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
AMD: dict[str, Any] = {"amd": {"instanceTypes": ["m7i.large"], "minSize": 3}}
POOLS: dict[str, Any] = {"general": {"families": ["m7g", "m7i"], "sizes": ["large"]}}
CONTEXT = SimulationContext(tuple(ZONES))
BIG: dict[str, Any] = {"cpu": "1500m", "memory": "1Gi"}


def rule(kind: str, key: str, app: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(key: str = ZONE, app: str = "api", *, skew: int = 1) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    constraint = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


def run(
    words: Mapping[str, Any],
    *documents: object,
    nodes: Sequence[NodeState] | None = None,
    more: Iterable[Pod] = (),
    **options: Any,
) -> Settled:
    made = planned(words)
    wanted = [*read_pods(documents), *more]
    given = list_planned_nodes(made.node_groups, CONTEXT, wanted) if nodes is None else nodes
    return settle_pods(made.autoscaling, made.node_groups, CONTEXT, given, wanted, **options)


def without(settled: Settled, *, zone: str) -> tuple[tuple[NodeState, ...], list[Pod]]:
    """The nodes outside a zone, and the pods of those in it."""
    left = tuple(node for node in settled.nodes if node.zone != zone)
    return left, [pod for node in settled.nodes if node.zone == zone for pod in node.pods]


def by_zone(settled: Settled) -> dict[str | None, int]:
    return dict(Counter(node.zone for node in settled.nodes))


def where(settled: Settled, name: str = "api") -> dict[str, int]:
    found = Counter(node.group for node in settled.nodes for pod in node.pods if pod.name.startswith(f"{name}-"))
    return dict(found)


def names(settled: Settled) -> list[str]:
    return [node.name for node in settled.nodes]


def test_given_nodes_keep_their_pods_and_come_first() -> None:
    first = run(grown(AMD), pods(count=3, **BIG))
    assert [len(node.pods) for node in first.nodes] == [1, 1, 1]
    second = run(grown(AMD), pods("web", 2, **BIG), nodes=first.nodes)
    assert names(second) == ["amd-1", "amd-2", "amd-3", "amd-4", "amd-5"]
    assert second.nodes[:3] == first.nodes
    assert (where(second), where(second, "web")) == ({"amd": 3}, {"amd": 2})
    assert [node.pods[0].name for node in second.nodes[3:]] == ["web-0", "web-1"]
    new = second.nodes[3]
    assert (new.instance_type, new.capacity_type, new.zone) == ("m7i.large", CapacityType.ON_DEMAND, ZONES[0])


def test_a_group_that_lost_a_zone_grows_in_its_other_zones() -> None:
    first = run(grown(AMD), pods(count=3, **BIG))
    left, lost = without(first, zone=ZONES[1])
    gone = Unavailable(zones=frozenset((ZONES[1],)))
    after = run(grown(AMD), nodes=left, more=lost, unavailable=gone)
    assert (after.unplaced, by_zone(after)) == ((), {ZONES[0]: 2, ZONES[2]: 1})
    assert len(set(names(after))) == 3


GROUPS: dict[str, Any] = {
    "arm-spot": {"instanceTypes": ["m7g.large"], "capacityType": "spot"},
    "arm": {"instanceTypes": ["m7g.large"]},
    "amd": {"instanceTypes": ["m7i.large"]},
}
ARM_SPOT = Capacity(Architecture.ARM64, CapacityType.SPOT)
ARM = Capacity(Architecture.ARM64, CapacityType.ON_DEMAND)


@pytest.mark.parametrize(
    ("gone", "group", "reason"),
    [
        (Unavailable(), "arm-spot", ""),
        (Unavailable(groups=frozenset(("arm-spot",))), "arm", "no new nodes: arm-spot is unavailable"),
        (Unavailable(capacities=frozenset((ARM_SPOT,))), "arm", "no new nodes: arm64 spot capacity is unavailable"),
        (Unavailable(capacities=frozenset((ARM_SPOT, ARM))), "amd", "no new nodes: arm64 spot capacity is unavailable"),
    ],
)
def test_groups_that_are_lost_are_passed_over(gone: Unavailable, group: str, reason: str) -> None:
    result = run(grown(GROUPS), pods(**TOLERANT), unavailable=gone)
    assert where(result) == {group: 1}
    assert answer(result.simulation, "arm-spot").reason == reason


@pytest.mark.parametrize(
    ("gone", "pool", "reason"),
    [
        (Unavailable(), "general-arm64-spot", ""),
        (
            Unavailable(capacities=frozenset((ARM_SPOT, ARM))),
            "general-amd64-spot",
            "no new nodes: arm64 spot capacity is unavailable",
        ),
        (
            Unavailable(zones=frozenset(ZONES)),
            "",
            f"no new nodes: {', '.join(f'zone {zone}' for zone in ZONES)} is unavailable",
        ),
    ],
)
def test_node_pools_that_are_lost_are_passed_over(gone: Unavailable, pool: str, reason: str) -> None:
    result = run(pooled(POOLS), pods(**BIG, **TOLERANT), nodes=(), unavailable=gone)
    assert where(result) == ({pool: 1} if pool else {})
    assert answer(result.simulation, "general-arm64-spot").reason == reason


def test_a_pool_of_both_architectures_keeps_the_one_that_is_left() -> None:
    pool = {"general": {**POOLS["general"], "multiArchitecture": True}}
    gone = Unavailable(capacities=frozenset((ARM_SPOT,)))
    result = run(pooled(pool), pods(**BIG, **TOLERANT), nodes=(), unavailable=gone)
    assert [node.shape.architecture for node in result.nodes] == ["amd64"]
    chosen = pods(**BIG, nodeSelector={"kubernetes.io/arch": "arm64"}, **TOLERANT)
    result = run(pooled(pool), chosen, nodes=(), unavailable=gone)
    assert where(result) == {"general-on-demand": 1}
    reason = answer(result.simulation, "general-spot").reason
    assert reason == "no new nodes: arm64 spot capacity is unavailable"


def test_node_pools_grow_in_the_zones_that_are_left() -> None:
    gone = Unavailable(zones=frozenset(ZONES[:2]))
    result = run(pooled(POOLS), pods(count=4, **BIG, **TOLERANT), nodes=(), unavailable=gone)
    assert (result.unplaced, {node.zone for node in result.nodes}) == ((), {ZONES[2]})
    asking = pods(**BIG, nodeSelector={ZONE: ZONES[0]}, **TOLERANT)
    result = run(pooled(POOLS), asking, nodes=(), unavailable=gone)
    assert len(result.unplaced) == 1
    assert answer(result.simulation, "general-arm64-spot").reason == f"no new nodes: zone {ZONES[0]} is unavailable"


def test_for_karpenter_a_lost_zone_stays_a_domain_that_a_spread_counts() -> None:
    spread_out = pods(count=6, **BIG, **spread(), **TOLERANT)
    assert run(pooled(POOLS), spread_out, nodes=()).unplaced == ()
    result = run(pooled(POOLS), spread_out, nodes=(), unavailable=Unavailable(zones=frozenset((ZONES[1],))))
    assert (by_zone(result), len(result.unplaced)) == ({ZONES[0]: 1, ZONES[2]: 1}, 4)
    reason = answer(result.simulation, "general-arm64-spot").reason
    assert reason.endswith("would have 2 pods, the emptiest domain 0; maxSkew is 1")


@pytest.mark.parametrize("skew", [1, 2])
def test_karpenter_plans_a_node_for_the_emptiest_zone_alone_even_where_that_is_lost(skew: int) -> None:
    first = run(pooled(POOLS), pods(count=3, **BIG, **spread(skew=skew), **TOLERANT), nodes=())
    assert by_zone(first) == dict.fromkeys(ZONES, 1)
    left, lost = without(first, zone=ZONES[0])
    after = run(pooled(POOLS), nodes=left, more=lost, unavailable=Unavailable(zones=frozenset((ZONES[0],))))
    assert len(after.unplaced) == 1
    reason = answer(after.simulation, "general-arm64-spot").reason
    if skew == 1:
        assert reason.endswith("would have 2 pods, the emptiest domain 0; maxSkew is 1")
    else:
        where = f"the zone with the fewest pods, {ZONES[0]}, where no nodes are available"
        assert reason == f"topology spread: Karpenter takes {where}"


def test_of_equally_empty_zones_karpenter_comes_to_one_that_has_nodes() -> None:
    one = run(pooled(POOLS), pods(**BIG, **spread(), **TOLERANT), nodes=())
    gone = Unavailable(zones=frozenset((ZONES[1],)))
    more = read_pods([pods(**BIG, **spread(), **TOLERANT)])
    after = run(pooled(POOLS), nodes=one.nodes, more=more, unavailable=gone)
    assert (by_zone(one), by_zone(after)) == ({ZONES[0]: 1}, {ZONES[0]: 1, ZONES[2]: 1})


def test_given_nodes_count_against_the_limits_of_their_pool() -> None:
    words = pooled({"general": {**POOLS["general"], "cpuLimit": 4}})
    first = run(words, pods(count=2, **BIG, **TOLERANT), nodes=())
    assert where(first) == {"general-arm64-spot": 2}
    after = run(words, pods("web", 1, **BIG, **TOLERANT), nodes=first.nodes)
    assert where(after, "web") == {"general-arm64-on-demand": 1}
    assert answer(after.simulation, "general-arm64-spot", "web").reason == "limit cpu 4 reached"


@pytest.mark.parametrize("words", [grown(AMD), pooled(POOLS)], ids=["cluster autoscaler", "Karpenter"])
def test_given_pods_count_for_the_rules_of_others(words: Mapping[str, Any]) -> None:
    apart = {**rule("podAntiAffinity", HOST, "web"), **TOLERANT}
    first = run(words, pods(count=3, cpu="100m", **spread(), **apart))
    hosts = {node.name for node in first.nodes if node.pods}
    second = run(words, pods("web", 3, cpu="100m", **TOLERANT), nodes=first.nodes)
    assert second.unplaced == ()
    assert not hosts & {node.name for node in second.nodes if any(pod.name.startswith("web") for pod in node.pods)}


@pytest.mark.parametrize("words", [grown(AMD), pooled(POOLS)], ids=["cluster autoscaler", "Karpenter"])
def test_a_spread_goes_on_from_the_pods_that_are_there(words: Mapping[str, Any]) -> None:
    first = run(words, pods(count=2, **BIG, **spread(), **TOLERANT), nodes=())
    (more,) = read_pods([pods(**BIG, **spread(), **TOLERANT)])
    second = run(words, nodes=first.nodes, more=[more])
    assert [by_zone(each) for each in (first, second)] == [dict.fromkeys(ZONES[:2], 1), dict.fromkeys(ZONES, 1)]


def test_nodes_of_no_group_have_room_too() -> None:
    made = planned(grown(AMD))
    own = list_planned_nodes(made.node_groups, CONTEXT, ())
    other = NodeState("by-hand", "", own[0].shape, ZONES[0])
    result = run(grown(AMD), pods(**BIG), nodes=[other])
    assert [(node.name, len(node.pods)) for node in result.nodes] == [("by-hand", 1)]
    (place,) = result.simulation.workloads[0].places
    assert (place.group, place.node, place.new) == ("", "by-hand", False)


def test_an_auto_scaling_group_replaces_lost_nodes_by_itself() -> None:
    words = merged(grown(AMD), {"autoscaling": {"use": "none"}})
    first = run(words, pods(count=3, **BIG))
    left, lost = without(first, zone=ZONES[1])
    gone = Unavailable(zones=frozenset((ZONES[1],)))
    assert len(run(words, nodes=left, more=lost, unavailable=gone).unplaced) == 1
    after = run(words, nodes=left, more=lost, unavailable=gone, desired={"amd": 3})
    assert (after.unplaced, by_zone(after)) == ((), {ZONES[0]: 2, ZONES[2]: 1})
    none = Unavailable(groups=frozenset(("amd",)))
    assert len(run(words, nodes=left, more=lost, unavailable=none, desired={"amd": 3}).unplaced) == 1
