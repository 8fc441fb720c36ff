"""Manifests in a file, over restarts, without holding up the event loop: a thread writes them."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from pathlib import Path

from cachetools import LRUCache

from multiarch.registry.cache.memory import MemoryCache
from multiarch.registry.cache.model import Content, Pointer
from multiarch.registry.cache.sqlite import SqliteCache
from multiarch.registry.settings import REMEMBERED

LOCK_SECONDS = 0.0
"""Seconds that reading waits for another process: a locked file is a miss."""
QUEUED = 1000
"""The most entries that wait to be written; others are not kept on disk."""
CLOSE_SECONDS = 2.0
"""The most seconds to wait at the end for what is not written yet."""

_Work = Callable[[SqliteCache], None]


class DiskCache:
    """Implements ``multiarch.registry.cache.model.Cache``. To be used in one thread.

    ``notes`` has a sentence for each problem with the file, which is then not used.
    """

    def __init__(self, file: Path, limit: int) -> None:
        """Open or create the file; ``limit`` bounds the bytes of new entries in memory."""
        self._reader = SqliteCache(file, wait=LOCK_SECONDS)
        self._recent = MemoryCache(limit)
        self._forgotten: LRUCache[tuple[str, str], bool] = LRUCache(REMEMBERED)
        self._queue: queue.Queue[_Work | None] = queue.Queue(QUEUED)
        self._writer: SqliteCache | None = None
        self._thread = threading.Thread(target=self._write, args=(file,), name="registry cache", daemon=True)
        self._thread.start()

    @property
    def notes(self) -> list[str]:
        """The problems so far, each once."""
        written = () if self._writer is None else self._writer.notes
        return list(dict.fromkeys((*self._reader.notes, *written)))

    def content(self, name: str, digest: str) -> Content | None:
        """The content with this digest, or None."""
        return self._recent.content(name, digest) or self._reader.content(name, digest)

    def keep(self, name: str, content: Content) -> None:
        """Store verified content."""
        self._recent.keep(name, content)
        self._later(lambda cache: cache.keep(name, content))

    def pointer(self, name: str, tag: str) -> Pointer | None:
        """The digest that a tag pointed at, or None."""
        if (name, tag) in self._forgotten:
            return None
        return self._recent.pointer(name, tag) or self._reader.pointer(name, tag)

    def point(self, name: str, tag: str, digest: str) -> None:
        """Store the digest that the registry just gave for a tag."""
        self._forgotten.pop((name, tag), None)
        self._recent.point(name, tag, digest)
        self._later(lambda cache: cache.point(name, tag, digest))

    def forget(self, name: str, tag: str) -> None:
        """Remove a tag."""
        self._forgotten[name, tag] = True
        self._recent.forget(name, tag)
        self._later(lambda cache: cache.forget(name, tag))

    def close(self) -> None:
        """Write what is left, and close the file."""
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=CLOSE_SECONDS)
        self._thread.join(CLOSE_SECONDS)
        self._reader.close()

    def _later(self, work: _Work) -> None:
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(work)

    def _write(self, file: Path) -> None:
        """Write what is queued, in a thread: SQLite's connections are for the thread that opened them."""
        cache = self._writer = SqliteCache(file)
        while (work := self._queue.get()) is not None:
            work(cache)
        cache.close()
