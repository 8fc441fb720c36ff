"""Generated scenarios, the same in every run: kinds of NodePools from stack words, each with hands of workloads.

The workloads are dealt like cards: a shuffled deck of all kinds, again and again until every hand is full, so each
kind comes up among others. Played is the first hand of each kind of pools, and of the others what has a kind of
workload that none of those has: a scenario takes seconds of processor time. In a scenario the pods of two workloads
never have one size: Karpenter takes those in an order of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sandbox.cluster.kube import Object
from tests.cluster.placements import MOST_PODS
from tests.cluster.scenario_pods import TRAITS, Ask, Trait

SEED = 4
HANDS = 2
"""Scenarios that are dealt for each kind of pools."""
LARGEST_HAND = 5
_SIZES = range(150, 3600, 23)
"""Millicores: the largest fits an empty node of four vCPUs, DaemonSets or not."""
_MEMORY = (128, 256, 512, 1024, 2048, 4096)
_AMD64, _ARM64 = {"architectures": ["amd64"]}, {"architectures": ["arm64"]}


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """Words about NodePools (``nodePools`` of a stack), and others of ``autoscaling``.

    ``one_size``: all types have four vCPUs. ``nodes``: the controller's node group takes pods.
    """

    name: str
    words: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)
    one_size: bool = True
    nodes: bool = False

    @property
    def limited(self) -> bool:
        """Whether a pool has a limit."""
        return any({"cpuLimit", "memoryLimit"} & pool.keys() for pool in self.words.values())

    @property
    def both(self) -> bool:
        """Whether a pool buys both architectures."""
        return any(pool.get("multiArchitecture") for pool in self.words.values())


@dataclass(frozen=True, slots=True)
class Scenario:
    """Pods, and DaemonSets, that come at once to an empty cluster with ``pools``."""

    name: str
    pools: Pools
    manifests: tuple[Object, ...]

    @property
    def pods(self) -> list[Object]:
        """The pods alone."""
        return [each for each in self.manifests if each["kind"] == "Pod"]

    @property
    def daemons(self) -> list[Object]:
        """The DaemonSets alone."""
        return [each for each in self.manifests if each["kind"] == "DaemonSet"]


_XLARGE: Mapping[str, Any] = {"sizes": ["xlarge"]}
XLARGE = Pools("xlarge", {"general": _XLARGE})
LIMIT_4_CPUS = Pools("limit-4-cpus", {"general": {**_XLARGE, "cpuLimit": 4}})
ARM64_UNWANTED = Pools(
    "arm64-unwanted",
    {
        "general": {**_XLARGE, "arm64Taint": False, "taints": ["old=yes:PreferNoSchedule"]},
        "other": {**_XLARGE, **_AMD64, "capacityTypes": ["on-demand"], "weight": 5},
    },
)
POOLS = (
    Pools("as-they-come", {"general": {}}, one_size=False),
    XLARGE,
    Pools("limit-8-cpus", {"general": {**_XLARGE, "cpuLimit": 8}}),
    LIMIT_4_CPUS,
    Pools("limit-memory", {"general": {"families": ["m7g", "m7i"], **_XLARGE, "memoryLimit": "20Gi"}}),
    Pools("prefers-amd64", {"general": _XLARGE}, {"prefer": "amd64"}),
    Pools("no-spot", {"general": _XLARGE}, {"order": ["arm64-on-demand", "amd64-on-demand"]}),
    Pools("one-for-both", {"general": {**_XLARGE, "multiArchitecture": True}}),
    Pools("one-for-both-untainted", {"general": {**_XLARGE, "multiArchitecture": True, "arm64Taint": False}}),
    Pools(
        "two-pools",
        {
            "batch": {"families": ["c7g", "c7i"], **_XLARGE, "labels": {"example.com/tier": "batch"},
                      "taints": ["tier=batch:NoSchedule"]},
            "general": _XLARGE,
        },
    ),
    Pools("untainted", {"general": {**_XLARGE, "arm64Taint": False, "labels": {"example.com/tier": "batch"}}}),
    ARM64_UNWANTED,
    Pools("arm64-in-one-zone", {"arm": {**_XLARGE, **_ARM64, "zones": ["us-east-1b"]}, "x86": {**_XLARGE, **_AMD64}}),
    Pools("with-nodes", {"general": _XLARGE}, nodes=True),
)  # fmt: skip
"""Every kind of pools there is."""
_ONCE_DIFFERENT: Mapping[str, Mapping[str, int]] = {
    "limit-4-cpus": {"spread-architecture": 2657, "likes-apart-by-host": 1415, "not-spot": 3071, "not-zone": 1254,
                     "plain": 334},
    "no-spot": {"selects-zone": 150, "together-by-host": 449, "tolerates-key": 1990, "selects-arm": 3347,
                "amd-or-arm": 2887},
    "one-for-both-untainted": {"spread-host": 518, "spread-capacity": 1024, "likes-on-demand": 1553,
                               "tolerates-key": 541, "not-zone": 1898},
    "with-nodes": {"apart-by-zone": 0, "tolerant": 700, "selects-type": 1100},
}  # fmt: skip
"""By kind of pools: hands in which the simulator, or the rig, was wrong once, with the millicores of their pods."""


def scenarios() -> list[Scenario]:
    """All scenarios, those of one kind of pools together."""
    chance = Random(SEED)  # noqa: S311 (the same in every run is what is wanted)
    deck: list[Trait] = []
    hands = [(number, pools, list(_deal(deck, pools, chance))) for pools in POOLS for number in range(1, HANDS + 1)]
    made, met = [], set[str]()
    for number, pools, hand in sorted(hands, key=lambda each: each[0]):
        traits = [trait for trait, _ in hand]
        if number == 1 or not met.issuperset(traits):
            name = f"{pools.name} {number}: {' + '.join(traits)}"
            made.append(Scenario(name, pools, tuple(each for _, manifests in hand for each in manifests)))
            met.update(traits)
    both = next(pools for pools in POOLS if pools.both)
    made += [
        Scenario(f"{both.name}: {trait.name}", both, tuple(trait.make(Ask("w0", 700, 512))))
        for trait in TRAITS
        if trait.splits
    ]
    made += [_again(next(each for each in POOLS if each.name == name)) for name in _ONCE_DIFFERENT]
    return sorted(made, key=lambda each: POOLS.index(each.pools))


def _again(pools: Pools) -> Scenario:
    """A scenario of :data:`_ONCE_DIFFERENT`."""
    hand = _ONCE_DIFFERENT[pools.name]
    traits = {trait.name: trait for trait in TRAITS}
    manifests = [
        manifest
        for number, (name, cpu) in enumerate(hand.items())
        for manifest in traits[name].make(Ask(f"w{number}", cpu, 1024))
    ]
    return Scenario(f"{pools.name} again: {' + '.join(hand)}", pools, tuple(manifests))


def _deal(deck: list[Trait], pools: Pools, chance: Random) -> Iterator[tuple[str, list[Object]]]:
    """Take workloads that go together off the deck, with their pods; the rest stays for the next hand."""
    sizes = chance.sample(_SIZES, LARGEST_HAND)
    room, zonal, passed = MOST_PODS, False, []
    for number in range(LARGEST_HAND):
        trait, manifests = None, []
        while trait is None:
            if not deck:
                deck.extend(chance.sample(TRAITS, len(TRAITS)))
            drawn = deck.pop()
            manifests = drawn.make(Ask(f"w{number}", sizes[number], chance.choice(_MEMORY)))
            count = sum(each["kind"] == "Pod" for each in manifests)
            unfit = (drawn.one_size and not pools.one_size) or (drawn.splits and pools.both)
            unfit = unfit or (drawn.ample and pools.limited)
            if unfit or (drawn.zonal and zonal) or count > room:
                passed.append(drawn)
                if len(passed) > len(TRAITS):
                    break
                continue
            trait, room, zonal = drawn, room - count, zonal or drawn.zonal
        if trait is not None:
            yield trait.name, manifests
    deck.extend(passed)
