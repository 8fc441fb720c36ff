"""``multiarch audit images`` of 1,000 images and of 10,000 pods, on a registry on this machine.

Limits: 5 s for 1,000 images; 10,000 pods under 5 s of processor time and 300 MB.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.measure import BIN, Run, run, show
from benchmarks.pods import IMAGES, PODS, push, write_pods
from tests.registry import server

WALL_LIMIT_S = 5.0
CPU_LIMIT_S = 5.0
MEMORY_LIMIT_MB = 300


def _audit(environ: Mapping[str, str], *arguments: str) -> Run:
    return run([str(BIN / "multiarch"), "audit", "images", *arguments, "--output", "json"], env=environ)


def main() -> None:
    """Print each figure with its limit."""
    with tempfile.TemporaryDirectory() as text, server.running() as registry:
        folder = Path(text)
        images = push(registry)
        environ = {**os.environ, "DOCKER_CONFIG": str(folder)}
        listed, pods = folder / "images.txt", folder / "pods.json"
        listed.write_text("".join(f"{registry.host}/{image}\n" for image in images), encoding="utf-8")
        write_pods(registry.host, images, pods)
        show(f"{IMAGES} images", _audit(environ, "--images", str(listed)).wall, WALL_LIMIT_S, "s")
        many = _audit(environ, str(pods))
        show(f"{PODS} pods of {IMAGES} images", many.cpu, CPU_LIMIT_S, "s of processor time")
        show(f"{PODS} pods, peak memory", many.peak_mb, MEMORY_LIMIT_MB, "MB")


if __name__ == "__main__":
    main()
