"""``multiarch verify pods`` of 10,000 containers on 500 nodes of two architectures.

Limits with a warm registry cache: 20 s, and 300 MB of memory, also with ``--on-node``, where each node answers SSM (the
sandbox's stand-in) after 300 ms. Requests to the registry are counted in further runs, and calls of AWS.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from benchmarks.audit_images import IMAGES, REPOSITORIES, push
from benchmarks.measure import BIN, Run, run, show
from multiarch.cli import main as multiarch
from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from multiarch.registry.transport import RegistryTransport
from sandbox.aws.controls import Remote
from sandbox.aws.ssm_commands import Target
from tests.registry import server
from tests.registry.server import Server
from tests.sandbox.served import Served, address, serving
from tests.verify.clusters import environment
from tests.verify.on_node.reports import AMD64, ARM64, CONFIG, report

CONTAINERS = 10_000
NODES = 500
WALL_LIMIT_S = 20.0
MEMORY_LIMIT_MB = 300
REQUESTS_LIMIT = 0
CALLS_LIMIT = 0.25
"""AWS calls per node."""
DELAY_S = 0.3


def _digests(registry: Server, names: list[str]) -> list[str]:
    """Of each image what a runtime may report: an index, a platform manifest, or a config."""
    found = []
    for number, name in enumerate(names):
        repository, _, tag = name.partition(":")
        _, headers, body = registry.request(
            "GET", f"/v2/{repository}/manifests/{tag}", headers={"Accept": OCI_INDEX}, repository=repository, expect=200
        )
        digest = headers["Docker-Content-Digest"]
        if number % 3:
            digest = json.loads(body)["manifests"][0]["digest"]
        if number % 3 == 1:
            path, accept = f"/v2/{repository}/manifests/{digest}", {"Accept": OCI_MANIFEST}
            _, _, body = registry.request("GET", path, headers=accept, repository=repository, expect=200)
            found.append(json.loads(body)["config"]["digest"])
            continue
        found.append(f"{registry.host}/{repository}@{digest}")
    return found


def write_objects(registry: Server, names: list[str], file: Path) -> None:
    """Write pods and nodes as the API server has them, one JSON document per line."""
    image_ids = _digests(registry, names)
    # One by one: on Linux, a child's peak is at least that of its parent when it started.
    with file.open("w", encoding="utf-8") as lines:
        for number in range(NODES):
            lines.write(f"{json.dumps(_node(number))}\n")
        for number in range(CONTAINERS):
            lines.write(f"{json.dumps(_pod(number, f'{registry.host}/{names[number % IMAGES]}', image_ids))}\n")


def _node(number: int) -> object:
    architecture = "arm64" if number % 2 else "amd64"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number}", "labels": {"kubernetes.io/arch": architecture}},
        "spec": {"providerID": f"aws:///eu-west-1a/i-{number:017x}"},
        "status": {"nodeInfo": {"architecture": architecture, "operatingSystem": "linux"}},
    }


def _pod(number: int, image: str, image_ids: list[str]) -> object:
    state = {"state": {"running": {"startedAt": "2026-11-21T10:00:00Z"}}, "ready": True, "restartCount": 0}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"app-{number}",
            "namespace": f"team-{number % REPOSITORIES}",
            "labels": {"app": f"app-{number % IMAGES}"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": f"app-{number % IMAGES}", "controller": True}],
        },
        "spec": {
            "nodeName": f"node-{number % NODES}",
            "containers": [
                {"name": "app", "image": image, "env": [{"name": f"V_{n}", "value": "x" * 40} for n in range(20)]}
            ],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {
                    "name": "app",
                    "image": image,
                    "imageID": image_ids[number % IMAGES],
                    "containerID": f"containerd://{number:064x}",
                    **state,
                }
            ],
        },
    }


def _register(remote: Remote) -> None:
    """Let every node report the processes of its containers."""
    for number in range(NODES):
        elf = ARM64 if number % 2 else AMD64
        rows = [
            ("container", f"{each:064x}", "x", CONFIG, f"sha256:{each:064x}", str(each + 1), "/app/main", elf, "", "")
            for each in range(number, CONTAINERS, NODES)
        ]
        remote.register(f"i-{number:017x}", Target(output=report(*rows), delay=DELAY_S))


def _verify(environ: dict[str, str], file: Path, more: str = "") -> Run:
    # Some images are for the other architecture: the exit code is 1, as it should be.
    command = f"{BIN / 'multiarch'} verify pods {file} --output json {more}; test $? = 1"
    return run(["sh", "-c", command], env=environ)


def _requests(environ: dict[str, str], file: Path) -> int:
    """How many requests one run makes, in this process."""
    count = 0
    request = RegistryTransport.request

    def counted(*given: Any, **named: Any) -> Any:  # noqa: ANN401 (whatever the method takes)
        nonlocal count
        count += 1
        return request(*given, **named)

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        patch.setattr(RegistryTransport, "request", counted)
        for name, value in environ.items():
            patch.setenv(name, value)
        multiarch(["verify", "pods", str(file), "--output", "json"])
    return count


def main() -> None:
    """Print each figure with its limit."""
    with tempfile.TemporaryDirectory() as text, server.running() as registry:
        folder = Path(text)
        file = folder / "pods.json"
        write_objects(registry, push(registry), file)
        environ = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "DOCKER_CONFIG": str(folder)}
        cold = _verify(environ, file)
        print(f"{CONTAINERS} containers, cold: {cold.wall:.2f} s", flush=True)
        warm = _verify(environ, file)
        show(f"{CONTAINERS} containers on {NODES} nodes, warm", warm.wall, WALL_LIMIT_S, "s")
        show(f"{CONTAINERS} containers, peak memory", warm.peak_mb, MEMORY_LIMIT_MB, "MB")
        with serving(policies=False) as process:
            aws = Served(address(process))
            remote = Remote(aws.endpoint)
            _register(remote)
            remote.forget_calls()
            asked = _verify(environ | environment(aws, folder), file, "--on-node --region eu-west-1")
            calls = remote.calls()
        show(f"{CONTAINERS} containers on {NODES} nodes, warm, --on-node", asked.wall, WALL_LIMIT_S, "s")
        show("--on-node, peak memory", asked.peak_mb, MEMORY_LIMIT_MB, "MB")
        print(f"AWS calls: {', '.join(f'{name} {count}' for name, count in sorted(calls.items()))}", flush=True)
        show("AWS calls per node", calls.total() / NODES, CALLS_LIMIT, "calls")
        elsewhere = environ | {"XDG_CACHE_HOME": str(folder / "counted")}
        print(f"requests for {IMAGES} digests, cold: {_requests(elsewhere, file)}", flush=True)
        print(f"requests with a warm cache: {_requests(elsewhere, file)}, limit {REQUESTS_LIMIT}", flush=True)


if __name__ == "__main__":
    main()
