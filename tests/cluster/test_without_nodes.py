"""The control plane of the sandbox's official Kubernetes provider: without nodes, and its pods count as ready."""

from __future__ import annotations

import json
from pathlib import Path

from sandbox import processes
from sandbox.cluster import lifecycle
from sandbox.cluster.kube import Access, Kube
from sandbox.cluster.programs import wait_for

_REPLICAS = 2
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "api", "namespace": "default"},
    "spec": {
        "replicas": _REPLICAS,
        "selector": {"matchLabels": {"app": "api"}},
        "template": {
            "metadata": {"labels": {"app": "api"}},
            "spec": {"containers": [{"name": "api", "image": "registry.example.com/api:1"}]},
        },
    },
}


def test_a_deployment_becomes_available_without_a_node_and_nothing_is_left(tmp_path: Path) -> None:
    state = tmp_path / "control-plane"
    found = lifecycle.up(state, print, nodes=False)
    try:
        config = json.loads(Path(found.kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        kube = Kube(Access(cluster["server"], Path(cluster["certificate-authority"]), user["token"]))
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
