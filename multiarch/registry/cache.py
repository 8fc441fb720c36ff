"""A cache of manifests, small blobs and tags: in memory, or in a file that several processes share.

A file that can't be used is reported in ``notes``, and never an error.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multiarch.files import find_home
from multiarch.registry.model import Manifest, compute_digest
from multiarch.registry.reference import check_digest

__all__ = ["Cache"]

_VERSION = 1
_TABLES = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS content (
    name TEXT NOT NULL, digest TEXT NOT NULL, media_type TEXT NOT NULL, content BLOB NOT NULL, kept REAL NOT NULL,
    PRIMARY KEY (name, digest)
);
CREATE INDEX IF NOT EXISTS content_kept ON content (kept);
CREATE TABLE IF NOT EXISTS tag (
    name TEXT NOT NULL, tag TEXT NOT NULL, digest TEXT NOT NULL, checked REAL NOT NULL, PRIMARY KEY (name, tag)
);
PRAGMA user_version = {_VERSION};
COMMIT;
"""
_LOCK_SECONDS = 2.0
_PRUNED_AFTER = 8
"""The size is checked whenever this part of the limit was stored."""
_TAG_SECONDS = 30 * 24 * 3600
"""Tags not checked for this long are removed."""
_MOST_TAGS = 10_000
"""Tags that are kept, those checked last: without a file they are in memory."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """The digest that a tag pointed at when it was last checked; ``checked`` is Unix time."""

    digest: str
    checked: float


def find_cache_file(environ: Mapping[str, str]) -> Path | None:
    """Return the command line's cache file, below ``XDG_CACHE_HOME`` or ``~/.cache``; None without a home folder."""
    base = environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore a relative path.
    found = find_home()
    if base and Path(base).is_absolute():
        root = Path(base)
    elif found is None:
        return None
    else:
        root = found / ".cache"
    return root / "multiarch-eks" / "registry.sqlite"


class Cache:
    """A cache of about ``limit`` bytes at most (512 MiB): in memory, or in ``file``, readable by its owner only.

    A ``name`` is ``registry/repository``: content is stored per repository, because access to one does not imply access
    to another. What can't be stored is fetched again; what another process holds locked for more than two seconds is
    missed. ``notes`` has a sentence for each problem with the file.
    """

    def __init__(self, file: Path | None = None, limit: int = 512 * 1024 * 1024) -> None:
        """Open or create the file."""
        self.notes: list[str] = []
        self._file = file
        self._limit = limit
        self._kept = limit
        self._connection: sqlite3.Connection | None = None
        try:
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                file.touch(mode=0o600)  # SQLite would make it world-readable; its other files get the same permissions
            self._connection = sqlite3.connect(file or ":memory:", timeout=_LOCK_SECONDS, isolation_level=None)
            _prepare(self._connection)
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def content(self, name: str, digest: str) -> Manifest | None:
        """Return the content with this digest, or None. It is verified again."""
        row = self._run("SELECT media_type, content FROM content WHERE name = ? AND digest = ?", name, digest)
        if row is None or not isinstance(row[0], str) or not isinstance(row[1], bytes) or check_digest(digest):
            return None
        found = Manifest(row[0], digest, row[1])
        return found if compute_digest(found.content, digest) == digest else None

    def keep(self, name: str, content: Manifest) -> None:
        """Store verified content."""
        values = name, content.digest, content.media_type, content.content, time.time()
        self._run("INSERT OR REPLACE INTO content VALUES (?, ?, ?, ?, ?)", *values)
        self._count(len(content.content))

    def _count(self, stored: int) -> None:
        self._kept += stored
        if self._kept > self._limit // _PRUNED_AFTER:
            self._kept = 0
            self._prune()

    def pointer(self, name: str, tag: str) -> Pointer | None:
        """Return the digest that a tag pointed at, or None."""
        row = self._run("SELECT digest, checked FROM tag WHERE name = ? AND tag = ?", name, tag)
        if row is None or not isinstance(row[0], str) or not isinstance(row[1], float):
            return None
        return Pointer(row[0], row[1])

    def point(self, name: str, tag: str, digest: str) -> None:
        """Store the digest that the registry just gave for a tag."""
        self._run("INSERT OR REPLACE INTO tag VALUES (?, ?, ?, ?)", name, tag, digest, time.time())
        self._count(len(name) + len(tag) + len(digest))

    def forget(self, name: str, tag: str) -> None:
        """Remove a tag."""
        self._run("DELETE FROM tag WHERE name = ? AND tag = ?", name, tag)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _run(self, query: str, *values: object) -> tuple[Any, ...] | None:
        """Run a query, and return its first row. A lock that lasts is a cache miss; another error is a note."""
        try:
            if self._connection is not None:
                row: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
                return row
        except sqlite3.Error as error:
            if "locked" not in str(error):
                self._give_up(error)
        return None

    def _prune(self) -> None:
        """Remove the oldest entries while the file is too large."""
        self._run("DELETE FROM tag WHERE checked < ?", time.time() - _TAG_SECONDS)
        newest = "SELECT rowid FROM tag ORDER BY checked DESC LIMIT ?"
        self._run(f"DELETE FROM tag WHERE rowid NOT IN ({newest})", _MOST_TAGS)  # noqa: S608 (no input)
        while ((self._run("SELECT sum(length(content)) FROM content") or (0,))[0] or 0) > self._limit:
            oldest = "SELECT rowid FROM content ORDER BY kept LIMIT max(1, (SELECT count(*) FROM content) / 8)"
            self._run(f"DELETE FROM content WHERE rowid IN ({oldest})")  # noqa: S608 (no input)

    def _give_up(self, error: Exception) -> None:
        """Store nothing any more."""
        self.close()
        why = getattr(error, "strerror", None) or error
        # An OperationalError is a lock, a full disk or a file that can't be written: the file itself is whole.
        is_damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        damaged = " Remove it: a new one is made." if is_damaged else ""
        self.notes.append(f"The cache {self._file} is not used: {why}.{damaged}")


def _prepare(connection: sqlite3.Connection) -> None:
    # Content is verified when it is read, so a power cut may damage what was written last.
    connection.execute("PRAGMA synchronous = OFF")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        connection.executescript(_TABLES)
    elif version != _VERSION:
        raise sqlite3.DatabaseError(f"its layout is {version}, not {_VERSION}")
