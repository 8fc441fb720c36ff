"""A cache in memory that never grows above a number of bytes: for servers."""

from __future__ import annotations

import time
from collections import OrderedDict

from multiarch.registry.cache.model import Content, Pointer

_OVERHEAD = 512
"""What an entry takes besides its texts, in bytes, roughly: objects and the table's slots."""


class MemoryCache:
    """Keeps the ``limit`` bytes (256 MiB) that were used last. For one event loop."""

    def __init__(self, limit: int = 256 * 1024 * 1024) -> None:
        """An empty one."""
        self._limit = limit
        self._size = 0
        self._entries: OrderedDict[tuple[str, str, str], Content | Pointer] = OrderedDict()

    @property
    def size(self) -> int:
        """Bytes kept, with a rough guess of what it takes to keep them."""
        return self._size

    def content(self, name: str, digest: str) -> Content | None:
        """What a digest names, or None."""
        found = self._get(("content", name, digest))
        return found if isinstance(found, Content) else None

    def keep(self, name: str, content: Content) -> None:
        """Keep verified content; not if it alone is above the limit."""
        self._put(("content", name, content.digest), content)

    def pointer(self, name: str, tag: str) -> Pointer | None:
        """What a tag pointed at, or None."""
        found = self._get(("tag", name, tag))
        return found if isinstance(found, Pointer) else None

    def point(self, name: str, tag: str, digest: str) -> None:
        """Remember that the registry has just said what a tag points at."""
        self._put(("tag", name, tag), Pointer(digest, time.time()))

    def forget(self, name: str, tag: str) -> None:
        """Forget a tag."""
        self._drop(("tag", name, tag))

    def close(self) -> None:
        """Drop everything."""
        self._entries.clear()
        self._size = 0

    def _get(self, key: tuple[str, str, str]) -> Content | Pointer | None:
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def _put(self, key: tuple[str, str, str], value: Content | Pointer) -> None:
        self._drop(key)
        size = _size(key, value)
        if size > self._limit:
            return
        self._entries[key] = value
        self._size += size
        while self._size > self._limit:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: tuple[str, str, str]) -> None:
        found = self._entries.pop(key, None)
        if found is not None:
            self._size -= _size(key, found)


def _size(key: tuple[str, str, str], value: Content | Pointer) -> int:
    own = len(value.content) + len(value.media_type) if isinstance(value, Content) else 0
    return _OVERHEAD + sum(len(part) for part in key) + len(value.digest) + own
