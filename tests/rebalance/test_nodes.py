"""Which nodes are left alone, and why."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.rebalance.model import Skipped
from multiarch.stack.model import Plan
from tests.rebalance.cluster import PREFERS_ARM64, moved, moves, world
from tests.stack.words import AUTO_MODE
from tests.stack.words import plan as planned


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"spec": {"unschedulable": True}}, "it is cordoned"),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "it is not Ready"),
        (
            {"spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}},
            "it has the taint ToBeDeletedByClusterAutoscaler: an autoscaler removes it",
        ),
    ],
)
def test_such_a_node_is_left_alone(change: dict[str, Any], reason: str) -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    for key, value in change.items():
        made.nodes["amd64-1"][key].update(value)
    plan = moves(made)
    assert (moved(plan), plan.skipped) == ([], (Skipped("amd64-1", reason, 1),))


def test_what_an_earlier_run_left_cordoned_is_named_and_its_pods_are_planned() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    made.nodes["amd64-1"]["spec"]["unschedulable"] = True
    made.nodes["amd64-1"]["metadata"]["annotations"] = {"multiarch-eks/rebalance-run": "run-0 2026-11-22T11:00:00Z"}
    plan = moves(made)
    assert [(each.node, each.run, each.at) for each in plan.leftovers] == [("amd64-1", "run-0", "2026-11-22T11:00:00Z")]
    assert len(moved(plan)) == 1


def karpenter(**pool: Any) -> Plan:
    nodes = {"controllers": {"instanceTypes": ["m7g.large"], "minSize": 2, "desiredSize": 2, "arm64Taint": False}}
    spot = pool.pop("spotToSpotConsolidation", False)
    settings = {"nodePools": {"default": pool}, "spotToSpotConsolidation": spot}
    autoscaling = {"use": "karpenter", "karpenter": settings}
    return planned({"nodeGroups": {"web": None, "web-arm": None, **nodes}, "autoscaling": autoscaling})


@pytest.mark.parametrize(
    ("pool", "name", "capacity", "reason"),
    [
        ({}, "default-amd64-on-demand", "on-demand", "Karpenter consolidates NodePool default-amd64-on-demand"),
        ({}, "default-amd64-spot", "spot", ""),
        ({"spotToSpotConsolidation": True}, "default-amd64-spot", "spot", "Karpenter consolidates NodePool"),
        ({"consolidation": "WhenEmpty"}, "default-amd64-on-demand", "on-demand", ""),
        ({"consolidateAfter": "Never"}, "default-amd64-on-demand", "on-demand", ""),
        ({}, "others", "on-demand", "its NodePool others is not in the stack"),
    ],
)
def test_nodes_that_karpenter_replaces_itself_are_left_to_it(
    pool: dict[str, Any], name: str, capacity: str, reason: str
) -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    labels = made.nodes["amd64-1"]["metadata"]["labels"]
    labels |= {"karpenter.sh/nodepool": name, "karpenter.sh/capacity-type": capacity}
    plan = moves(made, of=karpenter(**pool))
    if reason:
        (skipped,) = plan.skipped
        assert skipped.reason.startswith(reason)
        assert (skipped.pods, skipped.by_karpenter, moved(plan)) == (1, name != "others", [])
    else:
        assert (plan.skipped, len(moved(plan))) == ((), 1)


def test_karpenter_does_not_replace_a_node_with_a_pod_that_it_must_not_disrupt() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    made.add_workload("ledger", ["amd64-1"], affinity=PREFERS_ARM64)
    made.pods["ledger-0"]["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    labels = made.nodes["amd64-1"]["metadata"]["labels"]
    labels |= {"karpenter.sh/nodepool": "default-amd64-on-demand", "karpenter.sh/capacity-type": "on-demand"}
    plan = moves(made, of=karpenter())
    assert (plan.skipped, moved(plan)) == ((), [("amd64-1", "shop/api-0")])


def test_a_node_that_karpenter_must_not_disrupt_is_left_alone() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    made.nodes["amd64-1"]["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    assert moves(made).skipped == (Skipped("amd64-1", "its annotation karpenter.sh/do-not-disrupt is 'true'", 1),)


def test_a_node_of_eks_auto_mode_is_left_to_it_if_it_consolidates() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    labels = made.nodes["amd64-1"]["metadata"]["labels"]
    labels |= {"eks.amazonaws.com/compute-type": "auto", "karpenter.sh/nodepool": "general-amd64-on-demand"}
    (skipped,) = moves(made, of=planned(AUTO_MODE)).skipped
    assert skipped.reason.startswith("EKS Auto Mode consolidates NodePool general-amd64-on-demand")


def test_a_node_that_eks_manages_is_left_alone() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    made.nodes["amd64-1"]["metadata"]["labels"]["eks.amazonaws.com/compute-type"] = "fargate"
    assert moves(made).skipped == (Skipped("amd64-1", "EKS manages it (fargate)", 1),)
