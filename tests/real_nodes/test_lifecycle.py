"""``make cluster`` and ``make cluster-down``: nothing is left, whatever was killed in between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from multiarch.facts.architectures import Architecture
from sandbox import processes
from sandbox.cluster import binfmt, cgroups, images, machine
from sandbox.cluster.kube import Access, Kube
from sandbox.layout import CLONE, read_yaml
from tests.real_nodes.pods import SPACE, pod, until

STACKS = CLONE / "config" / "stacks"


def sandbox(project: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox", "--project", str(project), *words],
        cwd=CLONE, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def kube_of(kubeconfig: Path) -> Kube:
    content = read_yaml(kubeconfig)
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    return Kube(Access(cluster["server"], Path(cluster["certificate-authority"]), user["token"]))


def left_of(folder: Path) -> list[str]:
    """What is left of a cluster: processes, mounts, control groups, links, files, its claim on binfmt_misc."""
    mark = folder.name
    programs = [" ".join(words) for _, words in processes.command_lines() if any(mark in word for word in words)]
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if mark in line]
    groups = [str(root / mark) for root in cgroups.hierarchies() if (root / mark).exists()]
    files = [str(place) for place in (folder, Path("/run") / mark, machine.USERS / mark) if place.exists()]
    files += [str(place) for place in Path("/var/lib/cni/results").glob(f"{mark}*")]
    if not any(machine.USERS.glob("*")):
        files += [str(place) for place in (machine.NOTES, binfmt.ENTRIES / binfmt.NAME) if place.exists()]
    return [*programs, *mounts, *groups, *files]


@pytest.mark.parametrize(
    "killed", [(), ("sandbox.cluster", "sandbox.cluster.leftovers", "containerd")], ids=["", "killed"]
)
def test_a_cluster_comes_up_and_goes_without_a_trace(tmp_path: Path, killed: tuple[str, ...]) -> None:
    stacks = tmp_path / "config" / "stacks"
    stacks.mkdir(parents=True)
    for file, folder in ((CLONE / "Pulumi.yaml", tmp_path), (STACKS / "Pulumi.checkout-dev.yaml", stacks)):
        shutil.copy(file, folder)
    settings = Path("/proc/sys/vm/overcommit_memory").read_text()
    try:
        told = sandbox(tmp_path, "cluster", "up", "checkout-dev")
        assert "node-amd64: amd64\n" in told
        assert "node-arm64: arm64\n" in told
        kubeconfig = Path(told.partition("export KUBECONFIG=")[2].splitlines()[0])
        folder, kube = kubeconfig.parents[1], kube_of(kubeconfig)
        assert sandbox(tmp_path, "cluster", "up") == told  # it is up already
        taints = (kube.get("v1", "Node", "node-arm64") or {})["spec"]["taints"]
        assert {"key": "arch", "value": "arm64", "effect": "NoSchedule"} in taints
        assert "node-arm64: arm64" in sandbox(tmp_path, "cluster", "status")
        kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        for architecture in Architecture:
            kube.create(pod(f"runs-{architecture}", images.BOTH, architecture))
            until(kube, f"runs-{architecture}", "running")
        assert any(str(folder) in line for line in left_of(folder))
        for pid, words in processes.command_lines():
            named = any(folder.name in word or str(tmp_path) in word for word in words)
            if named and any(word in killed or Path(word).name in killed for word in words[:3]):
                os.kill(pid, signal.SIGKILL)
    finally:
        sandbox(tmp_path, "cluster", "down")
    assert left_of(folder) == []
    assert sorted(place.name for place in tmp_path.iterdir()) == ["Pulumi.yaml", "config"]
    if not any(machine.USERS.glob("*")):
        assert Path("/proc/sys/vm/overcommit_memory").read_text() == settings
    assert "no cluster" in sandbox(tmp_path, "cluster", "status")
