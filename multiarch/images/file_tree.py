"""The layers of an image as one file tree, read from the top down: what is at a path, through links, and who hides it.

Layers are added one by one. As long as lower ones are missing, what depends on them is not answered but raises
:class:`LowerLayerNeededError`, so that an entry point in the last layer costs one layer's download.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from multiarch.images.layers import Layer, PlainNode, Program, SymbolicLink, TreeNode

LINKS = 40
"""Symbolic links that are followed on the way to a file, as in the kernel."""


class LowerLayerNeededError(Exception):
    """What is at a path depends on a layer that was not read yet."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where a path leads: the path without links, and what is there; ``None`` is nothing, and ``why`` says so."""

    path: str
    node: TreeNode | None
    why: str = ""


@dataclass(slots=True)
class FileTree:
    """Layers, the topmost first; ``complete`` when the lowest is among them."""

    layers: list[Layer] = field(default_factory=list)
    complete: bool = False

    def hidden(self, path: str) -> bool:
        """Whether something at ``path`` in the next lower layer can't be seen because of the layers read so far."""
        return any(layer.sets(path) or layer.hides(path) for layer in self.layers)

    def node(self, path: str) -> TreeNode | None:
        """What is at a path that has no link in it. Raises LowerLayerNeededError."""
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
        """Follow an absolute path, or one relative to ``start``, to where it leads. Raises LowerLayerNeededError."""
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
                    return Lookup(path, None, f"more than {LINKS} symbolic links are on its way")
                if node.target.startswith("/"):
                    here = []
                pending.extendleft(reversed([each for each in node.target.split("/") if each not in ("", ".")]))
                node = PlainNode.DIRECTORY
                continue
            here.append(part)
            if node is None or (pending and node is not PlainNode.DIRECTORY):
                where = "/" + "/".join(here)
                missing = f"there is no {where}" if pending else f"there is no executable {where}"
                return Lookup(where, None, missing if node is None else f"{where} is no directory")
        return Lookup("/" + "/".join(here), node)

    def _written_through(self, path: str, link: str) -> TreeNode | None:
        """What a layer at or above the one that sets ``link`` sets at ``path`` below it.

        Unpacked, it goes to where the link leads; builders that do not look at the layers below make such paths.
        """
        for layer in self.layers:
            node = layer.nodes.get(path)
            if path != link and isinstance(node, Program):
                return node
            if link in layer.nodes:
                return None
        return None

    def program(self, name: str, *, search: str, start: str) -> Lookup:
        """Find a command as a runtime does: one with a slash is a path, others are looked for along ``search``.

        ``search`` is the value of ``PATH``; what is not executable is passed over. Raises LowerLayerNeededError.
        """
        if "/" in name:
            found = self.find(name, start=start)
            if found.node is None or isinstance(found.node, Program):
                return found
            return Lookup(found.path, None, f"{found.path} is a {getattr(found.node, 'value', 'link')}")
        for folder in search.split(":"):
            found = self.find(f"{folder or '.'}/{name}", start=start)
            if isinstance(found.node, Program):
                return found
        return Lookup(name, None, f"no executable {name} is in any folder of PATH ({search})")
