"""A cache in a file that several processes share: for the command line.

It is only a cache. A file that can't be used is thrown away or left alone, said once in ``notes``, and never an error.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

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
# What SQLite puts beside the file.
_SUFFIXES = ("", "-wal", "-shm", "-journal")
_PRUNED_EVERY = 200
"""Entries kept between two looks at the size."""
_TAG_SECONDS = 30 * 24 * 3600
"""Tags that nobody asked for so long are dropped."""

_OPENING_ATTEMPTS = 20


def cache_file(environ: Mapping[str, str]) -> Path:
    """Where the command line's cache is: below ``XDG_CACHE_HOME``, ``~/.cache`` by default."""
    base = environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "multiarch-eks" / "registry.sqlite"


class SqliteCache:
    """A cache in ``file``, readable for its owner alone, of at most about ``limit`` bytes (512 MiB).

    ``notes`` holds a sentence for everything that went wrong with it.
    """

    def __init__(self, file: Path, limit: int = 512 * 1024 * 1024) -> None:
        """Open the file, or make it."""
        self.notes: list[str] = []
        self._file = file
        self._limit = limit
        self._kept = 0
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError as error:
            self._start_anew(error)
        except OSError as error:
            self._do_without(error)

    def content(self, name: str, digest: str) -> Content | None:
        """What a digest names, or None. What the file holds is checked against its digest again."""
        row = self._row("SELECT media_type, content FROM content WHERE name = ? AND digest = ?", name, digest)
        if row is None or not isinstance(row[0], str) or not isinstance(row[1], bytes) or digest_fault(digest):
            return None
        found = Content(row[0], digest, row[1])
        if digest_of(signed_part(found.media_type, found.content), digest) != digest:
            self._change("DELETE FROM content WHERE name = ? AND digest = ?", name, digest)
            return None
        return found

    def keep(self, name: str, content: Content) -> None:
        """Keep verified content."""
        values = name, content.digest, content.media_type, content.content, time.time()
        self._change("INSERT OR REPLACE INTO content VALUES (?, ?, ?, ?, ?)", *values)
        self._kept += 1
        if self._kept % _PRUNED_EVERY == 1:
            self._prune()

    def pointer(self, name: str, tag: str) -> Pointer | None:
        """What a tag pointed at, or None."""
        row = self._row("SELECT digest, checked FROM tag WHERE name = ? AND tag = ?", name, tag)
        if row is None or not isinstance(row[0], str) or not isinstance(row[1], float):
            return None
        return Pointer(row[0], row[1])

    def point(self, name: str, tag: str, digest: str) -> None:
        """Remember that the registry has just said what a tag points at."""
        self._change("INSERT OR REPLACE INTO tag VALUES (?, ?, ?, ?)", name, tag, digest, time.time())

    def forget(self, name: str, tag: str) -> None:
        """Forget a tag."""
        self._change("DELETE FROM tag WHERE name = ? AND tag = ?", name, tag)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # SQLite would make it readable for everybody; what it puts beside it gets the same permissions.
        descriptor = os.open(self._file, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        for _ in range(_OPENING_ATTEMPTS):
            connection = sqlite3.connect(self._file, timeout=2.0, isolation_level=None)
            try:
                _prepare(connection)
            except sqlite3.OperationalError as error:
                connection.close()
                if not _is_busy(error):
                    raise
                time.sleep(0.05)  # processes that make the file at the same time do not wait for one another
            except BaseException:
                connection.close()
                raise
            else:
                return connection
        raise OSError("other processes hold it")

    def _row(self, query: str, *values: object) -> tuple[object, ...] | None:
        with self._trouble():
            if self._connection is not None:
                row: tuple[object, ...] | None = self._connection.execute(query, values).fetchone()
                return row
        return None

    def _change(self, query: str, *values: object) -> None:
        with self._trouble():
            if self._connection is not None:
                self._connection.execute(query, values)

    def _prune(self) -> None:
        """Drop the oldest entries while the file is too large."""
        with self._trouble():
            if self._connection is None:
                return
            self._connection.execute("DELETE FROM tag WHERE checked < ?", (time.time() - _TAG_SECONDS,))
            (size,) = self._connection.execute("SELECT sum(length(content)) FROM content").fetchone()
            while (size or 0) > self._limit:
                oldest = "SELECT rowid FROM content ORDER BY kept LIMIT max(1, (SELECT count(*) FROM content) / 8)"
                self._connection.execute(f"DELETE FROM content WHERE rowid IN ({oldest})")  # noqa: S608 (no input)
                (size,) = self._connection.execute("SELECT sum(length(content)) FROM content").fetchone()

    @contextlib.contextmanager
    def _trouble(self) -> Iterator[None]:
        """Whatever SQLite says is no error: a file that is no database is made anew, others are done without."""
        try:
            yield
        except sqlite3.OperationalError as error:
            # Another process holds it for too long: a miss. Anything else, such as a full disk, will not get better.
            if not _is_busy(error):
                self._do_without(error)
        except sqlite3.DatabaseError as error:
            self._start_anew(error)

    def _start_anew(self, error: Exception) -> None:
        self.close()
        if isinstance(error, sqlite3.OperationalError):
            self._do_without(error)
            return
        self.notes.append(f"The cache {self._file} was damaged ({error}); it was thrown away.")
        try:
            for suffix in _SUFFIXES:
                self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)
            self._connection = self._open()
        except (OSError, sqlite3.Error) as second:
            self._do_without(second)

    def _do_without(self, error: Exception) -> None:
        self.close()
        self.notes.append(f"The cache {self._file} can't be used ({error}); nothing is kept.")


def _prepare(connection: sqlite3.Connection) -> None:
    # Readers and a writer do not wait for one another; a power cut may cost the last entries.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in {0, _VERSION}:
        raise sqlite3.DatabaseError(f"its layout is {version}, not {_VERSION}")
    connection.executescript(_TABLES)
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return "locked" in str(error) or "busy" in str(error)
