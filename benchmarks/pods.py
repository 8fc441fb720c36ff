"""Images in a registry, and a cluster's pods that run them, for the benchmark of ``audit images``."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from sandbox.cluster.kube import Kube
from sandbox.registry.images import Repository
from tests.registry.server import Server

IMAGES = 1_000
PODS = 10_000
TEAMS = 50


def push(registry: Server) -> list[str]:
    """Push an index for each image, every third without arm64; return their references."""
    found = []
    for number in range(IMAGES):
        name, made = f"team-{number % TEAMS}/app", Repository(name=f"image-{number}")
        architectures = ("amd64",) if number % 3 == 0 else ("amd64", "arm64")
        made.index("latest", {each: each for each in architectures})
        for content in made.contents.values():
            if content.media_type in (OCI_INDEX, OCI_MANIFEST):
                tag = f"v{number}" if content.media_type == OCI_INDEX else None
                registry.push_manifest(name, tag, content.body, content.media_type)
            else:
                registry.push_blob(name, content.body)
        found.append(f"{registry.host}/{name}:v{number}")
    return found


def create_pods(kube: Kube, images: Sequence[str]) -> None:
    """Create the pods and their namespaces; the API server adds its own part to each."""
    for number in range(TEAMS):
        meta = {"name": f"team-{number}"}
        kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        account = {"name": "default", "namespace": meta["name"]}
        kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})

    def create(number: int) -> None:
        # Answers are not kept: on Linux, a child's peak is at least the memory of its parent when it started.
        kube.create(_pod(number, images[number % IMAGES]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(PODS)))


def _pod(number: int, image: str) -> dict[str, Any]:
    container = {
        "name": "app",
        "image": image,
        "env": [{"name": f"VARIABLE_{each}", "value": "x" * 40} for each in range(20)],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"app-{number}", "namespace": f"team-{number % TEAMS}"},
        "spec": {"containers": [container]},
    }
