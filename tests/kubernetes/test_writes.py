"""What is written: JSON patches, new objects, evictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.kubernetes.errors import ClusterError, ConflictError, ForbiddenError
from multiarch.kubernetes.resources import LEASES
from tests.kubernetes.api_server import refused, serving
from tests.kubernetes.kubeconfigs import opened

OPERATIONS: list[dict[str, object]] = [
    {"op": "test", "path": "/metadata/resourceVersion", "value": "5"},
    {"op": "add", "path": "/spec/taints/-", "value": {"key": "arch", "effect": "NoSchedule"}},
]


def test_a_patch_is_sent_as_json_patch_and_once(tmp_path: Path) -> None:
    with serving(lambda _: (200, {"kind": "Node"}, {})) as server:
        opened(tmp_path, server.url).patch_node("node-1", OPERATIONS)
    (request,) = server.requests
    assert (request.method, request.path) == ("PATCH", "/api/v1/nodes/node-1")
    assert request.headers["content-type"] == "application/json-patch+json"
    assert json.loads(request.body) == OPERATIONS


@pytest.mark.parametrize("status", [404, 409, 422])
def test_a_node_that_was_changed_or_deleted_meanwhile_is_a_conflict(tmp_path: Path, status: int) -> None:
    with serving(lambda _: refused(status, "Conflict")) as server, pytest.raises(ConflictError, match="node-1 was"):
        opened(tmp_path, server.url).patch_node("node-1", OPERATIONS)


def test_a_missing_right_names_the_rule(tmp_path: Path) -> None:
    with serving(lambda _: refused(403, "Forbidden")) as server, pytest.raises(ForbiddenError) as raised:
        opened(tmp_path, server.url).patch_node("node-1", OPERATIONS)
    assert 'verbs: ["patch"], resourceNames: ["node-1"]' in raised.value.hint


@pytest.mark.parametrize(
    "said",
    [
        'pods "web-0" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=5, limited: pods=5',
        "nodes \"a\" is forbidden: ValidatingAdmissionPolicy 'nodes' with binding 'nodes' denied request: amd64 only.",
        'admission webhook "guard.example.com" denied the request: web is busy',
    ],
)
def test_what_admission_refuses_is_not_taken_for_a_missing_right(tmp_path: Path, said: str) -> None:
    with serving(lambda _: refused(403, "Forbidden", said)) as server, pytest.raises(ClusterError) as raised:
        opened(tmp_path, server.url).evict("shop", "web-0", "uid")
    assert (type(raised.value), raised.value.status) == (ClusterError, 403)
    assert raised.value.message.endswith(f"answered create pods/eviction web-0 with status 403: {said.rstrip('.')}.")


def test_rbac_s_answer_names_the_user_and_the_rule(tmp_path: Path) -> None:
    said = 'nodes "a" is forbidden: User "ci" cannot patch resource "nodes" in API group "" at the cluster scope'
    with (
        serving(lambda _: refused(403, "Forbidden", said)) as server,
        pytest.raises(ForbiddenError, match="ci may not"),
    ):
        opened(tmp_path, server.url).patch_node("a", OPERATIONS)


def test_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    answers = [refused(429), (200, {"kind": "Node"}, {})]
    with serving(lambda _: answers.pop(0)) as server:
        opened(tmp_path, server.url).patch_node("node-1", OPERATIONS)
    assert len(server.requests) == 2


def test_any_other_refusal_is_an_error(tmp_path: Path) -> None:
    with (
        serving(lambda _: refused(400, "BadRequest", "no")) as server,
        pytest.raises(MultiarchError, match="patch nodes"),
    ):
        opened(tmp_path, server.url).patch_node("node-1", OPERATIONS)


LEASE: dict[str, Any] = {"metadata": {"name": "mine", "namespace": "kube-system"}, "spec": {}}


def test_an_object_is_created_as_json(tmp_path: Path) -> None:
    with serving(lambda _: (201, {"kind": "Lease"}, {})) as server:
        opened(tmp_path, server.url).create(LEASES, "kube-system", LEASE)
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body) == LEASE


def test_an_object_that_exists_already_is_a_conflict(tmp_path: Path) -> None:
    with serving(lambda _: refused(409, "AlreadyExists")) as server, pytest.raises(ConflictError, match="Lease mine"):
        opened(tmp_path, server.url).create(LEASES, "kube-system", LEASE)


def test_an_eviction_names_the_pod_by_its_uid(tmp_path: Path) -> None:
    with serving(lambda _: (201, {"kind": "Status"}, {})) as server:
        assert opened(tmp_path, server.url).evict("shop", "api-1", "uid-1") == ""
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/shop/pods/api-1/eviction")
    eviction = json.loads(request.body)
    assert (eviction["apiVersion"], eviction["kind"]) == ("policy/v1", "Eviction")
    assert eviction["deleteOptions"] == {"preconditions": {"uid": "uid-1"}}


def test_the_eviction_of_a_pod_that_is_gone_is_done(tmp_path: Path) -> None:
    with serving(lambda _: refused(404, "NotFound")) as server:
        assert opened(tmp_path, server.url).evict("shop", "api-1", "uid-1") == ""


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (429, "Cannot evict pod as it would violate the pod's disruption budget"),
        (409, "the UID in the precondition (uid-1) does not match the UID in record (uid-2)"),
        (500, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support"),
    ],
)
def test_an_eviction_that_is_refused_is_asked_for_once_and_says_why(tmp_path: Path, status: int, message: str) -> None:
    with serving(lambda _: refused(status, "TooManyRequests", message)) as server:
        assert opened(tmp_path, server.url).evict("shop", "api-1", "uid-1") == message
    assert len(server.requests) == 1


def test_an_eviction_is_asked_for_again_when_the_server_is_not_there(tmp_path: Path) -> None:
    answers = [refused(503), (201, {"kind": "Status"}, {})]
    with serving(lambda _: answers.pop(0)) as server:
        assert opened(tmp_path, server.url).evict("shop", "api-1", "uid-1") == ""
    assert len(server.requests) == 2


def test_another_fault_of_an_eviction_is_an_error(tmp_path: Path) -> None:
    with serving(lambda _: refused(500, "InternalError", "etcd")) as server, pytest.raises(ClusterError, match="etcd"):
        opened(tmp_path, server.url).evict("shop", "api-1", "uid-1")


def test_the_missing_right_to_evict_names_the_rule(tmp_path: Path) -> None:
    with serving(lambda _: refused(403, "Forbidden")) as server, pytest.raises(ForbiddenError) as raised:
        opened(tmp_path, server.url).evict("shop", "api-1", "uid-1")
    assert 'resources: ["pods/eviction"], verbs: ["create"]' in raised.value.hint
