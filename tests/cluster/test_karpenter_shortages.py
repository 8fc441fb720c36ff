"""``capacity`` and the real Karpenter, when a zone is lost, and then spot capacity too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from multiarch.capacity.model import CapacityFailure
from multiarch.facts.architectures import Architecture
from sandbox.aws.fleets import Shortage
from tests.cluster.aws import ZONES
from tests.cluster.rig import Rig
from tests.cluster.scenario_pods import HOST, ZONE, about_pods, spread
from tests.cluster.shortages import Play, Tier

ARM: dict[str, Any] = {"architectures": ["arm64"], "capacityTypes": ["on-demand"], "families": ["c6g", "m6g", "r6g"]}
ARM_BOTH: dict[str, Any] = {**ARM, "capacityTypes": ["spot", "on-demand"]}
AMD_SPOT: dict[str, Any] = {
    "architectures": ["amd64"],
    "capacityTypes": ["spot"],
    "families": ["c6i", "m6i", "r6i"],
}
EITHER: dict[str, Any] = {
    "multiArchitecture": True,
    "capacityTypes": ["spot", "on-demand"],
    "families": ["c6g", "c6i", "m6g", "m6i"],
}


TIERS = {
    "hard": Tier(ARM, 3, spread("hard", ZONE)),
    "skew": Tier(ARM, 3, spread("skew", ZONE, maxSkew=2)),
    "soft": Tier(ARM, 3, spread("soft", ZONE, "ScheduleAnyway"), memory="20Gi"),
    "pinned": Tier(ARM, 1, {"nodeSelector": {ZONE: ZONES[0]}}),
    "two-zones": Tier({**ARM, "zones": list(ZONES[:2])}, 2, memory="10Gi"),
    "apart": Tier(ARM, 2, about_pods("podAntiAffinity", "apart", ZONE)),
    "limited": Tier({**ARM, "cpuLimit": 8}, 2, about_pods("podAntiAffinity", "limited", HOST)),
    "either-spot": Tier(ARM_BOTH, 2),
    "only-spot": Tier(AMD_SPOT, 1),
    "cheapest": Tier(EITHER, 2),
}
SPOT = CapacityFailure(zones=ZONES[:1], spot=(Architecture.AMD64, Architecture.ARM64))


@pytest.fixture
def play(rig: Rig) -> Iterator[Play]:
    yield Play(rig, TIERS)
    rig.aws.controls.set_shortages()


def test_capacity_says_which_pods_karpenter_leaves_without_a_node_and_what_it_buys(play: Play) -> None:
    expected, real = play.start()
    assert real == expected
    assert not expected.pending

    zone = Shortage(zone=ZONES[0])
    expected, real = play.lose(CapacityFailure(zones=ZONES[:1]), zone)
    assert real == expected
    assert expected.pending == {"hard": 1, "skew": 1, "pinned": 1}

    expected, real = play.lose(SPOT, zone, Shortage(capacity_type="spot"))
    assert real == expected
    assert expected.pending == {"hard": 1, "skew": 1, "pinned": 1, "only-spot": 1}
    assert {pool for pool, _ in expected.bought} == {"either-spot-arm64-on-demand", "cheapest-on-demand"}
