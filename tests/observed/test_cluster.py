"""The nodes of a live cluster and their pods, read from objects as an API server sends them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.facts.labels import EKS_NODE_GROUP, KARPENTER_CAPACITY_TYPE, KARPENTER_NODE_POOL, ZONE
from multiarch.kubernetes.source import LoadedObject, Source
from multiarch.manifests.owners import WorkloadKey
from multiarch.nodes.model import CapacityType
from multiarch.observed.cluster import UNSCHEDULABLE, ClusterState, Running, read_cluster_state
from multiarch.observed.objects import read_running
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.simulation import settle_pods
from tests.kubernetes.api_server import Answer, Request, serving
from tests.kubernetes.kubeconfigs import opened
from tests.scheduling.manifests import ZONES, container
from tests.stack.words import plan

Object = dict[str, Any]
HASH = "5d4f8c7b9c"


def node(
    name: str, labels: Object | None = None, *, arch: str = "amd64", zone: str = ZONES[0], spec: Object | None = None
) -> Object:
    own = {"kubernetes.io/arch": arch, "kubernetes.io/os": "linux", "kubernetes.io/hostname": name, ZONE: zone}
    own |= {"node.kubernetes.io/instance-type": "m7i.large", **(labels or {})}
    room = {"cpu": "1930m", "memory": "7000Mi", "pods": "29", "ephemeral-storage": "18Gi"}
    metadata = {"name": name, "uid": name, "labels": own}
    return {"kind": "Node", "metadata": metadata, "spec": spec or {}, "status": {"allocatable": room}}


def web(name: str, **more: Any) -> Object:
    return node(name, {EKS_NODE_GROUP: "web-14f859c", "eks.amazonaws.com/capacityType": "SPOT"}, **more)


def pod(name: str, on: str = "", owner: tuple[str, str] | None = ("ReplicaSet", f"api-{HASH}"), **spec: Any) -> Object:
    references = [{"kind": owner[0], "name": owner[1], "controller": True}] if owner else []
    labels = {"app": "api", "pod-template-hash": HASH}
    metadata = {"name": name, "uid": name, "namespace": "shop", "labels": labels, "ownerReferences": references}
    full = {"containers": [container({"cpu": "1", "memory": "1Gi"})], **({"nodeName": on} if on else {}), **spec}
    return {"kind": "Pod", "metadata": metadata, "spec": full, "status": {"phase": "Running" if on else "Pending"}}


def loaded(objects: list[Object]) -> tuple[LoadedObject, ...]:
    return tuple(LoadedObject(each, Source("cluster here")) for each in objects)


def state(nodes: list[Object], *pods: Object, pools: tuple[str, ...] = ()) -> ClusterState:
    running = Running("here", loaded(nodes), loaded(list(pods)), ())
    return read_cluster_state(running, plan().node_groups, pools)


def test_nodes_have_their_group_and_what_the_kubelet_reports() -> None:
    pool = node("two", {KARPENTER_NODE_POOL: "general", KARPENTER_CAPACITY_TYPE: "on-demand"}, zone=ZONES[1])
    found = state([web("one"), pool, node("three", zone=ZONES[2])], pools=("general",))
    assert [(each.name, each.group, each.zone, each.capacity_type) for each in found.nodes] == [
        ("one", "web", ZONES[0], CapacityType.SPOT),
        ("three", "", ZONES[2], None),
        ("two", "general", ZONES[1], CapacityType.ON_DEMAND),
    ]
    assert (found.unknown, found.zones) == (("three",), tuple(ZONES[:2]))
    assert found.nodes[0].instance_type == "m7i.large"
    memory, disk = 7000 * 2**20, 18 * 2**30
    assert found.nodes[0].shape.allocatable == ResourceAmounts(1930, memory, disk, 29)


def test_nodes_that_differ_in_nothing_but_their_names_share_a_shape() -> None:
    one, two = state([web("one"), web("two")]).nodes
    assert one.shape is two.shape
    assert one.shape.node("one", one.zone).labels["kubernetes.io/hostname"] == "one"


def test_a_cordoned_node_has_the_taint_that_the_node_controller_adds() -> None:
    taints = [{"key": "a", "value": "b", "effect": "NoExecute"}]
    (found,) = state([web("one", spec={"unschedulable": True, "taints": taints})]).nodes
    assert [str(each) for each in found.shape.taints] == ["a=b:NoExecute", str(UNSCHEDULABLE)]


def test_pods_are_as_their_controllers_make_them_again() -> None:
    found = state([web("one")], pod("a", "one"), pod("b"), pod("c", "one", None), pod("d", "one", ("DaemonSet", "log")))
    (one,) = found.nodes
    assert [(each.name, each.owner, each.waiting) for each in one.pods] == [
        ("a", WorkloadKey("shop", "Deployment", "api"), True),
        ("c", None, True),
    ]
    assert [each.name for each in found.pending] == ["b"]


def test_a_replica_set_of_its_own_stays_what_it_is() -> None:
    found = state([web("one")], pod("a", "one", ("ReplicaSet", "by-hand")))
    assert found.nodes[0].pods[0].owner == WorkloadKey("shop", "ReplicaSet", "by-hand")


def test_static_pods_take_room_and_are_not_made_again() -> None:
    found = state([web("one")], pod("proxy", "one", ("Node", "one")))
    (one,) = found.nodes
    assert (one.pods, one.shape.allocatable.cpu, one.shape.allocatable.pods) == ((), 930, 28)


def test_what_is_omitted_is_counted() -> None:
    leaving = pod("leaving", "one")
    leaving["metadata"]["deletionTimestamp"] = "2026-11-22T00:00:00Z"
    fargate = node("serverless", {"eks.amazonaws.com/compute-type": "fargate"})
    found = state(
        [web("one"), fargate, node("win", {"kubernetes.io/os": "windows"}), node("p", arch="ppc64le")],
        leaving,
        pod("gated", schedulingGates=[{"name": "quota"}]),
        pod("elsewhere", "serverless"),
    )
    assert [each.name for each in found.nodes] == ["one"]
    assert (found.nodes[0].pods, found.pending) == ((), ())
    assert found.notes == (
        "Omitted: 1 Fargate node(s).",
        "Omitted: 1 node(s) of architecture ppc64le.",
        "Omitted: 1 node(s) with windows.",
        "Omitted: 1 pod(s) being deleted.",
        "Omitted: 1 pod(s) on such a node or on one that is gone.",
        "Omitted: 1 pod(s) with a scheduling gate.",
    )


def test_an_invalid_object_is_an_error_that_names_it() -> None:
    broken = web("one")
    broken["status"]["allocatable"]["cpu"] = "many"
    with pytest.raises(MultiarchError, match=r"cluster here, Node one: status.allocatable.cpu: 'many'"):
        state([broken])
    with pytest.raises(MultiarchError, match=r"cluster here, Pod shop/a: spec.containers"):
        state([web("one")], pod("a", "one", containers=[]))


def test_a_cluster_can_be_settled() -> None:
    made = plan()
    found = state([web("one"), node("other", zone=ZONES[1])], pod("a", "one"), pod("b"), pod("c"))
    context = SimulationContext(found.zones)
    result = settle_pods(made.autoscaling, made.node_groups, context, found.nodes, found.pending)
    assert {each.name: [pod.name for pod in each.pods] for each in result.nodes} == {"one": ["a"], "other": ["b"]}
    assert [pod.name for pod in result.unplaced] == ["c"]


def test_nodes_pods_and_budgets_are_listed_in_the_whole_cluster(tmp_path: Path) -> None:
    def answer(request: Request) -> Answer:
        name = request.path.rpartition("/")[2]
        return 200, {"metadata": {}, "items": [{"metadata": {"name": name, "uid": name}, "spec": {}}]}, {}

    with serving(answer) as server, opened(tmp_path, server.url) as cluster:
        found = read_running(cluster, budgets=True)
        without = read_running(cluster)
    asked = [(request.path, request.query.get("fieldSelector")) for request in server.requests]
    assert asked[:4] == [
        ("/api/v1/pods", "status.phase!=Succeeded,status.phase!=Failed"),
        ("/api/v1/nodes", None),
        ("/apis/apps/v1/daemonsets", None),
        ("/apis/policy/v1/poddisruptionbudgets", None),
    ]
    assert asked[4:] == asked[:3]
    assert (found.name, found.budgets[0].value["kind"], without.budgets) == ("here", "PodDisruptionBudget", ())
