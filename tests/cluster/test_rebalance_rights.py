"""What the CronJob's service account may do, as a real API server decides: RBAC, and the admission policies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from multiarch.facts.rebalance import CORDON_ANNOTATION, LEASE, LEASE_NAMESPACE
from multiarch.facts.taints import parse_taint
from multiarch.rebalance.install.objects import build_objects
from multiarch.rebalance.install.policy import NAME, NAMESPACE
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, KubeError, Object
from sandbox.cluster.programs import wait_for
from tests.cluster.kubelets import group_node
from tests.cluster.reading import may, token_of
from tests.cluster.rebalancing import rebalance_plan
from tests.cluster.temporary import applied

PLAN = rebalance_plan(namespaces=["default"], pullSecrets=["default/registry"])
AMD64, ARM64, CLOSED = "rights-amd64.internal", "rights-arm64.internal", "rights-closed.internal"
OWN = {"metadata": {"annotations": {CORDON_ANNOTATION: "run 2026-11-22T13:00:00Z"}}}
NOT_OWN: Object = {"metadata": {"annotations": {CORDON_ANNOTATION: None}}}
CLOSE: Object = {"spec": {"unschedulable": True}}
OPEN: Object = {"spec": {"unschedulable": None}}


@pytest.fixture(scope="module")
def administrator(control_plane: ControlPlane) -> Iterator[Kube]:
    """The CronJob's objects, in force, and three nodes."""
    kube = control_plane.kube
    with applied(kube, build_objects(PLAN, "shop-dev", parse_taint("arch=arm64:NoSchedule"))):
        nodes = [
            group_node(AMD64, "web", "m7i.large", "amd64"),
            group_node(ARM64, "web-arm", "m7g.large", "arm64"),
            group_node(CLOSED, "web", "m7i.large", "amd64"),
        ]
        with applied(kube, nodes):
            kube.patch(nodes[-1], CLOSE)
            own = as_account(kube)
            wait_for(lambda: in_force(own), "the policies to be in force", timeout=60, pause=0.3)
            yield kube


@pytest.fixture(scope="module")
def account(administrator: Kube) -> Kube:
    return as_account(administrator)


def as_account(kube: Kube) -> Kube:
    return Kube(replace(kube.access, token=token_of(kube, NAME, NAMESPACE)))


def in_force(account: Kube) -> bool:
    found = [rejection(account, AMD64, {"metadata": {"labels": {"x": "y"}}}), lease_rejection(account, "other")]
    return all("ValidatingAdmissionPolicy" in each for each in found)


def rejection(kube: Kube, node: str, change: Object) -> str:
    """Why a change of a Node is rejected; empty if it is not. Nothing is changed."""
    return _rejection(kube, "PATCH", kube.path("v1", "Node", None, node), change, "application/merge-patch+json")


def lease_rejection(kube: Kube, name: str, namespace: str = LEASE_NAMESPACE) -> str:
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
    return _rejection(kube, "POST", kube.path("coordination.k8s.io/v1", "Lease", namespace), body)


def _rejection(kube: Kube, method: str, path: str, body: Object, content_type: str = "application/json") -> str:
    try:
        kube.request(method, path, body=body, query={"dryRun": "All"}, content_type=content_type)
    except KubeError as error:
        return error.message
    return ""


def both(*changes: Object) -> Object:
    found: Object = {"metadata": {}, "spec": {}}
    for change in changes:
        for part, fields in change.items():
            found[part] |= fields
    return found


def test_it_cordons_an_amd64_node_with_its_annotation_and_uncordons_it(administrator: Kube, account: Kube) -> None:
    assert rejection(account, AMD64, both(CLOSE, OWN)) == ""
    node: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": AMD64}}
    administrator.patch(node, both(CLOSE, OWN))
    try:
        assert rejection(account, AMD64, both(OPEN, NOT_OWN)) == ""
        assert rejection(account, AMD64, {"spec": {"unschedulable": False}, **NOT_OWN}) == ""
    finally:
        administrator.patch(node, both(OPEN, NOT_OWN))


@pytest.mark.parametrize(
    ("node", "change", "says"),
    [
        (ARM64, both(CLOSE, OWN), "amd64 nodes only"),
        (AMD64, CLOSE, "with its annotation"),
        (AMD64, OWN, "only nodes that it cordons"),
        (CLOSED, OPEN, "only nodes that it cordoned"),
        (AMD64, {"metadata": {"labels": {"x": "y"}}}, "nothing of a Node but"),
        (AMD64, {"metadata": {"finalizers": ["example.com/x"]}}, "nothing of a Node but"),
        (AMD64, {"metadata": {"annotations": {"x": "y"}}}, "no annotation of a Node but"),
        (AMD64, {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "nothing of a Node but"),
        (AMD64, both(CLOSE, OWN, {"metadata": {"labels": {"x": "y"}}}), "nothing of a Node but"),
    ],
)
def test_any_other_change_of_a_node_is_rejected(account: Kube, node: str, change: Object, says: str) -> None:
    found = rejection(account, node, change)
    assert NAME in found
    assert says in found


def test_the_policies_are_for_it_alone(administrator: Kube) -> None:
    assert rejection(administrator, ARM64, {"spec": {"taints": None}}) == ""
    assert lease_rejection(administrator, "other") == ""


def test_it_creates_no_lease_but_its_own(administrator: Kube, account: Kube) -> None:
    # Runs of other tests on this control plane leave one.
    lease = {"namespace": LEASE_NAMESPACE, "name": LEASE}
    administrator.delete({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": lease})
    assert lease_rejection(account, LEASE) == ""
    assert f"no Lease but {LEASE}" in lease_rejection(account, "kube-controller-manager")
    assert "is forbidden" in lease_rejection(account, LEASE, "kube-node-lease")


LEASES = {"group": "coordination.k8s.io", "resource": "leases", "namespace": LEASE_NAMESPACE}
REQUESTS = [
    (True, {"verb": "list", "resource": "pods"}),
    (True, {"verb": "list", "group": "policy", "resource": "poddisruptionbudgets"}),
    (True, {"verb": "create", "resource": "pods", "subresource": "eviction", "namespace": "default"}),
    (False, {"verb": "create", "resource": "pods", "subresource": "eviction", "namespace": "kube-system"}),
    (True, {"verb": "get", "resource": "secrets", "namespace": "default", "name": "registry"}),
    (False, {"verb": "get", "resource": "secrets", "namespace": "default", "name": "other"}),
    (False, {"verb": "delete", "resource": "pods", "namespace": "default"}),
    (False, {"verb": "create", "resource": "pods", "namespace": "default"}),
    (False, {"verb": "delete", "resource": "nodes"}),
    (False, {"verb": "create", "resource": "pods", "subresource": "exec", "namespace": "default"}),
    (False, {"verb": "patch", "group": "apps", "resource": "deployments", "namespace": "default"}),
    (False, {"verb": "create", "resource": "serviceaccounts", "subresource": "token", "namespace": NAMESPACE}),
    (False, {"verb": "patch", "group": "admissionregistration.k8s.io", "resource": "validatingadmissionpolicies"}),
    (True, {"verb": "patch", **LEASES, "name": LEASE}),
    (False, {"verb": "patch", **LEASES, "name": "kube-scheduler"}),
]


def test_its_rights_end_where_its_work_does(administrator: Kube) -> None:
    assert [
        request for allowed, request in REQUESTS if may(administrator, NAME, NAMESPACE, request) is not allowed
    ] == []


def test_its_pod_meets_the_namespace_s_pod_security(administrator: Kube) -> None:
    job = administrator.get("batch/v1", "CronJob", NAME, NAMESPACE)
    assert job is not None
    template = job["spec"]["jobTemplate"]["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {**template["metadata"], "generateName": "try-"}}
    made = administrator.request("POST", administrator.path("v1", "Pod", NAMESPACE), body=pod, query={"dryRun": "All"})
    assert made["spec"]["serviceAccountName"] == NAME
