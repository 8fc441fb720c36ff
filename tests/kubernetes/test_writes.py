"""What is written: JSON patches, new objects, evictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.kubernetes.errors import ClusterError, ConflictError, ForbiddenError
from multiarch.kubernetes.resources import LEASES, NODES
from tests.kubernetes.api_server import rejected, serving
from tests.kubernetes.kubeconfigs import opened

OPERATIONS: list[dict[str, object]] = [
    {"op": "test", "path": "/metadata/resourceVersion", "value": "5"},
    {"op": "add", "path": "/spec/taints/-", "value": {"key": "arch", "effect": "NoSchedule"}},
]


def test_a_patch_is_sent_as_json_patch_again_if_the_server_is_busy(tmp_path: Path) -> None:
    answers = [rejected(429), (200, {"kind": "Node"}, {})]
    with serving(lambda _: answers.pop(0)) as server:
        opened(tmp_path, server.url).patch(NODES, None, "node-1", OPERATIONS)
    for request in server.requests:
        assert (request.method, request.path) == ("PATCH", "/api/v1/nodes/node-1")
        assert request.headers["content-type"] == "application/json-patch+json"
        assert json.loads(request.body) == OPERATIONS


@pytest.mark.parametrize("status", [404, 409, 422])
def test_a_node_that_was_changed_or_deleted_meanwhile_is_a_conflict(tmp_path: Path, status: int) -> None:
    with serving(lambda _: rejected(status, "Conflict")) as server, pytest.raises(ConflictError, match="node-1 was"):
        opened(tmp_path, server.url).patch(NODES, None, "node-1", OPERATIONS)


RBAC = 'nodes "node-1" is forbidden: User "ci" cannot patch resource "nodes" in API group "" at the cluster scope'


@pytest.mark.parametrize(
    ("status", "said", "error", "message"),
    [
        (403, "", ForbiddenError, 'verbs: ["patch"], resourceNames: ["node-1"]'),
        (403, RBAC, ForbiddenError, "ci may not patch nodes node-1 in the whole cluster."),
        (
            403,
            'admission webhook "guard" denied it: busy',
            ClusterError,
            'status 403: admission webhook "guard" denied',
        ),
        (403, 'nodes "a" is forbidden: exceeded quota: pods', ClusterError, "is forbidden: exceeded quota"),
        (400, "no", MultiarchError, "rejects patch nodes node-1: no."),
    ],
)
def test_a_patch_that_is_rejected_says_by_what(
    tmp_path: Path, status: int, said: str, error: type[MultiarchError], message: str
) -> None:
    with serving(lambda _: rejected(status, "", said)) as server, pytest.raises(error) as raised:
        opened(tmp_path, server.url).patch(NODES, None, "node-1", OPERATIONS)
    assert type(raised.value) is error
    assert message in str(raised.value)


LEASE: dict[str, Any] = {"metadata": {"name": "mine", "namespace": "kube-system"}, "spec": {}}


def test_an_object_is_created_as_json(tmp_path: Path) -> None:
    with serving(lambda _: (201, {"kind": "Lease"}, {})) as server:
        opened(tmp_path, server.url).create(LEASES, "kube-system", LEASE)
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body) == LEASE
    with serving(lambda _: rejected(409, "AlreadyExists")) as server, pytest.raises(ConflictError, match="Lease mine"):
        opened(tmp_path, server.url).create(LEASES, "kube-system", LEASE)


def test_an_eviction_names_the_pod_by_its_uid_again_if_the_server_is_not_there(tmp_path: Path) -> None:
    answers = [rejected(503), (201, {"kind": "Status"}, {})]
    with serving(lambda _: answers.pop(0)) as server:
        assert opened(tmp_path, server.url).evict("shop", "api-1", "uid-1") == ""
    for request in server.requests:
        assert (request.method, request.path) == ("POST", "/api/v1/namespaces/shop/pods/api-1/eviction")
        eviction = json.loads(request.body)
        assert (eviction["apiVersion"], eviction["kind"]) == ("policy/v1", "Eviction")
        assert eviction["deleteOptions"] == {"preconditions": {"uid": "uid-1"}}
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, ""),
        (429, "Cannot evict pod as it would violate the pod's disruption budget"),
        (409, "the UID in the precondition (uid-1) does not match the UID in record (uid-2)"),
        (500, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support"),
    ],
)
def test_an_eviction_that_is_rejected_is_sent_once_and_says_why(tmp_path: Path, status: int, message: str) -> None:
    with serving(lambda _: rejected(status, "", message, **{"Retry-After": "1"})) as server:
        assert opened(tmp_path, server.url).evict("shop", "api-1", "uid-1") == message
    assert len(server.requests) == 1


def test_another_fault_of_an_eviction_is_an_error(tmp_path: Path) -> None:
    with serving(lambda _: rejected(500, "", "etcd")) as server, pytest.raises(ClusterError, match="etcd"):
        opened(tmp_path, server.url).evict("shop", "api-1", "uid-1")
    with serving(lambda _: rejected(403)) as server, pytest.raises(ForbiddenError) as raised:
        opened(tmp_path, server.url).evict("shop", "api-1", "uid-1")
    assert 'resources: ["pods/eviction"], verbs: ["create"]' in raised.value.hint
