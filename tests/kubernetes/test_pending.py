"""Nodes are counted by what made them; what is read of objects is what is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.facts.labels import EKS_NODE_GROUP, KARPENTER_NODE_POOL
from multiarch.kubernetes.pending import NodeCounts, count_nodes, read_pending
from multiarch.kubernetes.resources import lean
from multiarch.kubernetes.source import LoadedObject, Source
from tests.kubernetes.api_server import Answer, Request, refused, serving
from tests.kubernetes.kubeconfigs import opened
from tests.stack.words import plan


def node(**labels: str) -> LoadedObject:
    return LoadedObject({"kind": "Node", "metadata": {"labels": labels or None}}, Source("cluster here"))


def test_nodes_are_counted_by_the_group_or_pool_that_made_them() -> None:
    groups = plan().node_groups
    assert [group.name for group in groups] == ["web", "web-arm"]
    zone = "topology.kubernetes.io/zone"
    nodes = [
        node(**{EKS_NODE_GROUP: "web-14f859c", zone: "b"}),
        node(**{EKS_NODE_GROUP: "web-14f859c", zone: "a"}),
        node(**{EKS_NODE_GROUP: "web-arm-a10fc5e", zone: "a"}),
        node(**{KARPENTER_NODE_POOL: "spot", zone: "a"}),
        node(**{KARPENTER_NODE_POOL: "another-teams"}),
        node(**{EKS_NODE_GROUP: "web"}),
        node(),
    ]
    assert count_nodes(nodes, groups, ["spot"]) == NodeCounts(
        by_group=(("spot", 1), ("web", 2), ("web-arm", 1)), others=3, zones=("a", "b")
    )


def test_pods_that_wait_are_told_apart(tmp_path: Path) -> None:
    pods: list[dict[str, Any]] = [
        {"metadata": {"name": "waits", "uid": "1"}, "spec": {"containers": []}},
        {"metadata": {"name": "gated", "uid": "2"}, "spec": {"schedulingGates": [{"name": "quota"}]}},
        {"metadata": {"name": "goes", "uid": "3", "deletionTimestamp": "2026-11-21T00:00:00Z"}, "spec": {}},
    ]

    def answer(request: Request) -> Answer:
        if request.path == "/api/v1/namespaces/gone":
            return refused(404, "NotFound")
        items = pods if request.path.endswith("/pods") else []
        return 200, {"metadata": {}, "items": items}, {}

    with serving(answer) as server, opened(tmp_path, server.url) as cluster:
        found = read_pending(cluster, namespaces=["shop"], selector="app=a")
        with pytest.raises(MultiarchError, match="There is no namespace gone in the cluster of context here"):
            read_pending(cluster, namespaces=["shop", "gone"])
    assert [each.value["metadata"]["name"] for each in found.pods] == ["waits"]
    assert [each.value["metadata"]["name"] for each in found.gated] == ["gated"]
    asked = {request.path: request.query for request in server.requests}
    assert asked["/api/v1/namespaces/shop/pods"] == {
        "limit": "500",
        "labelSelector": "app=a",
        "fieldSelector": "status.phase=Pending,spec.nodeName=",
    }
    assert "labelSelector" not in asked["/apis/apps/v1/daemonsets"]


@pytest.mark.parametrize(
    "around",
    [
        lambda pod: {"kind": "Pod", "spec": pod},
        lambda pod: {"kind": "Deployment", "spec": {"template": {"spec": pod}}},
        lambda pod: {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}},
    ],
)
def test_environments_and_commands_are_left_out_of_every_kind(around: Any) -> None:  # noqa: ANN401
    hidden = {"env": [{"name": "A", "value": "hidden"}], "command": ["hidden"], "args": ["--password=hidden"]}
    pod = {key: [{"name": "a", "image": "b", **hidden}] for key in ("containers", "initContainers")}
    made = around(pod)
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "hidden", "team": "shop"}
    made["metadata"] = {"annotations": applied, "managedFields": [{"manager": "hidden"}]}
    kept = lean(made)
    assert "hidden" not in str(kept)
    assert pod["containers"] == [{"name": "a", "image": "b"}]
    assert kept["metadata"] == {"annotations": {"team": "shop"}}


def test_objects_without_anything_to_leave_out_stay_as_they_are() -> None:
    for value in ({"kind": "Pod"}, {"kind": "Node", "status": None}, {"kind": "Job", "metadata": None, "spec": None}):
        assert lean(dict(value)) == value
