"""``multiarch audit images`` of 1,000 images and of 10,000 pods, on a registry on this machine.

Limits: 5 s for 1,000 images; 10,000 pods under 5 s of processor time and 300 MB.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.measure import BIN, Run, run, show
from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from sandbox.registry.images import Repository
from tests.registry import server
from tests.registry.server import Server

IMAGES = 1_000
PODS = 10_000
TEAMS = 50
WALL_LIMIT_S = 5.0
CPU_LIMIT_S = 5.0
MEMORY_LIMIT_MB = 300


def _push(registry: Server) -> list[str]:
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


def _write_pods(host: str, images: list[str], file: Path) -> None:
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


def _audit(environ: Mapping[str, str], *arguments: str) -> Run:
    return run([str(BIN / "multiarch"), "audit", "images", *arguments, "--output", "json"], env=environ)


def main() -> None:
    """Print each figure with its limit."""
    with tempfile.TemporaryDirectory() as text, server.running() as registry:
        folder = Path(text)
        images = _push(registry)
        environ = {**os.environ, "DOCKER_CONFIG": str(folder)}
        listed, pods = folder / "images.txt", folder / "pods.json"
        listed.write_text("".join(f"{registry.host}/{image}\n" for image in images), encoding="utf-8")
        _write_pods(registry.host, images, pods)
        show(f"{IMAGES} images", _audit(environ, "--images", str(listed)).wall, WALL_LIMIT_S, "s")
        many = _audit(environ, str(pods))
        show(f"{PODS} pods of {IMAGES} images", many.cpu, CPU_LIMIT_S, "s of processor time")
        show(f"{PODS} pods, peak memory", many.peak_mb, MEMORY_LIMIT_MB, "MB")


if __name__ == "__main__":
    main()
