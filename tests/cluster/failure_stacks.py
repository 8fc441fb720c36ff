"""Stacks whose nodes fail in generated cases: static groups, both autoscalers, one zone or three, one taint or many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from multiarch.capacity.model import CapacityFailure
from multiarch.facts.architectures import Architecture
from multiarch.stack.model import Plan
from tests.scheduling.manifests import ZONES
from tests.simulate.simulated import NONE, pooled
from tests.stack.words import merged, plan

AMD64, ARM64 = Architecture.AMD64, Architecture.ARM64
_NETWORK = {"network": {"zones": list(ZONES)}}


@dataclass(frozen=True, slots=False, eq=False)
class FailingStack:
    """The words of a stack, and roughly how much its nodes can give to pods: millicores in all."""

    name: str
    words: Mapping[str, Any]
    millicores: int

    @cached_property
    def plan(self) -> Plan:
        """The stack's plan."""
        return plan(merged(self.words, _NETWORK))

    def failure(self, chance: Random) -> CapacityFailure:
        """A zone, an architecture, a node group, spot capacity, nodes, or some of them at the same time."""
        groups = [group.name for group in self.plan.node_groups if group.sizes.desired]
        karpenter = self.plan.autoscaling.karpenter
        groups += [pool.name for pool in karpenter.pools] if karpenter else []
        zone, group = chance.choice(ZONES), chance.choice(groups)
        architecture = chance.choice(list(Architecture))
        kinds = [CapacityFailure(zones=(zone,))] * 5 + [
            CapacityFailure(groups=(group,)),
            CapacityFailure(groups=(group,), zones=(zone,)),
            CapacityFailure(architectures=(architecture,)),
            CapacityFailure(largest_nodes=2),
            CapacityFailure(zones=(zone,), largest_nodes=1),
            CapacityFailure(zones=(zone,), architectures=(architecture,)),
            CapacityFailure(zones=tuple(each for each in ZONES if each != zone)),
        ]
        if any("spot" in each for each in groups):
            kinds += [CapacityFailure(spot=(architecture,)), CapacityFailure(spot=(architecture,), zones=(zone,))] * 2
        return chance.choice(kinds)


def _static(amd: int, arm: int, **more: Any) -> dict[str, Any]:
    """Two groups whose sizes never change."""
    groups = {
        "amd": {"instanceTypes": ["m7i.large"], "minSize": amd, "maxSize": amd, **more},
        "arm": {"instanceTypes": ["m7g.large"], "minSize": arm, "maxSize": arm, **more},
    }
    return merged(NONE, {"nodeGroups": groups})


def _grown(groups: Mapping[str, Any], **words: Any) -> dict[str, Any]:
    return merged(NONE, {"nodeGroups": groups, "autoscaling": {"use": "cluster-autoscaler", **words}})


_AMD, _ARM = {"instanceTypes": ["m7i.large"]}, {"instanceTypes": ["m7g.large"]}
_SPOT = {"capacityType": "spot"}
_XLARGE = {"sizes": ["xlarge"], "categories": ["m"]}

STACKS = (
    FailingStack("static", _static(3, 3), 11_000),
    FailingStack("static-per-zone", _static(1, 1, onePerZone=True), 11_000),
    FailingStack("static-two-zones", _static(2, 4, zones=list(ZONES[:2])), 11_000),
    FailingStack("static-few-pods", _static(1, 1, onePerZone=True, maxPods=8), 9_000),
    FailingStack("static-untainted", _static(1, 1, onePerZone=True, arm64Taint=False), 11_000),
    FailingStack(
        "static-dedicated",
        merged(
            _static(1, 1, onePerZone=True),
            {
                "nodeGroups": {
                    "batch": {**_AMD, "minSize": 3, "maxSize": 3, "labels": {"example.com/tier": "batch"},
                              "taints": ["tier=batch:NoSchedule"]},
                    "old": {**_ARM, "minSize": 2, "maxSize": 2, "taints": ["old=yes:PreferNoSchedule"]},
                }
            },
        ),
        19_000,
    ),
    FailingStack(
        "grown-per-zone",
        _grown({"amd": {**_AMD, "onePerZone": True, "minSize": 1, "maxSize": 2},
                "arm": {**_ARM, "onePerZone": True, "minSize": 1, "maxSize": 2}}),
        21_000,
    ),
    FailingStack(
        "grown-over-zones",
        _grown({"amd": {**_AMD, "minSize": 3, "maxSize": 5}, "arm": {**_ARM, "minSize": 3, "maxSize": 5}}),
        18_000,
    ),
    FailingStack(
        "grown-spot",
        _grown({"arm-spot": {**_ARM, **_SPOT, "minSize": 2, "maxSize": 4}, "arm": {**_ARM, "minSize": 0, "maxSize": 2},
                "amd-spot": {**_AMD, **_SPOT, "minSize": 1, "maxSize": 3},
                "amd": {**_AMD, "minSize": 1, "maxSize": 2}}),
        20_000,
    ),
    FailingStack(
        "grown-in-one-zone",
        _grown({"amd": {**_AMD, "zones": [ZONES[1]], "minSize": 1, "maxSize": 3},
                "arm": {**_ARM, "zones": list(ZONES[1:]), "minSize": 2, "maxSize": 4}}),
        12_000,
    ),
    FailingStack(
        "grown-mixed-sizes",
        _grown({"large": {**_AMD, "minSize": 2, "maxSize": 3}, "xlarge": {"instanceTypes": ["m7i.xlarge"],
                "minSize": 1, "maxSize": 2}, "arm": {"instanceTypes": ["m7g.xlarge"], "minSize": 1, "maxSize": 3}}),
        20_000,
    ),
    FailingStack("pools", pooled({"general": _XLARGE}), 26_000),
    FailingStack("pools-limited", pooled({"general": {**_XLARGE, "cpuLimit": 8}}), 22_000),
    FailingStack(
        "pools-in-zones",
        pooled({"arm": {**_XLARGE, "architectures": ["arm64"], "zones": [ZONES[1]], "cpuLimit": 8},
                "x86": {**_XLARGE, "architectures": ["amd64"], "cpuLimit": 12}}),
        20_000,
    ),
)  # fmt: skip
"""Every kind of stack there is."""
