"""Images in a registry, and a cluster's nodes and pods that run them, for benchmarks of ``audit`` and ``verify``."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from sandbox.cluster.kube import Kube
from sandbox.registry.images import Repository
from tests.registry.server import Server

IMAGES = 1_000
PODS = 10_000
NODES = 500
TEAMS = 50


def push(registry: Server) -> dict[str, str]:
    """Push an index for each image, every third without arm64.

    Return by ``repository:tag`` what a runtime may report: an index, a platform manifest, or a config.
    """
    found = {}
    for number in range(IMAGES):
        name, made = f"team-{number % TEAMS}/app", Repository(name=f"image-{number}")
        architectures = ("amd64",) if number % 3 == 0 else ("amd64", "arm64")
        made.index("latest", {each: each for each in architectures})
        reported: dict[str, str] = {}
        for content in made.contents.values():
            if content.media_type in (OCI_INDEX, OCI_MANIFEST):
                tag = f"v{number}" if content.media_type == OCI_INDEX else None
                registry.push_manifest(name, tag, content.body, content.media_type)
            else:
                registry.push_blob(name, content.body)
            reported.setdefault(content.media_type, content.digest)
        _, config, manifest, index = reported.values()
        by_digest = f"{registry.host}/{name}@"
        found[f"{name}:v{number}"] = (f"{by_digest}{index}", config, f"{by_digest}{manifest}")[number % 3]
    return found


def write_objects(host: str, images: dict[str, str], file: Path) -> None:
    """Write nodes and pods as the API server has them, one JSON document per line."""
    rows = list(images.items())
    # One by one: on Linux, a child's peak is at least that of its parent when it started.
    with file.open("w", encoding="utf-8") as lines:
        for number in range(NODES):
            lines.write(f"{json.dumps(_node(number))}\n")
        for number in range(PODS):
            name, image_id = rows[number % IMAGES]
            lines.write(f"{json.dumps(_pod(number, f'{host}/{name}', image_id))}\n")


def create_pods(kube: Kube, host: str, images: dict[str, str]) -> None:
    """Create the pods and their namespaces; the API server adds its own part to each."""
    rows = list(images.items())
    for number in range(TEAMS):
        meta = {"name": f"team-{number}"}
        kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        account = {"name": "default", "namespace": meta["name"]}
        kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})

    def create(number: int) -> None:
        name, image_id = rows[number % IMAGES]
        made = _pod(number, f"{host}/{name}", image_id)
        del made["metadata"]["ownerReferences"]  # its ReplicaSet would have to be there
        kube.create(made)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(PODS)))


def _node(number: int) -> dict[str, Any]:
    architecture = "arm64" if number % 2 else "amd64"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number}", "labels": {"kubernetes.io/arch": architecture}},
        "spec": {"providerID": f"aws:///eu-west-1a/i-{number:017x}"},
        "status": {"nodeInfo": {"architecture": architecture, "operatingSystem": "linux"}},
    }


def _pod(number: int, image: str, image_id: str) -> dict[str, Any]:
    container = {
        "name": "app",
        "image": image,
        "env": [{"name": f"VARIABLE_{each}", "value": "x" * 40} for each in range(20)],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }
    reported = {"name": "app", "image": image, "imageID": image_id, "containerID": f"containerd://{number:064x}"}
    running = {"state": {"running": {"startedAt": "2026-11-21T10:00:00Z"}}, "ready": True, "restartCount": 0}
    owner = {"kind": "ReplicaSet", "name": f"app-{number % IMAGES}", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"app-{number}", "namespace": f"team-{number % TEAMS}", "ownerReferences": [owner]},
        "spec": {"nodeName": f"node-{number % NODES}", "containers": [container]},
        "status": {"phase": "Running", "containerStatuses": [{**reported, **running}]},
    }
