"""Which pods are moved, and why the others stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from multiarch.manifests.label_query import parse_label_query
from multiarch.manifests.owners import WorkloadKey
from multiarch.rebalance.candidates import Choice
from multiarch.rebalance.model import MovePlan, Skipped
from multiarch.stack.model import Plan
from tests.rebalance.cluster import PREFERS_ARM64, moves, stack, world
from tests.rebalance.world import TOLERATION, World
from tests.stack.words import plan as planned


def reasons(plan: MovePlan) -> list[str]:
    return [each.reason for each in plan.staying]


def moved(plan: MovePlan) -> list[tuple[str, str]]:
    return [(node.node, str(move)) for node in plan.nodes for move in node.moves]


def test_pods_that_prefer_arm64_move_where_it_has_room() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-2"], affinity=PREFERS_ARM64)
    plan = moves(made)
    assert moved(plan) == [("amd64-1", "shop/api-0"), ("amd64-2", "shop/api-1")]
    (first, _) = plan.nodes
    assert (first.moves[0].target, first.moves[0].new_node, first.stay, first.group) == ("web-arm", False, 0, "web")
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


def test_room_is_given_once() -> None:
    made = world(arm64_room=3)
    made.add_workload("api", ["amd64-1", "amd64-1", "amd64-2", "amd64-2"], affinity=PREFERS_ARM64)
    plan = moves(made)
    assert len(moved(plan)) == 3


def test_no_more_pods_than_wanted_are_moved() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-1", "amd64-2", "amd64-2"], affinity=PREFERS_ARM64)
    assert len(moved(moves(made, max_pods=3))) == 3


def test_nodes_that_come_closest_to_being_empty_come_first() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-2", "amd64-2"], affinity=PREFERS_ARM64)
    made.add_workload("old", ["amd64-1", "amd64-1"], tolerations=[])
    plan = moves(made)
    assert [(each.node, each.stay) for each in plan.nodes] == [("amd64-2", 0), ("amd64-1", 2)]
    assert (plan.on_amd64, plan.possible) == (5, 3)


def emptied(made: World) -> None:
    made.pods["api-0"]["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]


def annotated(key: str, text: str) -> Callable[[World], None]:
    def change(made: World) -> None:
        made.pods["api-0"]["metadata"]["annotations"] = {key: text}

    return change


def spec(**fields: Any) -> Callable[[World], None]:
    def change(made: World) -> None:
        made.pods["api-0"]["spec"].update(fields)

    return change


def owned(kind: str) -> Callable[[World], None]:
    def change(made: World) -> None:
        made.pods["api-0"]["metadata"]["ownerReferences"] = [
            {"kind": kind, "name": "mine", "uid": "uid-mine", "controller": True}
        ]

    return change


def bare(made: World) -> None:
    del made.pods["api-0"]["metadata"]["ownerReferences"]


def orphan(made: World) -> None:
    made.pods["api-0"]["metadata"]["ownerReferences"][0].pop("controller")


def unready(made: World) -> None:
    made.pods["api-0"]["status"]["conditions"] = []


def guarded(made: World) -> None:
    made.add_budget("api", 3)


def guarded_twice(made: World) -> None:
    made.add_budget("api", 1)
    made.add_budget("api", 1)


def updating(made: World) -> None:
    (found,) = made.controllers.values()
    found["kind"] = "StatefulSet"
    found["status"] = {"currentRevision": "a", "updateRevision": "b"}


def pinned(made: World) -> None:
    (found,) = made.controllers.values()
    found["spec"]["template"]["spec"]["nodeName"] = "amd64-1"


def volume(**source: Any) -> Callable[[World], None]:
    return spec(volumes=[{"name": "data", **source}])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (bare, "it has no controller that would replace it"),
        (orphan, "it has no controller that would replace it"),
        (owned("Job"), "it is a Job's: it would start over"),
        (owned("Workflow"), "its controller Workflow/mine is not a ReplicaSet, StatefulSet or"),
        (owned("ReplicaSet"), "its controller ReplicaSet/mine is not a ReplicaSet, StatefulSet or"),
        (annotated("multiarch-eks/rebalance", "off"), "its annotation multiarch-eks/rebalance is 'off'"),
        (annotated("karpenter.sh/do-not-disrupt", "true"), "its annotation karpenter.sh/do-not-disrupt is 'true'"),
        (
            annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
            "its annotation cluster-autoscaler.kubernetes.io/safe-to-evict is 'false'",
        ),
        (volume(emptyDir={}), "volume data is an emptyDir, whose data would be deleted (--delete-emptydir-data)"),
        (volume(hostPath={"path": "/x"}), "volume data is a hostPath: files of its node"),
        (
            volume(persistentVolumeClaim={"claimName": "c"}),
            "volume data (persistentVolumeClaim) may be tied to a zone or a node",
        ),
        (volume(ephemeral={}), "volume data (ephemeral) may be tied to a zone or a node"),
        (volume(csi={"driver": "x"}), "volume data (csi) may be tied to a zone or a node"),
        (spec(schedulerName="mine"), "the scheduler mine has rules of its own"),
        (spec(resourceClaims=[{"name": "gpu"}]), "it has resource claims"),
        (spec(priority=2_000_000_000), "its priority is a system pod's"),
        (unready, "it is not ready"),
        (guarded, "the PodDisruptionBudget api allows no eviction now"),
        (guarded_twice, "several PodDisruptionBudgets select it (api, api), which the eviction API refuses"),
        (updating, "its StatefulSet has an update that is not complete"),
        (pinned, "its template requires the node amd64-1"),
    ],
)
def test_such_a_pod_stays(change: Callable[[World], None], reason: str) -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1", "arm64-1"], affinity=PREFERS_ARM64)
    change(made)
    plan = moves(made)
    assert moved(plan) == []
    (why,) = reasons(plan)
    assert why.startswith(reason)


def test_the_same_pod_without_any_of_it_moves() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1", "arm64-1"], affinity=PREFERS_ARM64)
    assert moved(moves(made)) == [("amd64-1", "shop/api-0")]


def test_volumes_that_every_node_has_keep_no_pod() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    sources = ("configMap", "secret", "projected", "downwardAPI", "nfs")
    spec(volumes=[{"name": each.lower(), each: {}} for each in sources])(made)
    assert len(moved(moves(made))) == 1


def test_an_empty_dir_is_given_up_when_asked_for() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    emptied(made)
    assert len(moved(moves(made, choice=Choice(empty_dirs=True)))) == 1


def test_a_workload_of_one_pod_moves_only_when_asked_for_or_when_a_budget_allows_it() -> None:
    made = world()
    made.add_workload("api", ["amd64-1"], affinity=PREFERS_ARM64)
    (why,) = reasons(moves(made))
    assert why.startswith("it is its workload's only ready pod")
    assert len(moved(moves(made, choice=Choice(single=True)))) == 1
    made.add_budget("api", 0)
    assert len(moved(moves(made))) == 1


@pytest.mark.parametrize(
    ("kind", "owner", "stay"),
    [
        ("ReplicaSet", "Deployment", ["its workload is being rolled out"]),
        ("StatefulSet", "Elasticsearch", []),
    ],
)
def test_several_replica_sets_of_an_owner_are_a_rollout_and_several_stateful_sets_are_not(
    kind: str, owner: str, stay: list[str]
) -> None:
    made = world()
    for name in ("old", "new"):
        made.add_workload(name, ["amd64-1", "arm64-1"], kind=kind, affinity=PREFERS_ARM64)
        reference = {"kind": owner, "name": "search", "uid": "uid-search", "controller": True}
        made.controllers[f"uid-{kind}-{name}"]["metadata"]["ownerReferences"] = [reference]
    plan = moves(made)
    assert (reasons(plan), len(moved(plan))) == (stay, 0 if stay else 2)


def test_an_image_without_arm64_or_an_unknown_one_keeps_its_pods() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-2"], affinity=PREFERS_ARM64)
    plan = moves(made, images={"app:1": "image app:1: support for arm64 is unknown: not found"})
    assert (moved(plan), reasons(plan)) == ([], ["image app:1: support for arm64 is unknown: not found"])


def test_a_workload_that_is_set_aside_stays() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-2"], affinity=PREFERS_ARM64)
    aside = {WorkloadKey("shop", "ReplicaSet", "api"): "a run could not move it"}
    assert reasons(moves(made, choice=Choice(set_aside=aside))) == ["a run could not move it"]


def test_only_chosen_pods_are_looked_at() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "amd64-2"], affinity=PREFERS_ARM64)
    made.add_workload("web", ["amd64-1", "amd64-2"], affinity=PREFERS_ARM64)
    plan = moves(made, choice=Choice(selector=parse_label_query("app=web")))
    assert ({name for _, name in moved(plan)}, plan.on_amd64) == ({"shop/web-0", "shop/web-1"}, 2)
    assert moves(made, choice=Choice(namespaces={"other"})).on_amd64 == 0


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


@pytest.mark.parametrize(
    ("budget", "single", "needs_another"), [(False, False, True), (True, False, False), (False, True, False)]
)
def test_a_pod_without_a_budget_moves_only_beside_another_ready_pod(
    *, budget: bool, single: bool, needs_another: bool
) -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    if budget:
        made.add_budget("api", 1)
    ((move,),) = (node.moves for node in moves(made, choice=Choice(single=single)).nodes)
    assert move.needs_another is needs_another


def test_a_node_that_eks_manages_is_left_alone() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1"], affinity=PREFERS_ARM64)
    made.nodes["amd64-1"]["metadata"]["labels"]["eks.amazonaws.com/compute-type"] = "fargate"
    assert moves(made).skipped == (Skipped("amd64-1", "EKS manages it (fargate)", 1),)
