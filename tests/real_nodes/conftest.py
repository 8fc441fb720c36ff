"""Fixtures of all tests on real nodes."""

from collections.abc import Iterator

import pytest

from sandbox.cluster import cluster
from sandbox.cluster.cluster import Nodes
from tests.cluster.conftest import run
from tests.real_nodes.left import left_of, read_settings

__all__ = ["run"]


@pytest.fixture(scope="package")
def real_nodes() -> Iterator[Nodes]:
    """A control plane of its own, and a containerd of each architecture; :func:`ready_nodes` starts kubelets.

    It goes without a trace.
    """
    before = read_settings()
    with cluster.complete() as nodes:
        assert not nodes.missing, nodes.missing
        yield nodes
    assert left_of(nodes.hosts.parent) == []
    after = read_settings()
    assert None in (before, after) or before == after


@pytest.fixture
def ready_nodes(real_nodes: Nodes) -> Nodes:
    """Both nodes ready, without taints and labels of their own unless a test has started them otherwise."""
    for node in real_nodes.by_architecture.values():
        if node.kubelet is None:
            node.start_kubelet()
    for node in real_nodes.by_architecture.values():
        node.ready()
    return real_nodes
