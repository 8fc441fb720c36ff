"""A cache in memory with a limit in bytes, for long-running servers."""

from __future__ import annotations

import contextlib
import time

from cachetools import LRUCache

from multiarch.registry.cache.model import Content, Pointer

__all__ = ["MemoryCache"]

_OVERHEAD = 512
"""Rough size of an entry besides its texts, in bytes: objects and table slots."""

_Key = tuple[str, str, str]
_Entry = tuple[_Key, Content | Pointer]


class MemoryCache:
    """Keeps the most recently used entries, up to ``limit`` bytes (256 MiB). For one event loop."""

    def __init__(self, limit: int = 256 * 1024 * 1024) -> None:
        """Start empty."""
        self._entries: LRUCache[_Key, _Entry] = LRUCache(limit, getsizeof=_size)

    @property
    def size(self) -> int:
        """Estimated bytes in use."""
        return int(self._entries.currsize)

    def content(self, name: str, digest: str) -> Content | None:
        """The content with this digest, or None."""
        found = self._get(("content", name, digest))
        return found if isinstance(found, Content) else None

    def keep(self, name: str, content: Content) -> None:
        """Store verified content, unless it is larger than the limit."""
        self._put(("content", name, content.digest), content)

    def pointer(self, name: str, tag: str) -> Pointer | None:
        """The digest that a tag pointed at, or None."""
        found = self._get(("tag", name, tag))
        return found if isinstance(found, Pointer) else None

    def point(self, name: str, tag: str, digest: str) -> None:
        """Store the digest that the registry just gave for a tag."""
        self._put(("tag", name, tag), Pointer(digest, time.time()))

    def forget(self, name: str, tag: str) -> None:
        """Remove a tag."""
        self._entries.pop(("tag", name, tag), None)

    def close(self) -> None:
        """Remove everything."""
        self._entries.clear()

    def _get(self, key: _Key) -> Content | Pointer | None:
        _, found = self._entries.get(key, (key, None))
        return found

    def _put(self, key: _Key, value: Content | Pointer) -> None:
        with contextlib.suppress(ValueError):  # larger than the whole cache
            self._entries[key] = key, value


def _size(entry: _Entry) -> int:
    key, value = entry
    own = len(value.content) + len(value.media_type) if isinstance(value, Content) else 0
    return _OVERHEAD + sum(len(part) for part in key) + len(value.digest) + own
