"""What holds for every settling: no pod is lost or twice there, no node has too much, nothing starts where it can't."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from multiarch.autoscaling.model import Capacity
from multiarch.scheduling.pods import Pod, read_pods
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.nodes import Nodes
from multiarch.simulate.settled import NodeState, Settled, Unavailable
from multiarch.simulate.simulation import list_planned_nodes, settle_pods
from multiarch.stack.model import Plan
from tests.scheduling.manifests import ZONES
from tests.simulate.simulated import TOLERANT, grown, pods, pooled
from tests.stack.words import plan

CONTEXT = SimulationContext(tuple(ZONES))
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def groups(chance: random.Random) -> dict[str, Any]:
    types = ("m7g.large", "m7i.large", "m7g.2xlarge", "c7i.xlarge")
    found: dict[str, Any] = {}
    for number in range(chance.randint(1, 4)):
        least = chance.randint(0, 2)
        sizes = {"minSize": least, "maxSize": least + chance.randint(1, 4)}
        capacity = chance.choice(["spot", "on-demand"])
        found[f"g{number}"] = {"instanceTypes": [chance.choice(types)], "capacityType": capacity, **sizes}
    return grown(found)


def words(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.4:
        return pooled({"general": {"families": ["m7g", "m7i"], "sizes": ["large", "xlarge"], "cpuLimit": 24}})
    return groups(chance)


def workload(chance: random.Random, number: int) -> dict[str, Any]:
    name = f"w{number}"
    spec: dict[str, Any] = dict(chance.choice([{}, TOLERANT]))
    selector = {"labelSelector": {"matchLabels": {"app": name}}}
    rule = chance.randrange(5)
    if rule == 0:
        key = chance.choice([ZONE, HOST])
        constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **selector}
        spec["topologySpreadConstraints"] = [constraint]
    elif rule == 1:
        term = {"topologyKey": chance.choice([ZONE, HOST]), **selector}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif rule == 2:
        spec["nodeSelector"] = {ZONE: chance.choice(ZONES)}
    spec["priority"] = chance.choice([0, 0, 0, -20, 100])
    cpu, memory = chance.choice(["100m", "700m", "1500m"]), chance.choice(["256Mi", "2Gi"])
    return pods(name, chance.randint(1, 8), cpu=cpu, memory=memory, **spec)


def unavailable(chance: random.Random, made: Plan) -> Unavailable:
    kinds = [Capacity(each.architecture, each.capacity_type) for each in made.node_groups]
    return chance.choice(
        [
            Unavailable(),
            Unavailable(zones=frozenset((chance.choice(ZONES),))),
            Unavailable(groups=frozenset((chance.choice(made.node_groups).name,))),
            Unavailable(capacities=frozenset((chance.choice(kinds),))),
        ]
    )


def check(made: Plan, given: tuple[NodeState, ...], wanted: list[Pod], result: Settled, gone: Unavailable) -> None:
    before = Counter(pod.name for node in given for pod in node.pods) + Counter(pod.name for pod in wanted)
    after = Counter(pod.name for node in result.nodes for pod in node.pods)
    after.update(pod.name for pod in result.unplaced)
    assert after == before
    assert [node.name for node in result.nodes[: len(given)]] == [node.name for node in given]
    assert len({node.name for node in result.nodes}) == len(result.nodes)
    for node in result.nodes:
        room: ResourceAmounts = node.shape.allocatable
        for pod in node.pods:
            assert room.covers(pod.requests), node.name
            room -= pod.requests
    largest = {group.name: group.sizes.maximum for group in made.node_groups}
    for name, count in Counter(node.group for node in result.nodes).items():
        assert count <= largest.get(name, 1000)
    for node in result.nodes[len(given) :]:
        assert node.zone not in gone.zones
        assert node.group not in gone.groups
        assert node.capacity_type is not None
        assert Capacity(node.shape.architecture, node.capacity_type) not in gone.capacities


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(60))
def test_pods_are_kept_and_nodes_hold_them(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 (nothing secret)
    made = plan(words(chance))
    wanted = list(read_pods(workload(chance, number) for number in range(chance.randint(1, 6))))
    given = list_planned_nodes(made.node_groups, CONTEXT, wanted)
    first = settle_pods(made.autoscaling, made.node_groups, CONTEXT, given, wanted)
    check(made, given, wanted, first, Unavailable())
    gone = unavailable(chance, made)
    left = tuple(node for node in first.nodes if node.zone not in gone.zones and chance.random() < 0.8)
    names = {node.name for node in left}
    lost = [pod for node in first.nodes if node.name not in names for pod in node.pods]
    again = [*lost, *first.unplaced]
    desired = {group.name: group.sizes.desired for group in made.node_groups}
    second = settle_pods(made.autoscaling, made.node_groups, CONTEXT, left, again, unavailable=gone, desired=desired)
    check(made, left, again, second, gone)
    # The same again: nothing depends on an order that is not given.
    same = settle_pods(made.autoscaling, made.node_groups, CONTEXT, left, again, unavailable=gone, desired=desired)
    assert [(node.name, node.pods) for node in same.nodes] == [(node.name, node.pods) for node in second.nodes]
    assert same.simulation == second.simulation


@pytest.mark.parametrize("seed", range(20))
def test_pods_without_rules_are_shared_out_as_if_they_came_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)  # noqa: S311 (nothing secret)
    made = plan(groups(chance))
    sizes = [(f"{chance.randrange(100, 1900, 100)}m", f"{chance.randrange(128, 4096, 128)}Mi") for _ in range(12)]
    wanted = list(
        read_pods(pods(f"w{n}", chance.randint(1, 9), cpu=c, memory=m, **TOLERANT) for n, (c, m) in enumerate(sizes))
    )

    def counts() -> list[Counter[str]]:
        result = settle_pods(made.autoscaling, made.node_groups, CONTEXT, (), wanted)
        return [Counter(pod.name.partition("-")[0] for pod in node.pods) for node in result.nodes]

    together = counts()
    monkeypatch.setattr(Nodes, "has_rules", lambda *_: True)
    assert counts() == together
