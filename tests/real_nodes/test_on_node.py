"""What the node's script says of a real kubelet agrees with the Node that it registers."""

from __future__ import annotations

import subprocess

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.verify.on_node.report import parse_report
from multiarch.verify.on_node.script import build_node_script
from sandbox.cluster.cluster import Nodes
from tests.real_nodes.on_node import command_prefix


@pytest.mark.parametrize("architecture", Architecture)
def test_a_node_says_how_its_kubelet_registers_it(real_nodes: Nodes, architecture: Architecture) -> None:
    node = real_nodes.by_architecture[architecture]
    if node.kubelet is not None:
        node.stop_kubelet()
    taints = [{"key": "arch", "value": str(architecture), "effect": "NoSchedule"}]
    node.start_kubelet(["--node-labels=team=payments,pool=api"], {"registerWithTaints": taints})
    try:
        registered = node.ready()
        command = [*command_prefix(node), "/bin/sh", "-c", build_node_script()]
        found = parse_report(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    finally:
        node.stop_kubelet()

    programs = {each.name: each for each in found.programs}
    elves = [elf for name in ("kubelet", "containerd") if (elf := programs[name].elf) is not None]
    assert [found.architecture, *(elf.architecture for elf in elves)] == [architecture] * 3
    information = registered["status"]["nodeInfo"]
    assert programs["kubelet"].version == information["kubeletVersion"]
    assert f"containerd://{programs['containerd'].version.removeprefix('v')}" == information["containerRuntimeVersion"]
    assert found.labels == {"team": "payments", "pool": "api"}
    assert found.labels.items() <= registered["metadata"]["labels"].items()
    assert [f"arch={architecture}:NoSchedule"] == [str(taint) for taint in found.taints or ()]
    assert taints[0] in registered["spec"]["taints"]
