"""The one write: a Node's JSON patch."""

from __future__ import annotations

import json

import pytest

from multiarch.errors import MultiarchError
from multiarch.kubernetes.cluster import Cluster
from multiarch.kubernetes.errors import ConflictError, ForbiddenError
from multiarch.kubernetes.kubeconfig import Connection, User
from tests.kubernetes.api_server import refused, serving

OPERATIONS: list[dict[str, object]] = [
    {"op": "test", "path": "/metadata/resourceVersion", "value": "5"},
    {"op": "add", "path": "/spec/taints/-", "value": {"key": "arch", "effect": "NoSchedule"}},
]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def opened(url: str) -> Cluster:
    return Cluster(Connection("here", url, User("me")), first_wait=0.001)


def test_a_patch_is_sent_as_json_patch_and_once() -> None:
    with serving(lambda _: (200, {"kind": "Node"}, {})) as server:
        opened(server.url).patch_node("node-1", OPERATIONS)
    (request,) = server.requests
    assert (request.method, request.path) == ("PATCH", "/api/v1/nodes/node-1")
    assert request.headers["content-type"] == "application/json-patch+json"
    assert json.loads(request.body) == OPERATIONS


@pytest.mark.parametrize("status", [404, 409, 422])
def test_a_node_that_was_changed_or_deleted_meanwhile_is_a_conflict(status: int) -> None:
    with serving(lambda _: refused(status, "Conflict")) as server, pytest.raises(ConflictError, match="node-1 was"):
        opened(server.url).patch_node("node-1", OPERATIONS)


def test_a_missing_right_names_the_rule() -> None:
    with serving(lambda _: refused(403, "Forbidden")) as server, pytest.raises(ForbiddenError) as raised:
        opened(server.url).patch_node("node-1", OPERATIONS)
    assert 'verbs: ["patch"], resourceNames: ["node-1"]' in raised.value.hint


def test_a_busy_server_is_asked_again() -> None:
    answers = [refused(429), (200, {"kind": "Node"}, {})]
    with serving(lambda _: answers.pop(0)) as server:
        opened(server.url).patch_node("node-1", OPERATIONS)
    assert len(server.requests) == 2


def test_any_other_refusal_is_an_error() -> None:
    with (
        serving(lambda _: refused(400, "BadRequest", "no")) as server,
        pytest.raises(MultiarchError, match="patch nodes"),
    ):
        opened(server.url).patch_node("node-1", OPERATIONS)
