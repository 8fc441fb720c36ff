"""``multiarch audit images`` of 1,000 images and of 10,000 pods, against crane in a loop, on a registry 20 ms away.

Compared with ``crane manifest`` of the same 1,000 images in the same run, one after the other and with ``xargs -P 16``;
those only fetch, the audit also judges. Limits: a cold audit at least 30 and 4 times as fast;
a warm one under 1 s; 10,000 pods under 5 s of processor time and 300 MB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import BIN, Run, run, show
from benchmarks.pods import IMAGES, PODS, push, write_objects
from tests.registry import server
from tests.registry.server import Server
from tools import build

ROUND_TRIP_MS = 20
SEQUENTIAL_FACTOR = 30
PARALLEL_FACTOR = 4
WARM_LIMIT_S = 1.0
CPU_LIMIT_S = 5.0
MEMORY_LIMIT_MB = 300


@contextmanager
def _far_away(registry: Server) -> Iterator[str]:
    """The registry's address with the latency."""
    port = registry.host.rpartition(":")[2]
    command = [sys.executable, str(Path(__file__).with_name("latency.py")), port, str(ROUND_TRIP_MS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as proxy:
        try:
            port = proxy.stdout.readline() if proxy.stdout else ""
            yield f"127.0.0.1:{int(port)}"
        finally:
            proxy.terminate()


def _audit(environ: Mapping[str, str], *arguments: str) -> Run:
    return run([str(BIN / "multiarch"), "audit", "images", *arguments, "--output", "json"], env=environ)


def _factor(name: str, peer: Run, ours: Run, required: float) -> None:
    """Print how much longer crane takes, as a ratio of the required factor: up to 1.00 is within the limit."""
    times = peer.wall / ours.wall
    print(f"{name}: {peer.wall:.2f} s, {times:.1f} times as long, required {required:g}, ratio {required / times:.2f}")


def main() -> None:
    """Print each figure with its limit."""
    crane = build.ensure("crane")
    with tempfile.TemporaryDirectory() as text, server.running() as registry:
        folder = Path(text)
        images = push(registry)
        environ = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "DOCKER_CONFIG": str(folder)}
        with _far_away(registry) as host:
            listed, pods = folder / "images.txt", folder / "pods.json"
            listed.write_text("".join(f"{host}/{image}\n" for image in images), encoding="utf-8")
            write_objects(host, images, pods)
            cold = _audit(environ, "--images", str(listed))
            print(f"{IMAGES} images, cold: {cold.wall:.2f} s, {cold.cpu:.2f} s of processor time", flush=True)
            warm = _audit(environ, "--images", str(listed))
            show(f"{IMAGES} images, warm", warm.wall, WARM_LIMIT_S, "s")
            many = _audit(environ, str(pods), "--no-cache")
            show(f"{PODS} pods of {IMAGES} images", many.cpu, CPU_LIMIT_S, "s of processor time")
            show(f"{PODS} pods, peak memory", many.peak_mb, MEMORY_LIMIT_MB, "MB")
            loop = f"xargs -n 1 {crane} manifest --insecure < {listed} > {folder}/peer"
            parallel = run(["sh", "-c", loop.replace("-n 1", "-n 1 -P 16")], env=environ)
            _factor("xargs -P 16 crane manifest", parallel, cold, PARALLEL_FACTOR)
            sequential = run(["sh", "-c", loop], env=environ)
            _factor("crane manifest, one after the other", sequential, cold, SEQUENTIAL_FACTOR)


if __name__ == "__main__":
    main()
