"""Images in a registry, and pods that run them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from sandbox.registry.images import Repository
from tests.registry.server import Server

IMAGES = 1_000
PODS = 10_000
TEAMS = 50


def push(registry: Server) -> list[str]:
    """Push an index for each image, every third without arm64; return their names without the host."""
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
        found.append(f"{name}:v{number}")
    return found


def write_pods(host: str, images: list[str], file: Path) -> None:
    """Write pods as the API server has them, one JSON document per line."""
    # One by one: on Linux, a child's peak is at least that of its parent when it started.
    with file.open("w", encoding="utf-8") as lines:
        for number in range(PODS):
            lines.write(f"{json.dumps(_pod(number, f'{host}/{images[number % IMAGES]}'))}\n")


def _pod(number: int, image: str) -> dict[str, Any]:
    container = {
        "name": "app",
        "image": image,
        "env": [{"name": f"VARIABLE_{each}", "value": "x" * 40} for each in range(20)],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }
    owner = {"kind": "ReplicaSet", "name": f"app-{number % IMAGES}", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"app-{number}", "namespace": f"team-{number % TEAMS}", "ownerReferences": [owner]},
        "spec": {"containers": [container]},
        "status": {"phase": "Running"},
    }
