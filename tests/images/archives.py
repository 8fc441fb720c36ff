"""Layers for tests: archives that the standard library writes, from a few words about each file."""

from __future__ import annotations

import asyncio
import gzip
import io
import tarfile
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from multiarch.images.layers import Layer, LayerBudget, read_layer


@dataclass(frozen=True, slots=True)
class File:
    """A file; ``mode`` as for a program."""

    name: str
    content: bytes = b""
    mode: int = 0o755


@dataclass(frozen=True, slots=True)
class Folder:
    name: str


@dataclass(frozen=True, slots=True)
class Symlink:
    name: str
    target: str


@dataclass(frozen=True, slots=True)
class HardLink:
    name: str
    target: str


Part = File | Folder | Symlink | HardLink


def archive(parts: Iterable[Part], *, form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar archive with these members, in their order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for part in parts:
            info = tarfile.TarInfo(part.name)
            content = b""
            match part:
                case File(_, content, mode):
                    info.size, info.mode = len(content), mode
                case Folder():
                    info.type, info.mode = tarfile.DIRTYPE, 0o755
                case Symlink(_, target):
                    info.type, info.linkname = tarfile.SYMTYPE, target
                case HardLink(_, target):
                    info.type, info.linkname = tarfile.LNKTYPE, target
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def packed(*parts: Part) -> bytes:
    """A gzip'ed archive, the same bytes every time."""
    return gzip.compress(archive(parts), mtime=0)


async def pieces(content: bytes, size: int = 65536) -> AsyncIterator[bytes]:
    """The content as it comes over a network."""
    for at in range(0, len(content), size):
        yield content[at : at + size]


def read_now(content: bytes, limits: LayerBudget | None = None) -> Layer:
    """What is read of a layer's bytes."""
    return asyncio.run(read_layer("sha256:0", pieces(content), limits or LayerBudget()))


def layer(*parts: Part) -> Layer:
    """What is read of an archive with these members."""
    return read_now(archive(parts))
