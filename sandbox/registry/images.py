"""The demo's images: those of ``examples/pods.yaml`` but one, and one that does not contain what it declares.

Their programs are ELF headers without code, enough to be judged and nothing that runs, unless others are given.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from multiarch.facts.architectures import Architecture

HOST: Final = "registry.example.com"
"""The registry that the images' names have; it does not exist."""

INDEX: Final = "application/vnd.oci.image.index.v1+json"
_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
_MACHINES: Final = {"amd64": 62, "arm64": 183}  # e_machine
Program = Callable[[str], bytes]
"""The program of an image, by the architecture that it is built for: ``amd64``."""


def elf_header(architecture: str) -> bytes:
    """Build a 64-bit, little-endian ELF header; https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html."""
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    return identity + struct.pack("<HHIQQQIHHHHHH", 2, _MACHINES[architecture], 1, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Content:
    """A blob or a manifest, with its media type."""

    media_type: str
    body: bytes

    @property
    def digest(self) -> str:
        """``sha256:…``."""
        return f"sha256:{hashlib.sha256(self.body).hexdigest()}"

    def described(self, **more: object) -> dict[str, object]:
        """Return a descriptor, as indexes and manifests hold it."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.body), **more}


@dataclass(slots=True)
class Repository:
    """What a repository holds: tags and contents by digest."""

    tags: dict[str, Content] = field(default_factory=dict)
    contents: dict[str, Content] = field(default_factory=dict)
    program: Program = elf_header
    name: str = ""

    def index(self, tag: str, entries: Mapping[str, str]) -> None:
        """Add an index: what each entry declares, and what its program is built for."""
        rows = [
            self._image(says, program).described(platform={"architecture": says, "os": "linux"})
            for says, program in entries.items()
        ]
        self.tags[tag] = self.add(INDEX, {"schemaVersion": 2, "mediaType": INDEX, "manifests": rows})

    def single(self, tag: str, architecture: str) -> None:
        """Add an image without an index."""
        self.tags[tag] = self._image(architecture, architecture)

    def _image(self, says: str, program: str) -> Content:
        archive = _archive({"bin/service": self.program(program)})
        layer = self.add(LAYER, gzip.compress(archive, mtime=0))
        settings = {
            "Entrypoint": ["/bin/service"],
            "Env": ["PATH=/bin"],
            # Without it, images with the same program were one to a container runtime.
            "Labels": {"org.opencontainers.image.title": self.name},
        }
        return self.image(says, settings, {f"sha256:{hashlib.sha256(archive).hexdigest()}": layer})

    def image(self, says: str, settings: Mapping[str, Any], layers: Mapping[str, Content], **more: object) -> Content:
        """Add an image without a tag: its architecture, the config's ``config``, layers by their archives' digests.

        ``more`` are further fields of the config.
        """
        rootfs = {"type": "layers", "diff_ids": list(layers)}
        config = self.add(_CONFIG, {"architecture": says, "os": "linux", "config": settings, "rootfs": rootfs, **more})
        pointers = {"config": config.described(), "layers": [each.described() for each in layers.values()]}
        return self.add(_MANIFEST, {"schemaVersion": 2, "mediaType": _MANIFEST, **pointers})

    def add(self, media_type: str, what: bytes | Mapping[str, Any]) -> Content:
        """Add a blob or a manifest, and return it."""
        body = what if isinstance(what, bytes) else json.dumps(what, sort_keys=True).encode()
        content = Content(media_type, body)
        self.contents[content.digest] = content
        return content


def repositories(program: Program | None = None) -> dict[str, Repository]:
    """Return all repositories, by name."""
    amd64, arm64 = Architecture.AMD64, Architecture.ARM64
    names = ("observability/agent", "payments/api", "payments/gateway", "payments/ledger")
    made = {name: Repository(program=program or elf_header, name=name) for name in names}
    made["observability/agent"].index("3.1", {amd64: amd64, arm64: arm64})
    made["payments/api"].index("2.4.0", {amd64: amd64, arm64: arm64})
    made["payments/ledger"].single("1.19.3", amd64)
    made["payments/gateway"].index("1.8.0", {amd64: amd64, arm64: amd64})  # says arm64, and holds an amd64 program
    return made


def read_layout(folder: Path, name: str, tag: str) -> Repository:
    """Return the image that an OCI layout has under ``tag``, with all that belongs to it, in memory.

    Upstream: https://github.com/opencontainers/image-spec/blob/main/image-layout.md.
    """
    made = Repository(name=name)
    rows = json.loads((folder / "index.json").read_text(encoding="utf-8"))["manifests"]
    top = next(row for row in rows if row["annotations"]["org.opencontainers.image.ref.name"] == tag)
    made.tags[tag] = _take(folder, made, top)
    return made


def _take(folder: Path, made: Repository, row: Mapping[str, Any]) -> Content:
    """Add what a descriptor names, and what that names."""
    content = made.add(row["mediaType"], (folder / "blobs" / row["digest"].replace(":", "/")).read_bytes())
    if row["mediaType"].endswith(("index.v1+json", "manifest.v1+json")):
        parts = json.loads(content.body)
        for each in (*parts.get("manifests", ()), *parts.get("layers", ()), *filter(None, (parts.get("config"),))):
            _take(folder, made, each)
    return content


def _archive(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o755
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()
