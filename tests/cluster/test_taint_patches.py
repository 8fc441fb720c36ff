"""Missing taints, added to Nodes of a real API server with the rights that the documents name, and with no others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from multiarch.facts.taints import parse_taint
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ConflictError, ForbiddenError
from multiarch.kubernetes.resources import NODES
from multiarch.kubernetes.source import ClusterAccess
from multiarch.observed.nodes import ObservedNode, read_nodes
from multiarch.verify.nodes.taints import TaintFix
from sandbox.cluster.control_plane import ControlPlane, write_kubeconfig
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for
from tests.cluster.reading import account_token, cluster_role
from tests.cluster.temporary import applied
from tests.quotations import ROOT, blocks

NODE = "taint-patches"
ARM = parse_taint("arch=arm64:NoSchedule")


def documented_rules() -> list[Object]:
    """The rules of the ClusterRole in the page on ``verify``."""
    texts = (block.text for block in blocks(ROOT / "docs" / "how-to" / "verify.md") if block.language == "yaml")
    (found,) = [text for text in texts if "kind: ClusterRole" in text and "patch" in text]
    rules: list[Object] = yaml.safe_load(found)["rules"]
    return rules


@pytest.fixture
def kube(control_plane: ControlPlane) -> Iterator[Kube]:
    """A Node with a taint of its own."""
    kube = control_plane.kube
    labels = {"kubernetes.io/arch": "arm64"}  # a Node of unknown architecture is omitted
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE, "labels": labels},
        "spec": {"unschedulable": True},
    }
    kube.create(node)
    wait_for(lambda: _unchanged(kube), "the controllers to leave the new Node alone", timeout=30)
    yield kube
    kube.delete(node)


def _unchanged(kube: Kube) -> bool:
    """Whether nothing writes to the Node for a second: controllers label and taint a new one."""
    before = kube.get("v1", "Node", NODE) or {}
    time.sleep(1)
    after = kube.get("v1", "Node", NODE) or {}
    return bool(before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"])


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[KubernetesCluster]:
    with KubernetesCluster(ClusterAccess(control_plane.kubeconfig)) as opened:
        yield opened


def read(cluster: KubernetesCluster) -> ObservedNode:
    nodes, _ = read_nodes(cluster.objects([NODES], fields=f"metadata.name={NODE}"))
    return nodes[0]


def allowed(work: Callable[[], object]) -> bool:
    """Do something, unless the API server does not allow it yet: it learns of roles a moment after they are made."""
    try:
        work()
    except ForbiddenError:
        return False
    return True


def test_a_node_that_was_changed_since_it_was_read_is_rejected(kube: Kube, cluster: KubernetesCluster) -> None:
    before = read(cluster)
    kube.patch({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(ConflictError, match=f"Node {NODE} was changed meanwhile"):
        cluster.patch(NODES, None, NODE, TaintFix(before, (ARM,)).operations)
    assert ARM not in read(cluster).taints


def test_the_documented_rights_are_enough_and_needed(kube: Kube, control_plane: ControlPlane, tmp_path: Path) -> None:
    token = account_token(kube, NODE, "default", [])
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", control_plane.kube.access, {"token": token})
    rules = documented_rules()
    only_read = [rule for rule in rules if "patch" not in rule["verbs"]]
    with KubernetesCluster(ClusterAccess(kubeconfig)) as cluster:

        def patch() -> None:
            cluster.patch(NODES, None, NODE, TaintFix(read(cluster), (ARM,)).operations)

        with pytest.raises(ForbiddenError, match="may not list nodes in the whole cluster"):
            read(cluster)
        with applied(kube, cluster_role(NODE, only_read)):
            wait_for(lambda: allowed(lambda: read(cluster)), "the right to list nodes", timeout=30)
            with pytest.raises(ForbiddenError, match=f"may not patch nodes {NODE} in the whole cluster"):
                patch()
            kube.apply(cluster_role(NODE, rules)[0])
            wait_for(lambda: allowed(patch), "the right to patch nodes", timeout=30)
            assert ARM in read(cluster).taints
