"""The node's script in root file systems of both architectures, arm64 through qemu."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.verify.on_node.script import build_node_script
from tests.real_nodes import roots
from tests.real_nodes.machines import Machine, emulation, tree

_AMD64, _ARM64 = Architecture
_CONFIG = {
    "kind": "KubeletConfiguration",
    "registerWithTaints": [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}],
    "containerRuntimeEndpoint": "unix:///node/containerd.sock",
    "staticPodURLHeader": {"Authorization": ["a secret"]},
}
_YAML = """\
kind: KubeletConfiguration
# registerWithTaints: []
registerWithTaints:
- key: arch
  value: arm64
  effect: NoSchedule
staticPodURLHeader: {Authorization: [a secret]}
"""


@pytest.fixture(scope="module", autouse=True)
def _emulation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with emulation(tmp_path_factory.mktemp("emulation")):
        yield


def machine(folder: Path, architecture: Architecture) -> Machine:
    return Machine(roots.ensure(architecture), folder)


@pytest.mark.parametrize("architecture", [_ARM64, _AMD64])
def test_a_node_of_each_architecture_says_what_it_is(tmp_path: Path, architecture: Architecture) -> None:
    node = machine(tmp_path, architecture)
    node.write("config.json", json.dumps(_CONFIG))
    node.start_kubelet("--config", "/node/config.json", "--node-labels=team=payments")
    node.start_containerd()
    found = node.report()

    assert found.architecture is architecture
    assert found.distribution.startswith("Debian")
    assert {each.name: each.elf and each.elf.architecture for each in found.programs} == dict.fromkeys(
        ("kubelet", "containerd", "runc"), architecture
    )
    assert all(re.match(r"\d+\.\d+", each.version) for each in found.programs[1:])
    assert found.labels == {"team": "payments"}
    assert [str(taint) for taint in found.taints or ()] == ["arch=arm64:NoSchedule"]
    assert found.faults == ()


@pytest.mark.parametrize(
    "shell", [("/bin/dash",), ("/bin/bash",), ("/bin/busybox", "ash")], ids=lambda words: words[-1]
)
def test_every_shell_says_the_same(tmp_path: Path, shell: tuple[str, ...]) -> None:
    node = machine(tmp_path, _AMD64)
    node.write("config.yaml", _YAML)
    node.write("drop-ins/10-labels.conf", "{}")
    node.start_kubelet("--config=/node/config.yaml", "--config-dir=/node/drop-ins", "--node-labels", "team=payments")
    text = node.run(build_node_script(), by=shell)
    found = node.report(by=shell)

    assert "secret" not in text
    assert found.labels == {"team": "payments"}
    assert [str(taint) for taint in found.taints or ()] == ["arch=arm64:NoSchedule"]
    assert [each.elf and each.elf.architecture for each in found.programs] == [_AMD64] * 3
    assert all(re.match(r"\d+\.\d+", each.version) for each in found.programs[1:])


@pytest.mark.parametrize("containers", [False, True])
@pytest.mark.parametrize("architecture", Architecture)
def test_it_writes_nothing(tmp_path: Path, architecture: Architecture, *, containers: bool) -> None:
    node = machine(tmp_path, architecture)
    node.start_kubelet("--node-labels=team=payments")
    folders = node.make_writable()
    before = tree(folders)
    found = node.report(containers=containers)

    assert tree(folders) == before
    assert found.architecture is architecture


def test_a_drop_in_replaces_the_taints(tmp_path: Path) -> None:
    node = machine(tmp_path, _AMD64)
    node.write("config.json", json.dumps(_CONFIG))
    node.write("drop-ins/20.conf", json.dumps({"registerWithTaints": []}))
    node.write("drop-ins/10.conf", json.dumps(_CONFIG))
    node.write("drop-ins/30.txt", json.dumps(_CONFIG))
    node.start_kubelet("--config=/node/config.json", "--config-dir=/node/drop-ins")

    assert node.report().taints == ()


def test_a_kubelet_for_another_architecture_is_found(tmp_path: Path) -> None:
    node = machine(tmp_path, _AMD64)
    static = roots.ensure(_ARM64) / "usr/bin/busybox"
    node.write("bin/note", "")
    (node.node / "bin/kubelet").write_bytes(static.read_bytes())
    (node.node / "bin/kubelet").chmod(0o755)
    found = node.report(by=("/usr/bin/env", "PATH=/node/bin:/usr/bin", "/bin/sh"))
    kubelet = found.programs[0]

    assert kubelet.elf is not None
    assert (kubelet.path, kubelet.elf.architecture) == ("/node/bin/kubelet", _ARM64)
    assert found.architecture is _AMD64
    assert (found.labels, found.taints) == (None, None)


def test_a_node_without_a_kubelet_shows_its_boot_log_without_secrets(tmp_path: Path) -> None:
    node = machine(tmp_path, _AMD64)
    lines = [
        *(f"line {number}" for number in range(50)),
        "bootstrap.sh --b64-cluster-ca LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM",
        "AWS_SESSION_TOKEN=IQoJb3JpZ2luX2VjEHsaCXVz",
        "/usr/bin/kubelet: cannot execute binary file: Exec format error",
    ]
    node.write("log/cloud-init-output.log", "\n".join(lines) + "\n")
    node.write("log/messages", "Nov 22 10:00:00 ip-10-0-0-1 kubelet: E1122 failed to run Kubelet: no such host\n")
    found = node.report()

    assert len(found.boot_log) == 16
    assert found.boot_log[-4:] == (
        "cloud-init-output.log: bootstrap.sh --b64-cluster-ca [masked]",
        "cloud-init-output.log: AWS_SESSION_TOKEN=[masked]",
        "cloud-init-output.log: /usr/bin/kubelet: cannot execute binary file: Exec format error",
        "journal: Nov 22 10:00:00 ip-10-0-0-1 kubelet: E1122 failed to run Kubelet: no such host",
    )


def test_bottlerocket_is_asked_through_its_api(tmp_path: Path) -> None:
    node = machine(tmp_path, _AMD64)
    settings = {"kubernetes": {"node-labels": {"team": "a"}, "node-taints": {"arch": ["arm64:NoSchedule"]}}}
    answer = {"os": {"pretty_name": "Bottlerocket OS 1.42.0"}, "settings": settings}
    node.write("answer.json", json.dumps(answer, indent=2))
    wanted = "get os settings.kubernetes.node-labels settings.kubernetes.node-taints"
    node.write("bin/apiclient", f'#!/bin/sh\n[ "$*" = "{wanted}" ] && cat /node/answer.json\n')
    (node.node / "bin/apiclient").chmod(0o755)
    shell = ("/usr/bin/env", "PATH=/node/bin:/usr/bin", "/bin/sh")
    found = node.report(by=shell)

    assert (found.distribution, found.labels) == ("Bottlerocket OS 1.42.0", {"team": "a"})
    assert [str(taint) for taint in found.taints or ()] == ["arch=arm64:NoSchedule"]
    assert node.report(containers=True, by=shell).faults == (
        "Bottlerocket's control container can't see the node's containers",
    )


def test_another_runtime_than_containerd_is_a_fault(tmp_path: Path) -> None:
    node = machine(tmp_path, _AMD64)
    node.start_kubelet("--container-runtime-endpoint=unix:///run/crio/crio.sock")

    assert node.report(containers=True).faults == (
        "the kubelet uses unix:///run/crio/crio.sock: containers can be read from containerd only",
    )
