"""What others have in an existing cluster, and rights that are missing, are told before the first object is created."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from multiarch.doctor.in_cluster import (
    AccessError,
    DeclaredObject,
    judge_entry,
    judge_objects,
    list_declared,
    list_obstacles,
)
from multiarch.doctor.model import CheckState
from multiarch.kubernetes.cluster import open_described_cluster
from multiarch.kubernetes.resources import NODE_POOLS
from tests.kubernetes.api_server import Answer, Request, rejected, serving
from tests.stack.test_existing_cluster import KARPENTER, NO_GROUPS, ON_KARPENTER, on_cluster, scaled
from tests.stack.test_webhook import webhook
from tests.stack.words import merged, plan

CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-priority-expander"
SCALED = scaled("cluster-autoscaler", "clusterAutoscaler")
WITH_WEBHOOK = merged(on_cluster(cluster={"podIdentityAgent": True}), webhook())
POOLS = {**on_cluster(autoscaling=KARPENTER), **NO_GROUPS}
PRIORITIES, POOL_NAME = "ConfigMap kube-system/cluster-autoscaler-priority-expander", "NodePool general-arm64-spot"
ALREADY = "is in the cluster shop already, and the stack shop-dev did not make it."
POOL = "/apis/karpenter.sh/v1/nodepools/general-arm64-spot"
CALLER = "arn:aws:sts::111122223333:assumed-role/deployer/ci"


def find(
    change: Mapping[str, Any],
    *there: str,
    status: int = 200,
    denied: str = "",
    pools: Sequence[Mapping[str, Any]] = (),
) -> list[str]:
    """What is told where the cluster has ``there``, the paths of objects or names of Helm releases, and ``pools``."""

    def answer(request: Request) -> Answer:
        if status != 200:
            return rejected(status, "Unauthorized", "Unauthorized")
        if request.method == "POST":
            resource = json.loads(request.body)["spec"]["resourceAttributes"]["resource"]
            return 201, {"status": {"allowed": resource != denied}}, {}
        if request.path == "/api/v1/secrets":
            labels = [{"owner": "helm", "name": each, "version": "1", "status": "deployed"} for each in there]
            return 200, {"items": [{"metadata": {"namespace": "kube-system", "labels": each}} for each in labels]}, {}
        if request.path == "/apis/karpenter.sh/v1/nodepools":
            return 200, {"items": list(pools)}, {}
        return (200, {}, {}) if request.path in there else rejected(404, "NotFound", "not found")

    with serving(answer) as server:
        config = {
            "clusters": [{"name": "shop", "cluster": {"server": server.url}}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "shop", "context": {"cluster": "shop", "user": "me"}}],
            "current-context": "shop",
        }
        with open_described_cluster(json.dumps(config)) as cluster:
            return list_obstacles(cluster, plan(change))


@pytest.mark.parametrize(
    ("change", "there", "says"),
    [
        (SCALED, "", ""),
        (SCALED, CONFIG_MAP, f"{PRIORITIES} {ALREADY} Take its lines over as autoscaling.clusterAutoscaler.priorities"),
        (scaled("cluster-autoscaler", "clusterAutoscaler", namespace="scaling"),
         CONFIG_MAP.replace("kube-system", "scaling"), "ConfigMap scaling/cluster-autoscaler-priority-expander"),
        (POOLS, POOL, f"{POOL_NAME} {ALREADY} Choose another name than autoscaling.karpenter.nodePools.general."),
        (WITH_WEBHOOK, "/api/v1/namespaces/multiarch-webhook", "remove admissionWebhook"),
        (ON_KARPENTER, "karpenter", f"Release kube-system/karpenter {ALREADY} `helm list"),
    ],
)  # fmt: skip
def test_an_object_that_is_there_is_told_with_the_fix(change: dict[str, Any], there: str, says: str) -> None:
    found = find(change, *([there] if there else []))
    assert [says in each for each in found] == ([True] if says else [])


def pool_of(name: str, group: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"nodeClassRef": {"group": group}}}},
    }


def test_a_second_karpenter_is_rejected_where_nodepools_of_others_are() -> None:
    theirs = [pool_of("theirs", "karpenter.k8s.aws"), pool_of("system", "eks.amazonaws.com")]
    (found,) = find(ON_KARPENTER, pools=theirs)
    assert found.startswith(f"NodePool theirs {ALREADY} The Karpenter that the stack installs would change its nodes")
    assert find(POOLS, pools=theirs) == []


@pytest.mark.parametrize(
    ("own", "state"), [("NodePool other", CheckState.FAILED), ("Release kube-system/karpenter", CheckState.OK)]
)
def test_nodepools_of_another_stack_may_stand_beside_the_stacks_karpenter(own: str, state: CheckState) -> None:
    pool = DeclaredObject(NODE_POOLS, "", "theirs", "", beside="Release kube-system/karpenter")
    (row,) = judge_objects([pool], {own}, plan(ON_KARPENTER))
    assert row.state is state


def test_rights_that_are_missing_are_told_before_objects() -> None:
    for change, how, what in (
        (SCALED, {"denied": "configmaps"}, "create configmaps in the API of shop"),
        (SCALED, {"status": 401}, "use the API of shop"),
        (WITH_WEBHOOK, {"denied": "*"}, "change everything, as charts need, in the API of shop"),
    ):
        with pytest.raises(AccessError, match=f"^The identity that runs Pulumi may not {what}") as told:
            find(change, CONFIG_MAP, **how)
        assert told.value.hint.startswith("`multiarch doctor shop-dev` shows the command")


def test_an_auto_mode_stack_has_a_class_of_its_own_kind() -> None:
    declared = list_declared(plan({**on_cluster(autoscaling={"use": "auto-mode"}), **NO_GROUPS}))
    assert str(next(declared)) == "NodeClass shop-dev"


@pytest.mark.parametrize(
    ("mode", "entries", "state", "fix"),
    [
        ("API", ["arn:aws:iam::111122223333:role/ci/deployer"], CheckState.UNKNOWN, ""),
        ("API", ["arn:aws:iam::111122223333:role/other"], CheckState.FAILED, "`aws eks create-access-entry"),
        ("API_AND_CONFIG_MAP", [], CheckState.UNKNOWN, "is not in aws-auth: `aws eks create-access-entry"),
        ("CONFIG_MAP", [], CheckState.UNKNOWN, "`eksctl create iamidentitymapping --cluster shop"),
    ],
)
def test_without_the_api_access_entries_say_what_they_can(
    mode: str, entries: list[str], state: CheckState, fix: str
) -> None:
    found = judge_entry(plan(SCALED), CALLER, mode, entries, "timed out")
    assert (found.state, fix in found.fix) == (state, True)
    assert not fix or "aws iam get-role --role-name deployer --query Role.Arn" in found.fix
