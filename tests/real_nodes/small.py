"""A base image with one program, for both architectures: what builds in tests begin with."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from typing import Final

from multiarch.facts.architectures import Architecture
from sandbox.registry.images import INDEX, LAYER, Repository
from tests.real_nodes import roots

NAME: Final = "library/busybox"
TAG: Final = "1"
_PROGRAM: Final = "bin/busybox"
_APPLETS: Final = ("cat", "sh", "sleep", "test", "uname")


def repository() -> Repository:
    """Return the image: Debian's busybox under the names of its programs, from the roots of nodes.

    Python's base is ten times as large, and an emulated containerd unpacks it. Write programs with their paths: by its
    name busybox's shell runs itself as another program, and that name gets lost where qemu runs it.
    """
    made = Repository(name=NAME)
    rows = []
    for architecture in Architecture:
        archive = _archive((roots.ensure(architecture) / "usr" / _PROGRAM).read_bytes())
        layer = made.add(LAYER, gzip.compress(archive, mtime=0))
        digest = f"sha256:{hashlib.sha256(archive).hexdigest()}"
        image = made.image(str(architecture), {"Env": ["PATH=/bin"], "Cmd": ["sh"]}, {digest: layer})
        rows.append(image.described(platform={"architecture": str(architecture), "os": "linux"}))
    made.tags[TAG] = made.add(INDEX, {"schemaVersion": 2, "mediaType": INDEX, "manifests": rows})
    return made


def _archive(program: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo(_PROGRAM)
        info.size, info.mode = len(program), 0o755
        tar.addfile(info, io.BytesIO(program))
        for name in _APPLETS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return out.getvalue()
