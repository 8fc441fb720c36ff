"""Which image runs on a real node of each architecture, and which does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from multiarch.facts.architectures import Architecture
from sandbox.cluster import images
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Kube
from tests.real_nodes.pods import log, namespace, pod, printed, until

AMD64, ARM64 = Architecture
MACHINES = {AMD64: "x86_64", ARM64: "aarch64"}


@pytest.fixture(scope="module", autouse=True)
def _namespace(real_nodes: Nodes) -> Iterator[None]:
    with namespace(real_nodes.plane.kube):
        yield


@pytest.fixture
def kube(ready_nodes: Nodes) -> Kube:
    return ready_nodes.plane.kube


@pytest.mark.parametrize("architecture", Architecture)
def test_a_node_says_which_architecture_it_is(ready_nodes: Nodes, architecture: Architecture) -> None:
    node = ready_nodes.by_architecture[architecture].ready()
    assert node["status"]["nodeInfo"]["architecture"] == str(architecture)
    assert node["metadata"]["labels"]["kubernetes.io/arch"] == str(architecture)
    assert node["status"]["nodeInfo"]["containerRuntimeVersion"] == "containerd://2.4.2"
    assert node["status"]["nodeInfo"]["kubeletVersion"] == ready_nodes.plane.version


@pytest.mark.parametrize("architecture", Architecture)
def test_an_image_for_both_runs_natively_on_both(kube: Kube, architecture: Architecture) -> None:
    name = f"both-{architecture}"
    kube.create(pod(name, images.BOTH, architecture))
    until(kube, name, "running")
    assert printed(kube, name) == f"program {architecture}, machine {MACHINES[architecture]}\n"


@pytest.mark.parametrize("architecture", Architecture)
def test_an_image_that_nothing_here_runs_ends_with_exec_format_error(kube: Kube, architecture: Architecture) -> None:
    name = f"foreign-{architecture}"
    kube.create(pod(name, images.FOREIGN, architecture))
    assert "exec format error" in str(until(kube, name, "terminated")["reached"]) + log(kube, name)


def test_an_index_that_lies_runs_another_program_on_the_emulated_node(kube: Kube) -> None:
    """The machine below the arm64 node is amd64, so this program runs; on Graviton it would not."""
    kube.create(pod("lying", images.LYING, ARM64))
    until(kube, "lying", "running")
    assert printed(kube, "lying").startswith("program amd64, machine ")
