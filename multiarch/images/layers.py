"""One layer of an image as it streams by: which paths it sets, which it removes, and what its programs are."""

from __future__ import annotations

import posixpath
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from enum import Enum

from multiarch.images.compression import LayerError, Unpacker
from multiarch.images.elf import Elf, Head, head_of
from multiarch.images.tar import Member, MemberKind, TarReader

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_AUFS = ".wh..wh."
_EXECUTABLE = 0o111
_LONGEST = 4095
"""Bytes of a path or of a link's target that Linux takes: a runtime fails to unpack what has longer ones."""
_COUNTS_AS_ONE = 200
_PACKED = (
    "application/vnd.oci.image.layer.",
    "application/vnd.docker.image.rootfs.",
)


@dataclass(frozen=True, slots=True)
class LayerLimits:
    """Bounds for one image: bytes of all layers unpacked, and paths that are remembered at a time.

    A path takes about 200 bytes of memory, so that the default's are 100 MB; common images have some ten thousand. A
    long one counts as several.
    """

    unpacked: int = 64 * 1024**3
    paths: int = 500_000


@dataclass(slots=True)
class LayerBudget:
    """What is left of the limits. ``unpack`` and ``remember`` raise LayerError when nothing is."""

    limits: LayerLimits = field(default_factory=LayerLimits)
    unpacked: int = 0
    paths: int = 0

    def unpack(self, count: int) -> None:
        """Count bytes."""
        self.unpacked += count
        if self.unpacked > self.limits.unpacked:
            raise LayerError(f"makes the image larger than {self.limits.unpacked} bytes unpacked, which is the limit")

    def remember(self, *texts: str) -> None:
        """Count one path, whose texts are kept."""
        self.paths += 1 + sum(map(len, texts)) // _COUNTS_AS_ONE
        if self.paths > self.limits.paths:
            raise LayerError(f"makes it more than {self.limits.paths} paths to remember, which is the limit")


class PlainNode(Enum):
    """Nodes of which nothing but their being there matters."""

    DIRECTORY = "directory"
    FILE = "file that is not executable"
    SPECIAL = "device or pipe"


@dataclass(frozen=True, slots=True)
class Program:
    """An executable file, and what its first bytes are; ``None`` where they can't be told (a file with holes)."""

    head: Head | None


@dataclass(frozen=True, slots=True)
class SymbolicLink:
    """A symbolic link's target as written; a hard link into another layer is one with an absolute target."""

    target: str


TreeNode = PlainNode | Program | SymbolicLink


@dataclass(slots=True)
class Layer:
    """What one layer does to the file tree. Paths have no slash at their ends; the root is the empty text.

    ``folders`` are the directories above its paths that it does not set itself; ``removed`` its whiteouts, ``opaque``
    the directories whose content below it hides. ``elves`` are its ELF files, executable or not.
    Source: https://github.com/opencontainers/image-spec/blob/main/layer.md#representing-changes
    """

    digest: str
    nodes: dict[str, TreeNode] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    opaque: set[str] = field(default_factory=set)
    elves: dict[str, Elf] = field(default_factory=dict)

    def hides(self, path: str) -> bool:
        """Whether nothing of lower layers can be seen at ``path``; what this layer sets there is not asked."""
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
        """Whether something stands at ``path`` because of this layer."""
        return path in self.nodes or path in self.folders


def is_layer(media_type: str) -> bool:
    """Whether ``media_type`` is one of the layers that runtimes unpack. Encrypted ones are not."""
    return media_type.startswith(_PACKED) and not media_type.endswith("+encrypted")


async def read_layer(
    digest: str, chunks: AsyncIterator[bytes], budget: LayerBudget, *, lowest: bool = False, elves: bool = True
) -> Layer:
    """Read a layer as it comes, keeping neither its content nor more than the limits allow.

    ``lowest`` is a layer that nothing lies below: files that are no programs hide nothing there and are not
    remembered. ``elves`` collects its ELF files.

    Raises:
        LayerError: it is damaged, cut off, packed in a way that runtimes don't know, or beyond the limits.
    """
    builder = _Builder(Layer(digest), budget, lowest=lowest, elves=elves)
    unpacker, reader = Unpacker(), TarReader()
    async for chunk in chunks:
        builder.take(reader, unpacker.feed(chunk))
    builder.take(reader, unpacker.close())
    reader.close()
    return builder.layer


@dataclass(slots=True)
class _Builder:
    layer: Layer
    budget: LayerBudget
    lowest: bool
    elves: bool

    def take(self, reader: TarReader, pieces: Iterator[bytes]) -> None:
        for piece in pieces:
            self.budget.unpack(len(piece))
            for member in reader.feed(piece):
                self._add(member)

    def _add(self, member: Member) -> None:
        if max(len(member.name), len(member.target)) > _LONGEST:
            raise LayerError(f"has a path of more than {_LONGEST} bytes, which no runtime can unpack")
        path = _clean(member.name)
        folder, _, name = path.rpartition("/")
        if name.startswith(_WHITEOUT):
            self._whiteout(folder, name)
            return
        if not path:
            return  # the root itself
        self._folders(folder)
        node = self._node(member)
        if not (self.lowest and node is PlainNode.FILE):
            if path not in self.layer.nodes:
                self.budget.remember(path, member.target)
            self.layer.nodes[path] = node
        elif path in self.layer.nodes:
            del self.layer.nodes[path]  # the second of two of the same name counts
        self._elf(path, member, node)

    def _node(self, member: Member) -> TreeNode:
        match member.kind:
            case MemberKind.DIRECTORY:
                return PlainNode.DIRECTORY
            case MemberKind.SYMLINK:
                return SymbolicLink(member.target)
            case MemberKind.HARD_LINK:
                target = _clean(member.target)
                return self.layer.nodes.get(target) or (PlainNode.FILE if self.lowest else SymbolicLink(f"/{target}"))
            case MemberKind.SPECIAL:
                return PlainNode.SPECIAL
            case MemberKind.FILE:
                if not member.mode & _EXECUTABLE:
                    return PlainNode.FILE
                return Program(None if member.start is None else head_of(member.start))

    def _elf(self, path: str, member: Member, node: TreeNode) -> None:
        if not self.elves:
            return
        head: Head | None = node.head if isinstance(node, Program) else None
        if member.kind is MemberKind.HARD_LINK:
            head = self.layer.elves.get(_clean(member.target))
        elif node is PlainNode.FILE and member.start is not None and member.start.startswith(b"\x7fELF"):
            head = head_of(member.start)
        if isinstance(head, Elf):
            if path not in self.layer.elves:
                self.budget.remember(path)
            self.layer.elves[path] = head
        else:
            self.layer.elves.pop(path, None)

    def _whiteout(self, folder: str, name: str) -> None:
        if name == _OPAQUE:
            self.layer.opaque.add(folder)
        elif not name.startswith(_AUFS):
            hidden = name.removeprefix(_WHITEOUT)
            self.layer.removed.add(f"{folder}/{hidden}" if folder else hidden)
        else:
            return  # what AUFS keeps for itself
        self.budget.remember(folder, name)

    def _folders(self, folder: str) -> None:
        layer = self.layer
        while folder and folder not in layer.folders and layer.nodes.get(folder) is not PlainNode.DIRECTORY:
            self.budget.remember(folder)
            layer.folders.add(folder)
            folder = folder.rpartition("/")[0]


def _clean(name: str) -> str:
    """A member's path without dots and doubled slashes; one that would lead out of the root stays in it."""
    return posixpath.normpath(f"/{name}").lstrip("/")
