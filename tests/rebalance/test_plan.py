"""Which pods are moved, and where."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.rebalance import room
from multiarch.simulate.settled import Settled
from multiarch.simulate.simulation import settle_pods
from tests.rebalance.cluster import PREFERS_ARM64, moved, moves, reasons, stack, world
from tests.rebalance.world import TOLERATION


def test_pods_that_prefer_arm64_move_where_it_has_room() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-2"], affinity=PREFERS_ARM64)
    plan = moves(made)
    assert moved(plan) == [("amd64-1", "shop/api-0"), ("amd64-2", "shop/api-1")]
    (first, _) = plan.nodes
    assert (first.moves[0].target, first.moves[0].new_node, first.pods_left, first.group) == (
        "web-arm",
        False,
        0,
        "web",
    )
    assert (plan.on_amd64, plan.possible, plan.staying) == (2, 2, ())


def test_pods_without_a_preference_stay_while_another_amd64_node_has_room() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-1"])
    plan = moves(made)
    assert (moved(plan), sum(each.pods for each in plan.staying)) == ([], 2)
    assert all("amd64 node" in reason for reason in reasons(plan))


def test_pods_without_a_preference_move_where_no_amd64_node_has_room() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-1"])
    made.nodes["amd64-2"]["spec"]["taints"] = [{"key": "other", "effect": "NoSchedule"}]
    assert len(moved(moves(made))) == 2


def test_pods_that_prefer_amd64_stay_where_they_prefer_to_be() -> None:
    made = world()
    on_amd64 = {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": on_amd64}]}
    made.add_workload("api", ["amd64-1", "amd64-1"], affinity={"nodeAffinity": preferred})
    made.nodes["amd64-2"]["spec"]["taints"] = [{"key": "other", "effect": "NoSchedule"}]
    plan = moves(made)
    assert (moved(plan), reasons(plan)) == ([], ["its node affinity prefers the amd64 node to an arm64 node"])


def test_pods_that_tolerate_a_cordon_may_come_back_to_the_node() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-1"], tolerations=[{"operator": "Exists"}])
    made.nodes["amd64-2"]["spec"]["unschedulable"] = True
    assert moved(moves(made)) == []


def test_without_room_and_without_an_autoscaler_pods_stay() -> None:
    made = world(arm64_room=0)
    made.add_workload("api", ["amd64-1", "amd64-1"], affinity=PREFERS_ARM64)
    made.nodes["amd64-2"]["spec"]["taints"] = [{"key": "other", "effect": "NoSchedule"}]
    assert reasons(moves(made)) == ["no arm64 node has room for it, and none can be added"]


def test_without_room_pods_move_where_the_autoscaler_adds_an_arm64_node() -> None:
    made = world(arm64_room=0)
    made.add_workload("api", ["amd64-1", "amd64-1"], affinity=PREFERS_ARM64)
    made.nodes["amd64-2"]["spec"]["taints"] = [{"key": "other", "effect": "NoSchedule"}]
    plan = moves(made, of=stack(autoscaler=True))
    assert len(moved(plan)) == 2
    assert {move.new_node for node in plan.nodes for move in node.moves} == {True}


def test_room_on_a_new_node_counts_also_where_an_amd64_node_has_room_if_pods_prefer_arm64() -> None:
    made = world(arm64_room=0)
    made.add_workload("api", ["amd64-1", "amd64-1"], affinity=PREFERS_ARM64)
    made.add_workload("web", ["amd64-1", "amd64-1"])
    plan = moves(made, of=stack(autoscaler=True))
    assert {name for _, name in moved(plan)} == {"shop/api-0", "shop/api-1"}
    assert reasons(plan) == ["it does not prefer arm64, and an amd64 node has room for it"]


def test_a_placeholder_asks_for_the_same_on_arm64_and_meets_the_restricted_standard() -> None:
    made = world(arm64_room=0)
    rules: dict[str, Any] = {"nodeSelector": {"kubernetes.io/os": "linux"}, "affinity": PREFERS_ARM64}
    made.add_workload("api", ["amd64-1", "amd64-1"], **rules, serviceAccountName="api", volumes=[])
    (node,) = moves(made, of=stack(autoscaler=True)).nodes
    found = node.moves[0].placeholder
    (container,) = found["containers"]
    assert found["nodeSelector"] == {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"}
    assert container["resources"] == {"requests": {"cpu": "1000m"}}
    assert (found["affinity"], found["tolerations"]) == (PREFERS_ARM64, [TOLERATION])
    assert found["automountServiceAccountToken"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "serviceAccountName" not in found


def test_no_more_pods_than_wanted_are_moved() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-1", "amd64-2", "amd64-2"], affinity=PREFERS_ARM64)
    assert len(moved(moves(made, max_pods=3))) == 3


def test_nodes_that_come_closest_to_being_empty_come_first() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-2", "amd64-2"], affinity=PREFERS_ARM64)
    made.add_workload("old", ["amd64-1", "amd64-1"], tolerations=[])
    plan = moves(made)
    assert [(each.node, each.pods_left) for each in plan.nodes] == [("amd64-2", 0), ("amd64-1", 2)]
    assert (plan.on_amd64, plan.possible) == (5, 3)


def test_pods_do_not_take_the_place_of_others_on_arm64() -> None:
    made = world(arm64_room=2)
    made.add_workload("low", ["arm64-1", "arm64-1"], affinity=PREFERS_ARM64)
    made.add_workload("high", ["amd64-1", "amd64-2"], affinity=PREFERS_ARM64, priority=1000)
    plan = moves(made)
    assert (moved(plan), reasons(plan)) == ([], ["no arm64 node has room for it, and none can be added"])


def test_pods_that_stay_keep_others_from_zones_where_these_may_not_be_together() -> None:
    made = world()
    for node in made.nodes.values():
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] = "eu-west-1a"
    apart = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "old"}}}
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    made.add_workload("old", ["amd64-1", "amd64-1"])
    made.add_workload("api", ["amd64-1", "amd64-1"], affinity={**PREFERS_ARM64, **rules})
    plan = moves(made)
    assert moved(plan) == []
    assert reasons(plan) == [
        "no arm64 node with room meets its rules about other pods",
        "it does not prefer arm64, and an amd64 node has room for it",
    ]


def test_rules_of_pods_on_arm64_nodes_count() -> None:
    made = world()
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "api"}}}
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    made.add_workload("alone", ["arm64-1"], affinity=rules)
    made.add_workload("other", ["arm64-1", "arm64-1"])
    made.add_workload("api", ["amd64-1", "amd64-1"], affinity=PREFERS_ARM64)
    for name, node in made.nodes.items():
        node["metadata"]["labels"]["kubernetes.io/hostname"] = name
    assert reasons(moves(made)) == ["no arm64 node has room for it, and none can be added"]


@pytest.mark.parametrize("autoscaler", [False, True])
def test_pods_that_stay_in_any_case_are_not_placed_node_by_node(
    *, autoscaler: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def counted(*given: Any, **more: Any) -> Settled:
        nonlocal calls
        calls += 1
        return settle_pods(*given, **more)

    monkeypatch.setattr(room, "settle_pods", counted)
    made = world(arm64_room=0)
    nodes = [f"amd64-{number}" for number in range(1, 31)]
    for name in nodes:
        made.add_node(name, "amd64", room=2, group="web-00")
    made.add_workload("prefers", nodes, affinity=PREFERS_ARM64)
    made.add_workload("other", nodes, tolerations=[])
    plan = moves(made, of=stack(autoscaler=autoscaler, maximum=1))
    assert (moved(plan), calls) == ([], 1)


def test_a_preference_for_a_zone_may_outweigh_that_for_arm64() -> None:
    made = world()
    made.nodes["amd64-2"]["metadata"]["labels"]["topology.kubernetes.io/zone"] = "eu-west-1b"
    zone = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["eu-west-1b"]}]}
    arm64 = PREFERS_ARM64["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]

    def weighed(weight: int) -> dict[str, Any]:
        preferred = [*arm64, {"weight": weight, "preference": zone}]
        return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}

    made.add_workload("more", ["amd64-1", "amd64-1"], affinity=weighed(9))
    plan = moves(made)
    assert (moved(plan), reasons(plan)) == ([], ["it does not prefer arm64, and an amd64 node has room for it"])


def test_spread_constraints_count_amd64_nodes() -> None:
    made = world()
    for zone, node in zip("abc", made.nodes.values(), strict=True):
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] = f"eu-west-1{zone}"
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "api"}},
    }
    on = ["amd64-1", "amd64-1", "amd64-2", "amd64-2"]
    made.add_workload("api", on, affinity=PREFERS_ARM64, topologySpreadConstraints=[constraint])
    plan = moves(made)
    assert len(moved(plan)) == 1, "with all four in zone c, the others would be empty"
    assert reasons(plan) == ["no arm64 node with room meets its rules about other pods"]


@pytest.mark.parametrize("change", ["not ready", "leaving"])
def test_arm64_nodes_that_are_not_ready_or_leave_are_no_target(change: str) -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-2"], affinity=PREFERS_ARM64)
    if change == "leaving":
        made.nodes["arm64-1"]["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z"
    else:
        made.nodes["arm64-1"]["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    assert reasons(moves(made)) == ["no arm64 node has room for it, and none can be added"]


def test_nodes_with_windows_are_named() -> None:
    made = world()
    made.nodes["amd64-1"]["metadata"]["labels"]["kubernetes.io/os"] = "windows"
    made.add_workload("api", ["amd64-1", "amd64-2"], affinity=PREFERS_ARM64)
    plan = moves(made)
    assert moved(plan) == [("amd64-2", "shop/api-1")]
    assert [(each.node, each.reason) for each in plan.skipped] == [("amd64-1", "it runs windows")]
