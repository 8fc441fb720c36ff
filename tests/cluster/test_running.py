"""The state of a cluster, read from a real API server with real controllers: owners of pods, taints of nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from multiarch.kubernetes.cluster import open_cluster
from multiarch.kubernetes.source import ClusterAccess
from multiarch.manifests.objects import Owner
from multiarch.observed.cluster import UNSCHEDULABLE, ClusterState, read_cluster_state
from multiarch.observed.objects import read_running
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import wait_for
from tests.cluster.reading import namespace
from tests.cluster.temporary import applied
from tests.stack.words import plan

SPACE = "running"
NODE = "running-node"
REPLICAS = 2
LABELS = {"app": SPACE}


def node(*, cordoned: bool) -> Object:
    labels = {
        "eks.amazonaws.com/nodegroup": "web-14f859c",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": "eu-west-1a",
    }
    room = {"cpu": "2", "memory": "4Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE, "labels": labels},
        "spec": {"unschedulable": cordoned},
        "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def deployment() -> Object:
    container = {"name": "a", "image": "a", "resources": {"requests": {"cpu": "100m"}}}
    # It requires a label that no node has, so that its pods stay pending.
    spec = {"containers": [container], "nodeSelector": {"example.com/nowhere": "true"}}
    template = {"metadata": {"labels": LABELS}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "api", "namespace": SPACE},
        "spec": {"replicas": REPLICAS, "selector": {"matchLabels": LABELS}, "template": template},
    }


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A cordoned node, and a Deployment whose pods wait."""
    with applied(control_plane.kube, [namespace(SPACE), node(cordoned=True), deployment()]):
        yield control_plane


def state(plane: ControlPlane) -> ClusterState:
    with open_cluster(ClusterAccess(plane.kubeconfig)) as cluster:
        return read_cluster_state(read_running(cluster, budgets=True), plan().node_groups, ())


def test_pods_are_of_their_deployment_and_a_cordoned_node_takes_none(plane: ControlPlane) -> None:
    def pods() -> list[Owner | None]:
        return [each.owner for each in state(plane).pending if each.namespace == SPACE]

    wait_for(lambda: len(pods()) == REPLICAS, "the pods of the Deployment", timeout=30)
    assert pods() == [Owner("Deployment", "api")] * REPLICAS
    (found,) = [each for each in state(plane).nodes if each.name == NODE]
    assert (found.group, found.zone, found.shape.max_pods) == ("web", "eu-west-1a", 10)
    assert UNSCHEDULABLE in found.shape.taints

    def tainted() -> bool:
        stored = plane.kube.get("v1", "Node", NODE)
        taints = (stored or {})["spec"].get("taints") or []
        return any(each["key"] == UNSCHEDULABLE.key and each["effect"] == UNSCHEDULABLE.effect for each in taints)

    wait_for(tainted, "the node controller's own taint", timeout=30)
    (found,) = [each for each in state(plane).nodes if each.name == NODE]
    assert found.shape.taints.count(UNSCHEDULABLE) == 1
