"""The control plane is a real one, and the small client says what the API server says."""

from __future__ import annotations

import pytest

from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for
from tests.cluster import nodes
from tests.cluster.objects import pod, replica_set
from tools import build


@pytest.fixture
def kube(control_plane: ControlPlane) -> Kube:
    return control_plane.kube


def config_map(**data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "words", "namespace": "default"},
        "data": data,
    }


def test_the_api_server_is_the_pinned_one(control_plane: ControlPlane) -> None:
    assert f"k8s.io/kubernetes {control_plane.version}" in (build.TOOLS / "kubernetes" / "go.mod").read_text()


def test_a_node_comes_with_its_status(kube: Kube) -> None:
    """So that nobody ever sees one without memory; see nodes.node."""
    instance = {
        "InstanceId": "i-0123456789abcdef0",
        "InstanceType": "m7g.large",
        "Architecture": "arm64",
        "Placement": {"AvailabilityZone": "us-east-1b"},
        "PrivateDnsName": "ip-10-0-0-7.ec2.internal",
    }
    made = nodes.node(instance, nodes.for_karpenter({}))
    try:
        assert kube.create(made)["status"]["capacity"]["memory"] == "7577Mi"
    finally:
        kube.delete(made)


def test_an_object_is_applied_changed_listed_and_deleted(kube: Kube) -> None:
    kube.apply(config_map(a="1", b="2"))
    kube.apply(config_map(a="3"))
    found = kube.get("v1", "ConfigMap", "words", "default")
    assert found is not None
    assert found["data"] == {"a": "3"}  # server-side apply takes away what is no longer said
    assert "words" in [item["metadata"]["name"] for item in kube.list("v1", "ConfigMap", "default")]
    kube.delete(config_map())
    kube.delete(config_map())
    assert kube.get("v1", "ConfigMap", "words", "default") is None


def test_controllers_make_pods_and_the_scheduler_says_that_there_is_no_node(kube: Kube) -> None:
    owner = replica_set("copies", 2, pod("copies"))
    kube.apply(owner)

    def said() -> str:
        pods = kube.list("v1", "Pod", "default", selector="app=copies")
        reasons = [each.get("message", "") for item in pods for each in item["status"].get("conditions", ())]
        return reasons[0] if len(pods) == 2 and reasons else ""

    assert "no nodes available" in wait_for(said, "the scheduler", timeout=20)
    kube.delete(owner)
    wait_for(lambda: not kube.list("v1", "Pod", "default", selector="app=copies"), "pods to go", timeout=20)
