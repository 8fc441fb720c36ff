"""Karpenter does its work in the rig with the rights that the project's release gives it, and with no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from components.iam.karpenter_role import SERVICE_ACCOUNT
from components.rendering import declare
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for
from tests.cluster.collected import collected
from tests.cluster.karpenter import ACCESS_KINDS, NAMESPACE
from tests.cluster.objects import node_class, node_pool, pod
from tests.cluster.placements import Placement
from tests.cluster.rig import NODE_CLAIMS, NODE_CLASSES, NODE_POOLS, Rig
from tests.stack.words import plan

REJECTED = "is forbidden: User"


def pools(rig: Rig) -> list[Object]:
    return [node_class(rig.aws.cluster, rig.aws.node_role), node_pool("x86", "amd64", "on-demand", 10)]


def log_size(rig: Rig) -> int:
    return rig.controller.log.stat().st_size


def said(rig: Rig, since: int) -> str:
    """What the controller said after its log had ``since`` bytes."""
    return rig.controller.log.read_bytes()[since:].decode(errors="replace")


def wait_until_none(rig: Rig, kind: tuple[str, str]) -> None:
    wait_for(lambda: not rig.kube.list(*kind), f"{kind[1]} to go", timeout=90)


def test_the_rig_gives_it_what_a_stack_s_release_gives_it(rig: Rig) -> None:
    words = {
        "nodeGroups": {"web": {"minSize": 2}, "web-arm": {"minSize": 0}},
        "autoscaling": {"use": "karpenter", "karpenter": {"amiAlias": "al2023@v20260715"}},
    }
    wanted = [each for each in collected(declare(plan(words)).resources) if each["kind"] in ACCESS_KINDS]
    assert sorted({each["kind"] for each in wanted}) == sorted(ACCESS_KINDS)
    for each in wanted:
        meta = each["metadata"]
        found = rig.kube.get(each["apiVersion"], each["kind"], meta["name"], meta.get("namespace"))
        assert found is not None, meta["name"]
        for key in ("rules", "roleRef", "subjects"):
            assert found.get(key) == each.get(key), (each["kind"], meta["name"], key)


def test_with_these_rights_a_pod_gets_its_node_and_everything_goes_again(rig: Rig) -> None:
    before = log_size(rig)
    rig.apply(pools(rig))
    where = rig.run_pods([pod("web")])["web"]
    assert isinstance(where, Placement)
    assert (where.pool, where.node in rig.nodes()) == ("x86", True)
    for kind in (NODE_POOLS, NODE_CLASSES):
        for item in rig.kube.list(*kind):
            rig.kube.delete({"apiVersion": kind[0], "kind": kind[1], **item})
        wait_until_none(rig, kind)
    wait_for(lambda: not rig.nodes() and not rig.kube.list(*NODE_CLAIMS), "nodes and claims to go", timeout=60)
    assert rig.aws.running_instances() == []
    assert rig.aws.client("ec2").describe_launch_templates()["LaunchTemplates"] == []
    assert REJECTED not in said(rig, before)


def test_without_one_right_the_pod_waits_until_it_is_back(rig: Rig) -> None:
    """So the test above can fail: the rights are used, and their lack is seen."""
    rig.apply(pools(rig))
    before = log_size(rig)
    with no_new_claims(rig.kube):
        rig.kube.create(pod("web"))
        wait_for(lambda: REJECTED in said(rig, before), "Karpenter to be rejected", timeout=60)
        assert 'cannot create resource \\"nodeclaims\\"' in said(rig, before)
        assert rig.kube.list(*NODE_CLAIMS) == []
    where = rig.placements([("default", "web")])["web"]
    assert isinstance(where, Placement)


@contextmanager
def no_new_claims(kube: Kube) -> Iterator[None]:
    """Take the right to create NodeClaims away for a while."""
    role = kube.get("rbac.authorization.k8s.io/v1", "ClusterRole", "karpenter-core")
    assert role is not None
    rules = role["rules"]
    without: list[dict[str, Any]] = [
        {**rule, "verbs": [verb for verb in rule["verbs"] if verb != "create" or "nodeclaims" not in rule["resources"]]}
        for rule in rules
    ]
    assert without != rules
    kube.patch(role, {"rules": without})
    try:
        yield
    finally:
        kube.patch(role, {"rules": rules})


@pytest.mark.parametrize(
    ("may", "verb", "group", "resource"),
    [
        (True, "create", "karpenter.sh", "nodeclaims"),
        (True, "patch", "", "nodes"),
        (False, "get", "", "secrets"),
        (False, "create", "", "pods"),
        (False, "delete", "karpenter.sh", "nodepools"),
        (False, "create", "rbac.authorization.k8s.io", "clusterrolebindings"),
        (False, "create", "", "serviceaccounts/token"),
    ],
)
def test_its_rights_end_where_its_work_does(may: bool, verb: str, group: str, resource: str, rig: Rig) -> None:  # noqa: FBT001
    resource, _, part = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": part, "namespace": NAMESPACE}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}",
            "groups": ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"],
            "resourceAttributes": asked,
        },
    }
    found = rig.kube.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body=review)
    assert found["status"]["allowed"] is may
