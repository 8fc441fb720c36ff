"""What the node's script says on real nodes agrees with containerd, the kubelet and the images."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.verify.on_node.model import NodeReport, RunningContainer
from multiarch.verify.on_node.report import parse_report
from multiarch.verify.on_node.script import build_node_script
from sandbox.cluster import images
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.node import Node
from tests.real_nodes.on_node import command_prefix
from tests.real_nodes.pods import namespace, pod, until

AMD64, ARM64 = Architecture


@pytest.fixture(scope="module", autouse=True)
def _namespace(real_nodes: Nodes) -> Iterator[None]:
    with namespace(real_nodes.plane.kube):
        yield


def report(node: Node, *, containers: bool = False) -> NodeReport:
    command = [*command_prefix(node), "/bin/sh", "-c", build_node_script(containers=containers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == ""
    return parse_report(done.stdout)


def running(nodes: Nodes, name: str, image: str, architecture: Architecture, **more: str) -> Mapping[str, Any]:
    """Run a pod of this image, and return its container's status."""
    made = pod(name, image, architecture)
    made["spec"]["containers"][0].update(more)
    nodes.plane.kube.create(made)
    return until(nodes.plane.kube, name, "running")


def reported(node: Node, status: Mapping[str, Any]) -> RunningContainer:
    """The report about the container of a pod."""
    container_id = status["containerID"].removeprefix("containerd://")
    (found,) = (each for each in report(node, containers=True).containers if each.container_id == container_id)
    return found


def target(node: Node, image: str) -> str:
    """The digest that an image's name means to containerd."""
    rows = (row.split() for row in node.ctr("images", "ls").splitlines())
    return next(row[2] for row in rows if row[0] == image)


def child(node: Node, index: str, architecture: Architecture) -> str:
    """The digest of an index's manifest for an architecture."""
    entries = json.loads(node.ctr("content", "get", index))["manifests"]
    return next(str(each["digest"]) for each in entries if each["platform"]["architecture"] == str(architecture))


def config(node: Node, manifest: str) -> str:
    """The digest of a manifest's config."""
    return str(json.loads(node.ctr("content", "get", manifest))["config"]["digest"])


@pytest.mark.parametrize("architecture", Architecture)
def test_a_node_says_how_its_kubelet_registers_it(real_nodes: Nodes, architecture: Architecture) -> None:
    node = real_nodes.by_architecture[architecture]
    if node.kubelet is not None:
        node.stop_kubelet()
    taints = [{"key": "arch", "value": str(architecture), "effect": "NoSchedule"}]
    node.start_kubelet([], {"registerWithTaints": taints})
    try:
        registered = node.ready()
        found = report(node)
    finally:
        node.stop_kubelet()

    assert found.architecture is architecture
    for program in found.programs[:2]:  # the kubelet and containerd
        assert program.elf is not None
        assert program.elf.architecture is architecture
    versions = {each.name: each.version for each in found.programs}
    information = registered["status"]["nodeInfo"]
    assert versions["kubelet"] == information["kubeletVersion"]
    assert f"containerd://{versions['containerd'].removeprefix('v')}" == information["containerRuntimeVersion"]
    assert [f"arch={architecture}:NoSchedule"] == [str(taint) for taint in found.taints or ()]
    assert taints[0] in registered["spec"]["taints"]


@pytest.mark.parametrize("architecture", Architecture)
def test_containers_have_the_manifest_that_containerd_chose(ready_nodes: Nodes, architecture: Architecture) -> None:
    node, name = ready_nodes.by_architecture[architecture], f"pulled-{architecture}"
    by_tag = running(ready_nodes, f"{name}-tag", images.BOTH, architecture)
    index = target(node, images.BOTH)
    manifest = child(node, index, architecture)
    repository = images.BOTH.rpartition(":")[0]
    by_index = running(ready_nodes, f"{name}-index", f"{repository}@{index}", architecture)
    by_manifest = running(ready_nodes, f"{name}-manifest", f"{repository}@{manifest}", architecture)

    for status in (by_tag, by_index, by_manifest):
        found = reported(node, status)
        assert (found.manifest, found.config) == (manifest, config(node, manifest))
        assert found.elf is not None
        assert found.elf.architecture is architecture
        assert found.emulator == ("qemu-aarch64-static" if node.settings.emulated else "")
        assert (found.executable, found.fault) == ("/bin/service", "")


def test_a_program_for_another_architecture_is_found(ready_nodes: Nodes) -> None:
    status = running(ready_nodes, "on-node-lying", images.LYING, ARM64)
    found = reported(ready_nodes.by_architecture[ARM64], status)

    assert found.elf is not None
    assert (found.elf.architecture, found.emulator) == (AMD64, "")


def test_a_program_that_an_emulator_runs_is_found_on_the_other_node(ready_nodes: Nodes) -> None:
    """A digest of arm64's manifest in a manifest for every node: the kernel runs it through qemu on amd64."""
    node = ready_nodes.by_architecture[AMD64]
    running(ready_nodes, "on-node-both", images.BOTH, AMD64)
    foreign = child(node, target(node, images.BOTH), ARM64)
    image = f"{images.BOTH.rpartition(':')[0]}@{foreign}"
    found = reported(node, running(ready_nodes, "on-node-emulated", image, AMD64))

    assert found.elf is not None
    assert (found.elf.architecture, found.emulator) == (ARM64, "qemu-aarch64-static")
    assert found.manifest == foreign
