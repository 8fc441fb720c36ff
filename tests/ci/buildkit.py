"""BuildKit's daemon on this machine, for buildx without Docker: it needs root, and binfmt_misc for other architectures.

An SBOM is made by an image that BuildKit runs, docker/buildkit-syft-scanner. It can't be pulled here; a stand-in, which
a registry on this machine serves under its name, counts the files it is shown.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sandbox.cluster.machine import native_architecture
from sandbox.cluster.programs import wait_for
from sandbox.registry.images import INDEX, LAYER, Repository
from sandbox.webhook_image import base
from tools import build

BUILDER: Final = "tests"
SCANNER: Final = "docker/buildkit-syft-scanner"
# Source: https://github.com/moby/buildkit/blob/master/docs/attestations/sbom-protocol.md
_SCAN: Final = """\
import json, os, pathlib
counted = sum(1 for _ in pathlib.Path(os.environ["BUILDKIT_SCAN_SOURCE"]).rglob("*"))
document = {"spdxVersion": "SPDX-2.3", "name": "stand-in", "comment": f"{counted} files"}
statement = {"_type": "https://in-toto.io/Statement/v0.1", "predicateType": "https://spdx.dev/Document"}
statement |= {"subject": [], "predicate": document}
pathlib.Path(os.environ["BUILDKIT_SCAN_DESTINATION"], "sbom.spdx.json").write_text(json.dumps(statement))
"""
_CONFIG: Final = """\
root = "{folder}/root"
[grpc]
address = ["unix://{folder}/socket"]
[worker.oci]
enabled = true
binary = "{runc}"
networkMode = "host"
[worker.containerd]
enabled = false
[registry."docker.io"]
mirrors = ["{mirror}"]
[registry."{mirror}"]
http = true
[registry."{registry}"]
http = true
"""


def scanner() -> Repository:
    """The stand-in, for this machine's architecture."""
    made = base.repository()
    architecture = str(native_architecture())
    layer = base.make_layer(native_architecture())
    content = made.add(LAYER, layer.file.read_bytes())
    settings = {"Entrypoint": ["/usr/bin/python3", "-c", _SCAN]}
    row = made.image(architecture, settings, {layer.diff_id: content}).described(
        platform={"architecture": architecture, "os": "linux"}
    )
    made.tags["stable-1"] = made.add(INDEX, {"schemaVersion": 2, "mediaType": INDEX, "manifests": [row]})
    return made


@contextmanager
def running(folder: Path, *, mirror: str, registry: str) -> Iterator[Mapping[str, str]]:
    """Start the daemon; gives the variables with which ``image.sh`` uses it.

    ``mirror`` is the host that serves docker.io, ``registry`` the one that images are pushed to, both by plain HTTP.
    """
    folder.mkdir()
    runc = build.ensure("runc")
    config = folder / "buildkitd.toml"
    config.write_text(_CONFIG.format(folder=folder, runc=runc, mirror=mirror, registry=registry))
    with (folder / "log").open("w") as log:
        # What it mounts goes away with it.
        daemon = subprocess.Popen(
            ["unshare", "--mount", str(build.ensure("buildkitd")), "--config", str(config)], stdout=log, stderr=log
        )
        try:
            wait_for((folder / "socket").exists, "BuildKit", timeout=30)
            buildx = str(build.ensure("buildx"))
            environment = {"BUILDX_CONFIG": str(folder / "buildx"), "HOME": str(folder)}
            command = [buildx, "create", "--name", BUILDER, "--driver", "remote", f"unix://{folder / 'socket'}"]
            subprocess.run(command, env=environment, check=True, capture_output=True)
            yield {"BUILDX": buildx, "BUILDX_BUILDER": BUILDER, "BUILDX_CONFIG": environment["BUILDX_CONFIG"]}
        finally:
            daemon.terminate()
            daemon.wait(timeout=30)
