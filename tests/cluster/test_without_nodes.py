"""The control plane of the sandbox's official Kubernetes provider: without nodes, and its pods count as ready."""

from __future__ import annotations

from pathlib import Path

from sandbox import processes
from sandbox.cluster import lifecycle
from sandbox.cluster.control_plane import read_kubeconfig
from sandbox.cluster.kube import Kube
from sandbox.cluster.programs import wait_for
from tests.cluster.objects import workload_of

_REPLICAS = 2
DEPLOYMENT = workload_of("Deployment", "api", "default", replicas=_REPLICAS)


def test_a_deployment_becomes_available_without_a_node_and_nothing_is_left(tmp_path: Path) -> None:
    state = tmp_path / "control-plane"
    found = lifecycle.up(state, print, nodes=False)
    try:
        kube = Kube(read_kubeconfig(Path(found.kubeconfig)))
        assert kube.list("v1", "Node") == []
        kube.create(DEPLOYMENT)

        def available() -> bool:
            made = kube.get("apps/v1", "Deployment", "api", "default") or {}
            return bool(made.get("status", {}).get("availableReplicas") == _REPLICAS)

        wait_for(available, "the deployment", timeout=30)
        assert lifecycle.up(state, print, nodes=False) == found
    finally:
        assert lifecycle.down(state)
    assert processes.of_folder(state) == []
    assert not Path(found.folder).exists()
