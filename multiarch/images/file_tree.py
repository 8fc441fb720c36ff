"""The layers of an image as one file tree, from the top layer down.

Layers are added one by one. A path that depends on a layer not added yet raises :class:`LowerLayerNeededError`: an
entry point in the top layer needs the download of one layer only.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from multiarch.images.elf import Head
from multiarch.images.layers import Layer, PlainNode, Program, SymbolicLink, TreeNode
from multiarch.registry.operation import Deadline

LINKS = 40
"""The most symbolic links in the path to a file, as in the kernel."""


class LowerLayerNeededError(Exception):
    """What is at a path depends on a layer that was not added yet."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """The result of resolving a path: the path without links, and the node there, or None with ``why``."""

    path: str
    node: TreeNode | None
    why: str = ""

    @property
    def head(self) -> Head | None:
        """What a program's first bytes say; None for everything else."""
        return self.node.head if isinstance(self.node, Program) else None


@dataclass(slots=True)
class FileTree:
    """Layers, the top one first; ``complete`` if the lowest one is included.

    All look-ups raise TimeoutError after the ``deadline``.
    """

    layers: list[Layer] = field(default_factory=list)
    complete: bool = False
    deadline: Deadline = field(default_factory=Deadline)

    def hidden(self, path: str) -> bool:
        """Return whether the layers so far hide ``path`` of the next lower layer."""
        self.deadline.check()
        return any(layer.sets(path) or layer.hides(path) for layer in self.layers)

    def node(self, path: str) -> TreeNode | None:
        """Return the node at a path without links. Raises LowerLayerNeededError."""
        self.deadline.check()
        folder = False
        for layer in self.layers:
            node = layer.nodes.get(path)
            if node is not None:
                return node
            folder = folder or path in layer.folders
            if layer.hides(path):
                return PlainNode.DIRECTORY if folder else None
        if not self.complete:
            raise LowerLayerNeededError
        return PlainNode.DIRECTORY if folder else None

    def find(self, path: str, *, start: str = "/") -> Lookup:
        """Resolve an absolute path, or one relative to ``start``. Raises LowerLayerNeededError."""
        pending = deque(part for part in f"{start}/{path}".split("/") if part not in ("", "."))
        if path.startswith("/"):
            pending = deque(part for part in path.split("/") if part not in ("", "."))
        here: list[str] = []
        links = 0
        node: TreeNode | None = PlainNode.DIRECTORY
        while pending:
            part = pending.popleft()
            if part == "..":
                del here[-1:]
                node = PlainNode.DIRECTORY
                continue
            node = self.node("/".join([*here, part]))
            if isinstance(node, SymbolicLink):
                literal = "/".join([*here, part, *pending])
                if (written := self._written_through(literal, "/".join([*here, part]))) is not None:
                    return Lookup(f"/{literal}", written)
                links += 1
                if links > LINKS:
                    return Lookup(path, None, f"more than {LINKS} symbolic links in {path}")
                if node.target.startswith("/"):
                    here = []
                pending.extendleft(reversed([each for each in node.target.split("/") if each not in ("", ".")]))
                node = PlainNode.DIRECTORY
                continue
            here.append(part)
            if node is None or (pending and node is not PlainNode.DIRECTORY):
                where = "/" + "/".join(here)
                missing = f"{where} not found" if pending else f"no executable {where}"
                return Lookup(where, None, missing if node is None else f"{where} is not a directory")
        return Lookup("/" + "/".join(here), node)

    def _written_through(self, path: str, link: str) -> TreeNode | None:
        """Return the program that a layer at or above the one with ``link`` has at ``path``, below the link.

        Unpacked, it ends up where the link points; builders that ignore lower layers create such paths.
        """
        for layer in self.layers:
            node = layer.nodes.get(path)
            if path != link and isinstance(node, Program):
                return node
            if link in layer.nodes:
                return None
        return None

    def program(self, name: str, *, search: str, start: str) -> Lookup:
        """Find a command as a runtime does: a name with a slash is a path, others are searched in ``search``.

        ``search`` is the value of ``PATH``; files that are not executable are skipped. Raises LowerLayerNeededError.
        """
        if "/" in name:
            found = self.find(name, start=start)
            if found.node is None or isinstance(found.node, Program):
                return found
            return Lookup(found.path, None, f"{found.path} is a {getattr(found.node, 'value', 'link')}")
        for folder in dict.fromkeys(search.split(":")):
            found = self.find(f"{folder or '.'}/{name}", start=start)
            if isinstance(found.node, Program):
                return found
        return Lookup(name, None, f"no executable {name} in PATH ({search})")
