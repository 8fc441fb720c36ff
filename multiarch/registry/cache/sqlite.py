"""A cache in a file, for the command line; several processes share it.

A damaged file is replaced, an unusable one is not used; both are reported in ``notes`` and never an error.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from multiarch.files import home
from multiarch.registry.cache.model import Content, Pointer
from multiarch.registry.digests import digest_of, signed_part
from multiarch.registry.reference import digest_fault

_VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS content (
    name TEXT NOT NULL, digest TEXT NOT NULL, media_type TEXT NOT NULL, content BLOB NOT NULL, kept REAL NOT NULL,
    PRIMARY KEY (name, digest)
);
CREATE INDEX IF NOT EXISTS content_kept ON content (kept);
CREATE TABLE IF NOT EXISTS tag (
    name TEXT NOT NULL, tag TEXT NOT NULL, digest TEXT NOT NULL, checked REAL NOT NULL, PRIMARY KEY (name, tag)
);
"""
# SQLite's files.
_SUFFIXES = ("", "-wal", "-shm", "-journal")
_PRUNED_EVERY = 200
"""Entries stored between two checks of the size."""
_TAG_SECONDS = 30 * 24 * 3600
"""Tags not checked for this long are removed."""

_OPENING_ATTEMPTS = 20


def cache_file(environ: Mapping[str, str]) -> Path | None:
    """The command line's cache file, below ``XDG_CACHE_HOME`` or ``~/.cache``; None without a home folder."""
    base = environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore a relative path.
    found = home()
    if base and Path(base).is_absolute():
        root = Path(base)
    elif found is None:
        return None
    else:
        root = found / ".cache"
    return root / "multiarch-eks" / "registry.sqlite"


class SqliteCache:
    """A cache in ``file``, readable by its owner only, of about ``limit`` bytes at most (512 MiB).

    ``wait`` are the most seconds to wait for another process that writes; what is not there then is missed.
    ``notes`` has a sentence for each problem with it.
    """

    def __init__(self, file: Path, limit: int = 512 * 1024 * 1024, *, wait: float = 2.0) -> None:
        """Open or create the file."""
        self.notes: list[str] = []
        self._file = file
        self._limit = limit
        self._wait = wait
        self._kept = 0
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError as error:
            self._replace(error)
        except OSError as error:
            self._disable(error)

    def content(self, name: str, digest: str) -> Content | None:
        """The content with this digest, or None. It is verified again."""
        row = self._row("SELECT media_type, content FROM content WHERE name = ? AND digest = ?", name, digest)
        if row is None or not isinstance(row[0], str) or not isinstance(row[1], bytes) or digest_fault(digest):
            return None
        found = Content(row[0], digest, row[1])
        if digest_of(signed_part(found.media_type, found.content), digest) != digest:
            self._change("DELETE FROM content WHERE name = ? AND digest = ?", name, digest)
            return None
        return found

    def keep(self, name: str, content: Content) -> None:
        """Store verified content."""
        values = name, content.digest, content.media_type, content.content, time.time()
        self._change("INSERT OR REPLACE INTO content VALUES (?, ?, ?, ?, ?)", *values)
        self._kept += 1
        if self._kept % _PRUNED_EVERY == 1:
            self._prune()

    def pointer(self, name: str, tag: str) -> Pointer | None:
        """The digest that a tag pointed at, or None."""
        row = self._row("SELECT digest, checked FROM tag WHERE name = ? AND tag = ?", name, tag)
        if row is None or not isinstance(row[0], str) or not isinstance(row[1], float):
            return None
        return Pointer(row[0], row[1])

    def point(self, name: str, tag: str, digest: str) -> None:
        """Store the digest that the registry just gave for a tag."""
        self._change("INSERT OR REPLACE INTO tag VALUES (?, ?, ?, ?)", name, tag, digest, time.time())

    def forget(self, name: str, tag: str) -> None:
        """Remove a tag."""
        self._change("DELETE FROM tag WHERE name = ? AND tag = ?", name, tag)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # SQLite would make it world-readable; its other files get the same permissions.
        descriptor = os.open(self._file, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        for _ in range(_OPENING_ATTEMPTS):
            connection = sqlite3.connect(self._file, timeout=self._wait, isolation_level=None)
            try:
                _prepare(connection)
            except sqlite3.OperationalError as error:
                connection.close()
                if not _is_busy(error):
                    raise
                time.sleep(0.05)  # SQLite does not wait while another process creates the file
            except BaseException:
                connection.close()
                raise
            else:
                return connection
        raise OSError("it is locked by other processes")

    def _row(self, query: str, *values: object) -> tuple[object, ...] | None:
        with self._suppressed():
            if self._connection is not None:
                row: tuple[object, ...] | None = self._connection.execute(query, values).fetchone()
                return row
        return None

    def _change(self, query: str, *values: object) -> None:
        with self._suppressed():
            if self._connection is not None:
                self._connection.execute(query, values)

    def _prune(self) -> None:
        """Remove the oldest entries while the file is too large."""
        with self._suppressed():
            if self._connection is None:
                return
            self._connection.execute("DELETE FROM tag WHERE checked < ?", (time.time() - _TAG_SECONDS,))
            (size,) = self._connection.execute("SELECT sum(length(content)) FROM content").fetchone()
            while (size or 0) > self._limit:
                oldest = "SELECT rowid FROM content ORDER BY kept LIMIT max(1, (SELECT count(*) FROM content) / 8)"
                self._connection.execute(f"DELETE FROM content WHERE rowid IN ({oldest})")  # noqa: S608 (no input)
                (size,) = self._connection.execute("SELECT sum(length(content)) FROM content").fetchone()

    @contextlib.contextmanager
    def _suppressed(self) -> Iterator[None]:
        """Suppress SQLite's errors: replace a damaged file, stop using any other."""
        try:
            yield
        except sqlite3.OperationalError as error:
            # A lock that lasts is a cache miss. Other faults, such as a full disk, are permanent.
            if not _is_busy(error):
                self._disable(error)
        except sqlite3.DatabaseError as error:
            self._replace(error)

    def _replace(self, error: Exception) -> None:
        self.close()
        if isinstance(error, sqlite3.OperationalError):
            self._disable(error)
            return
        self.notes.append(f"The cache {self._file} was damaged ({error}) and is replaced.")
        try:
            for suffix in _SUFFIXES:
                self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)
            self._connection = self._open()
        except (OSError, sqlite3.Error) as second:
            self._disable(second)

    def _disable(self, error: Exception) -> None:
        self.close()
        why = getattr(error, "strerror", None) or error
        self.notes.append(f"The cache {self._file} is not used: {why}.")


def _prepare(connection: sqlite3.Connection) -> None:
    # Readers and a writer do not block each other; a power cut may lose the last entries.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in {0, _VERSION}:
        raise sqlite3.DatabaseError(f"its layout is {version}, not {_VERSION}")
    connection.executescript(_TABLES)
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return "locked" in str(error) or "busy" in str(error)
