"""Read one layer as a stream: the paths it adds, the paths it removes, and what its programs are."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import Enum
from tarfile import TarInfo

from multiarch.images.elf import Elf, Head, identify_file
from multiarch.images.unpacking import Chunks, LayerError, read_members
from multiarch.registry.model import LAYER_PREFIXES
from multiarch.registry.operation import Deadline

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_AUFS = ".wh..wh."
_EXECUTABLE = 0o111
_COUNTS_AS_ONE = 200
_AHEAD = 8
"""Chunks that wait to be unpacked."""


@dataclass(slots=True)
class LayerBudget:
    """What the layers of one image may use. ``unpack`` and ``remember`` raise LayerError above it.

    ``unpacked`` are the bytes of all layers uncompressed, ``paths`` those that are kept: one takes about 200 bytes, so
    the default is about 100 MB; common images have some ten thousand, and a long path counts as several. ``unpack``
    raises TimeoutError after the ``deadline``: compressed data may unpack for minutes without a wait.
    """

    unpacked: int = 64 * 1024**3
    paths: int = 500_000
    deadline: Deadline = field(default_factory=Deadline)
    used_bytes: int = 0
    used_paths: int = 0

    def unpack(self, count: int) -> None:
        """Count bytes."""
        self.deadline.check()
        self.used_bytes += count
        if self.used_bytes > self.unpacked:
            raise LayerError(f"the image is larger than the limit of {self.unpacked} bytes uncompressed")

    def remember(self, path: str) -> None:
        """Count one path."""
        self.used_paths += 1 + len(path) // _COUNTS_AS_ONE
        if self.used_paths > self.paths:
            raise LayerError(f"the image has more than the limit of {self.paths} paths")


class PlainNode(Enum):
    """Nodes whose content does not matter."""

    DIRECTORY = "directory"
    FILE = "file that is not executable"
    SPECIAL = "device or pipe"


@dataclass(frozen=True, slots=True)
class Program:
    """An executable file and what its first bytes say."""

    head: Head


@dataclass(frozen=True, slots=True)
class SymbolicLink:
    """A symbolic link's target as written; a hard link into another layer becomes one with an absolute target."""

    target: str


TreeNode = PlainNode | Program | SymbolicLink


@dataclass(slots=True)
class Layer:
    """What one layer changes in the file tree. Paths have no slash at the start or end; the root is empty.

    ``folders`` are the parent directories that it does not add itself; ``removed`` its whiteouts, ``opaque`` the
    directories whose content in lower layers it hides. ``elves`` are its ELF files, executable or not.
    Source: https://github.com/opencontainers/image-spec/blob/main/layer.md#representing-changes
    """

    digest: str
    nodes: dict[str, TreeNode] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    opaque: set[str] = field(default_factory=set)
    elves: dict[str, Elf] = field(default_factory=dict)

    def hides(self, path: str) -> bool:
        """Return whether this layer hides ``path`` of lower layers; what it adds there itself does not count."""
        if path in self.removed:
            return True
        above = path
        while above:
            above = above.rpartition("/")[0]
            if above in self.opaque or above in self.removed:
                return True
            if above and self.nodes.get(above, PlainNode.DIRECTORY) is not PlainNode.DIRECTORY:
                return True
        return False

    def sets(self, path: str) -> bool:
        """Return whether this layer adds something at ``path``."""
        return path in self.nodes or path in self.folders


def is_layer(media_type: str) -> bool:
    """Return whether ``media_type`` is a layer that runtimes can unpack; encrypted ones are not."""
    return media_type.startswith(LAYER_PREFIXES) and not media_type.endswith("+encrypted")


async def read_layer(digest: str, chunks: AsyncIterator[bytes], budget: LayerBudget, *, elves: bool = True) -> Layer:
    """Read a layer as a stream, in a thread; its content is not kept. ``elves`` collects its ELF files.

    Raises:
        LayerError: it is invalid, truncated, has an unsupported compression, or exceeds the limits.
    """
    loop, room = asyncio.get_running_loop(), asyncio.Semaphore(_AHEAD)
    source = Chunks(lambda: loop.call_soon_threadsafe(room.release))
    reading = loop.run_in_executor(None, _Builder(Layer(digest), budget, elves=elves).read, source)
    reading.add_done_callback(lambda _: room.release())
    try:
        async for chunk in chunks:
            source.put(chunk)
            await room.acquire()
            if reading.done():
                break
    except BaseException:
        reading.cancel()
        raise
    finally:
        source.put(b"")
    return await reading


@dataclass(slots=True)
class _Builder:
    layer: Layer
    budget: LayerBudget
    elves: bool

    def read(self, source: Chunks) -> Layer:
        for member, start in read_members(source, self.budget.unpack):
            self._add(member, start)
        return self.layer

    def _add(self, member: TarInfo, start: bytes) -> None:
        path = _clean(member.name)
        folder, _, name = path.rpartition("/")
        if name.startswith(_WHITEOUT):
            self._whiteout(folder, name)
            return
        if not path:
            return  # the root itself
        self._folders(folder)
        if path not in self.layer.nodes:
            self.budget.remember(path + member.linkname)
        self.layer.nodes[path] = self._node(member, start)
        elf = self.layer.elves.get(_clean(member.linkname)) if member.islnk() else identify_file(start)
        if self.elves and isinstance(elf, Elf):
            self.layer.elves[path] = elf
        else:
            self.layer.elves.pop(path, None)

    def _node(self, member: TarInfo, start: bytes) -> TreeNode:
        if member.isdir():
            return PlainNode.DIRECTORY
        if member.issym():
            return SymbolicLink(member.linkname)
        if member.islnk():
            target = _clean(member.linkname)
            return self.layer.nodes.get(target) or SymbolicLink(f"/{target}")
        if not member.isreg():
            return PlainNode.SPECIAL
        return Program(identify_file(start)) if member.mode & _EXECUTABLE else PlainNode.FILE

    def _whiteout(self, folder: str, name: str) -> None:
        if name == _OPAQUE:
            self.layer.opaque.add(folder)
        elif not name.startswith(_AUFS):
            hidden = name.removeprefix(_WHITEOUT)
            self.layer.removed.add(f"{folder}/{hidden}" if folder else hidden)
        else:
            return  # AUFS metadata
        self.budget.remember(f"{folder}/{name}")

    def _folders(self, folder: str) -> None:
        layer = self.layer
        while folder and folder not in layer.folders and layer.nodes.get(folder) is not PlainNode.DIRECTORY:
            self.budget.remember(folder)
            layer.folders.add(folder)
            folder = folder.rpartition("/")[0]


def _clean(name: str) -> str:
    """Return a member's path without dots and double slashes; a path out of the root stays in it."""
    return posixpath.normpath(f"/{name}").lstrip("/")
