"""``multiarch audit images`` of 1,000 images and of 10,000 pods, on a registry on this machine.

Limits: 5 s for the images; 10,000 pods of a real API server under 5 s of processor time and 300 MB.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.measure import BIN, Run, run, show
from benchmarks.pods import IMAGES, PODS, create_pods, push
from sandbox.cluster import control_plane
from sandbox.cluster.programs import Programs
from tests.registry import server

LIMIT_S = 5.0
CPU_LIMIT_S = 5.0
MEMORY_LIMIT_MB = 300


def _audit(environ: Mapping[str, str], *arguments: str) -> Run:
    return run([str(BIN / "multiarch"), "audit", "images", *arguments, "--output", "json"], env=environ)


def main() -> None:
    """Print each figure with its limit."""
    with tempfile.TemporaryDirectory() as text, Programs.running() as programs, server.running() as registry:
        folder = Path(text)
        images = push(registry)
        environ = {**os.environ, "DOCKER_CONFIG": str(folder)}
        listed = folder / "images.txt"
        listed.write_text("".join(f"{image}\n" for image in images), encoding="utf-8")
        show(f"{IMAGES} images", _audit(environ, "--images", str(listed)).wall, LIMIT_S, "s")
        plane = control_plane.start(programs)
        # Nobody is to look at the pods but the API server: it takes five times as long otherwise.
        for name in ("kube-scheduler", "kube-controller-manager"):
            programs.stop(programs.named(name))
        create_pods(plane.kube, images)
        many = _audit(environ, "--kubeconfig", str(plane.kubeconfig))
        show(f"{PODS} pods of {IMAGES} images", many.cpu, CPU_LIMIT_S, "s of processor time")
        show(f"{PODS} pods, peak memory", many.peak_mb, MEMORY_LIMIT_MB, "MB")


if __name__ == "__main__":
    main()
