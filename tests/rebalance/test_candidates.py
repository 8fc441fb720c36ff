"""Which pods stay, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from multiarch.manifests.label_query import parse_label_query
from multiarch.manifests.owners import WorkloadKey
from multiarch.rebalance.candidates import Choice
from tests.rebalance.cluster import PREFERS_ARM64, moved, moves, reasons, world
from tests.rebalance.world import World


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
        (owned("ReplicaSet"), "its controller ReplicaSet/mine was not found"),
        (annotated("multiarch-eks/rebalance", "off"), "its annotation multiarch-eks/rebalance is 'off'"),
        (annotated("karpenter.sh/do-not-disrupt", "true"), "its annotation karpenter.sh/do-not-disrupt is 'true'"),
        (
            annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
            "its annotation cluster-autoscaler.kubernetes.io/safe-to-evict is 'false'",
        ),
        (volume(ephemeral={}), "volume data (ephemeral) may be tied to a zone or a node"),
        (volume(csi={"driver": "x"}), "volume data (csi) may be tied to a zone or a node"),
        (volume(emptyDir={}), "volume data is an emptyDir, whose data would be deleted (--delete-emptydir-data)"),
        (volume(hostPath={"path": "/x"}), "volume data is a hostPath: files of its node"),
        (
            volume(persistentVolumeClaim={"claimName": "c"}),
            "volume data (persistentVolumeClaim) may be tied to a zone or a node",
        ),
        (spec(schedulerName="mine"), "the scheduler mine has rules of its own"),
        (spec(resourceClaims=[{"name": "gpu"}]), "it has resource claims"),
        (spec(containers=[{"name": "a", "ports": [{"hostPort": 80}]}]), "it has host ports"),
        (spec(priority=2_000_000_000), "its priority is a system pod's"),
        (unready, "it is not ready"),
        (guarded, "the PodDisruptionBudget api allows no eviction now"),
        (guarded_twice, "several PodDisruptionBudgets select it (api, api), which the eviction API rejects"),
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


def test_a_static_pod_is_not_looked_at() -> None:
    made = world()
    made.add_workload("api", ["amd64-1", "arm64-1", "arm64-1"], affinity=PREFERS_ARM64)
    annotated("kubernetes.io/config.mirror", "0123")(made)
    plan = moves(made)
    assert (moved(plan), reasons(plan)) == ([], [])


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
