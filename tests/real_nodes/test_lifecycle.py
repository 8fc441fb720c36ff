"""``make cluster`` and ``make cluster-down``: nothing is left, whatever was killed in between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from multiarch.errors import OutsideError
from multiarch.facts.architectures import Architecture
from sandbox import processes
from sandbox.cluster import images, machine
from sandbox.cluster.control_plane import read_kubeconfig
from sandbox.cluster.kube import Kube
from sandbox.layout import CLONE
from tests.real_nodes.left import left_of, read_settings
from tests.real_nodes.pods import SPACE, pod, wait_until_running

STACKS = CLONE / "config" / "stacks"
KILLED = ("sandbox.cluster", "sandbox.cluster.leftovers", "containerd")


def sandbox(project: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox", "--project", str(project), *words],
        cwd=CLONE, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_cluster_comes_up_and_goes_without_a_trace_whatever_was_killed(tmp_path: Path) -> None:
    """Where nothing was killed, the end of the fixture ``real_nodes`` shows the same."""
    stacks = tmp_path / "config" / "stacks"
    stacks.mkdir(parents=True)
    for file, folder in ((CLONE / "Pulumi.yaml", tmp_path), (STACKS / "Pulumi.checkout-dev.yaml", stacks)):
        shutil.copy(file, folder)
    before = read_settings()
    try:
        told = sandbox(tmp_path, "cluster", "up", "checkout-dev")
        assert "node-amd64: amd64\n" in told
        assert "node-arm64: arm64\n" in told
        kubeconfig = Path(told.partition("export KUBECONFIG=")[2].splitlines()[0])
        folder, kube = kubeconfig.parents[1], Kube(read_kubeconfig(kubeconfig))
        assert sandbox(tmp_path, "cluster", "up") == told  # it is up already
        taints = (kube.get("v1", "Node", "node-arm64") or {})["spec"]["taints"]
        assert {"key": "arch", "value": "arm64", "effect": "NoSchedule"} in taints
        assert "node-arm64: arm64" in sandbox(tmp_path, "cluster", "status")
        kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        for architecture in Architecture:
            kube.create(pod(f"runs-{architecture}", images.BOTH, architecture))
            wait_until_running(kube, f"runs-{architecture}")
        assert any(str(folder) in line for line in left_of(folder))
        for pid, words in processes.command_lines():
            named = any(folder.name in word or str(tmp_path) in word for word in words)
            if named and any(word in KILLED or Path(word).name in KILLED for word in words[:3]):
                os.kill(pid, signal.SIGKILL)
    finally:
        sandbox(tmp_path, "cluster", "down")
    assert left_of(folder) == []
    assert sorted(place.name for place in tmp_path.iterdir()) == ["Pulumi.yaml", "config"]
    after = read_settings()
    assert None in (before, after) or before == after
    assert "no cluster" in sandbox(tmp_path, "cluster", "status")


def test_real_nodes_need_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(OutsideError, match="Real nodes need root"):
        machine.native_architecture()
