"""``multiarch image verify --deep`` of a 500 MB image of incompressible files, from a real registry on this machine.

Limit: 100 MB of memory. Also prints how much more a larger image takes, and the speed.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import json
import os
import random
import struct
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.measure import BIN, Run, run, show
from multiarch.registry.model import OCI_MANIFEST
from tests.registry import server
from tests.registry.server import Server

MEMORY_LIMIT_MB = 100
MB = 1000 * 1000
SIZES_MB = (50, 500)
LAYERS = 2
"""Few, so that each layer is larger than the memory limit."""
FILE_SIZE = 250_000
SMALL_FILES = 10_000
"""Small files per layer, as in images of interpreted languages: each is a path to keep in memory."""
ARM64 = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, 183)


def _members(size: int, layer: int) -> Iterator[tuple[str, int, bytes]]:
    """Yield random programs with a real ELF header, and small files: name, mode and content of each."""
    noise = random.Random(layer)  # noqa: S311 (the same image every time)
    for number in range(size // FILE_SIZE):
        yield f"opt/layer{layer}/bin/program{number}", 0o755, ARM64 + noise.randbytes(FILE_SIZE - len(ARM64))
    for number in range(SMALL_FILES):
        yield f"opt/layer{layer}/modules/package{number % 100}/lib/module{number}.js", 0o644, b"export {}\n"


def _layer(file: Path, size: int, layer: int) -> None:
    # Random data does not compress: level 1 gives the same size as level 9, faster.
    with gzip.open(file, "wb", compresslevel=1) as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        for name, mode, content in _members(size, layer):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), mode
            tar.addfile(info, io.BytesIO(content))


def _push_file(registry: Server, repository: str, file: Path) -> dict[str, object]:
    """Push a layer from its file, and return its descriptor.

    The layer is never read into memory: on Linux, a child's peak is at least that of its parent when it started.
    """
    with file.open("rb") as content:
        digest = f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"
        _, headers, _ = registry.request("POST", f"/v2/{repository}/blobs/uploads/", expect=202)
        upload = urlsplit(headers["Location"])
        content.seek(0)
        connection = http.client.HTTPConnection(registry.host, timeout=300)
        path = f"{upload.path}?{upload.query}&digest={digest}"
        connection.request("PUT", path, content, {"Content-Length": str(file.stat().st_size)})
        answer = connection.getresponse()
        connection.close()
    if answer.status != HTTPStatus.CREATED:
        sys.exit(f"the registry answered {answer.status} to a layer")
    media_type = "application/vnd.oci.image.layer.v1.tar+gzip"
    return {"mediaType": media_type, "digest": digest, "size": file.stat().st_size}


def _push(registry: Server, size_mb: int, folder: Path) -> str:
    repository = f"bench/image-{size_mb}"
    config_content = {
        "os": "linux",
        "architecture": "arm64",
        "config": {"Entrypoint": ["/opt/layer0/bin/program0"]},
        "rootfs": {"type": "layers", "diff_ids": []},
    }
    config_type = "application/vnd.oci.image.config.v1+json"
    config = registry.push_blob(repository, json.dumps(config_content).encode(), config_type)
    rows = []
    for number in range(LAYERS):
        file = folder / "layer.tar.gz"
        _layer(file, size_mb * MB // LAYERS, number)
        rows.append(_push_file(registry, repository, file))
        file.unlink()
    content = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": config_type, "digest": config.digest, "size": config.size},
        "layers": rows,
    }
    registry.push_manifest(repository, "1.0", content, OCI_MANIFEST)
    return f"{registry.host}/{repository}:1.0"


def _verify(name: str, folder: Path) -> Run:
    command = [str(BIN / "multiarch"), "image", "verify", name, "--platform", "linux/arm64", "--deep", "-o", "json"]
    return run(command, env=os.environ | {"DOCKER_CONFIG": str(folder)})


def main() -> None:
    """Print the peak memory and its limit. A finding or a failure ends the benchmark."""
    with tempfile.TemporaryDirectory() as text, server.running(storage=Path(text) / "registry") as registry:
        folder = Path(text)
        runs = {size: _verify(_push(registry, size, folder), folder) for size in SIZES_MB}
    small, large = (runs[size] for size in SIZES_MB)
    show(f"verify --deep of {SIZES_MB[1]} MB, peak memory", large.peak_mb, MEMORY_LIMIT_MB, "MB")
    print(f"that is {large.peak_mb - small.peak_mb:.1f} MB more than of {SIZES_MB[0]} MB", flush=True)
    print(f"{SIZES_MB[1] / large.wall:.0f} MB/s, {large.cpu:.1f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
