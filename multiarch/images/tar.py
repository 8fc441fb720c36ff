"""Read a tar archive as a stream: names, kinds and first bytes of its members.

Python's tarfile parses each header; its own reader pulls from a blocking file, keeps every member and reads extended
headers of any size into memory, while this one is fed, keeps nothing and has limits.
Source: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from multiarch.images.compression import LayerError
from multiarch.images.elf import HEAD
from multiarch.registry.decoding import LARGEST

BLOCK = 512
SPECIAL_LIMIT = 1024 * 1024
"""The most bytes of an extended header, as in Go."""
_ZEROS = bytes(BLOCK)


class MemberKind(Enum):
    """What a member is; devices and pipes are ``SPECIAL``."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    HARD_LINK = "hard link"
    SPECIAL = "special"


_KINDS: Mapping[bytes, MemberKind] = {
    b"0": MemberKind.FILE,
    b"\0": MemberKind.FILE,
    b"7": MemberKind.FILE,
    b"1": MemberKind.HARD_LINK,
    b"2": MemberKind.SYMLINK,
    b"3": MemberKind.SPECIAL,
    b"4": MemberKind.SPECIAL,
    b"5": MemberKind.DIRECTORY,
    b"6": MemberKind.SPECIAL,
}


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its name and link target as written, mode bits, a file's first bytes (at most ``HEAD``)."""

    name: str
    kind: MemberKind
    target: str
    mode: int
    start: bytes


class TarReader:
    """Reads an archive in chunks of any size. ``feed`` and ``close`` raise LayerError for an invalid archive."""

    def __init__(self) -> None:
        """Wait for the first header."""
        self._buffer = bytearray()
        self._wanted = BLOCK
        self._then: Callable[[bytes], Member | None] = self._header
        self._skip = 0
        self._padding = 0
        self._zero_seen = False
        self._ended = False
        # Extended headers of the next member: GNU's long names, and the last pax header.
        self._long: dict[str, str] = {}
        self._extended: dict[str, str] = {}
        self._pending = Member("", MemberKind.FILE, "", 0, b"")

    def feed(self, data: bytes) -> Iterator[Member]:
        """The members whose header and first bytes are complete with ``data``."""
        view, at, end = memoryview(data), 0, len(data)
        while at < end and not self._ended:
            if self._skip:
                step = min(self._skip, end - at)
                self._skip -= step
                at += step
                continue
            step = min(self._wanted - len(self._buffer), end - at)
            self._buffer += view[at : at + step]
            at += step
            if len(self._buffer) == self._wanted:
                block = bytes(self._buffer)
                self._buffer.clear()
                member = self._then(block)
                if member is not None:
                    yield member

    def close(self) -> None:
        """End the archive. It may lack the end marker, but not end within a member."""
        if not self._ended and (
            self._skip or self._buffer or self._then != self._header or self._long or self._extended
        ):
            raise LayerError("truncated tar archive")

    def _forget(self) -> None:
        self._long, self._extended = {}, {}

    def _next_header(self) -> None:
        self._wanted, self._then = BLOCK, self._header

    def _header(self, block: bytes) -> Member | None:
        if block == _ZEROS:
            self._ended, self._zero_seen = self._zero_seen, True
            return None
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise LayerError(f"invalid tar header: {error}") from error
        if self._zero_seen or not 0 <= info.size <= LARGEST:
            raise LayerError(f"invalid tar header: {'data after its end' if self._zero_seen else 'invalid size'}")
        if info.type in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
            if info.size > SPECIAL_LIMIT:
                raise LayerError(f"a tar extended header of {info.size} bytes exceeds the limit of {SPECIAL_LIMIT}")
            self._padding = -info.size % BLOCK
            return self._read(info.size, lambda content: self._special(info.type, content))
        return self._member(block, info)

    def _read(self, size: int, then: Callable[[bytes], Member | None]) -> Member | None:
        """Call ``then`` once ``size`` bytes were read; ``size`` may be 0."""
        if size == 0:
            return then(b"")
        self._wanted, self._then = size, then
        return None

    def _special(self, flag: bytes, content: bytes) -> None:
        self._skip = self._padding
        self._next_header()
        if flag in b"LK":
            self._long["path" if flag == b"L" else "linkpath"] = _text(content)
            return
        # Only the last header counts, so that many of them can't fill the memory. As in Go, a global header is ignored
        # and drops the pending ones.
        self._extended = dict(_records(content))
        if flag == b"g":
            self._forget()

    def _member(self, block: bytes, info: tarfile.TarInfo) -> Member | None:
        records = self._extended | self._long
        self._forget()
        kind = _KINDS.get(info.type, MemberKind.SPECIAL)
        # GNU's format has other fields in place of the POSIX prefix.
        own = info.name if block[257:263] == b"ustar\0" else _text(block[:100])
        name = records.get("path") or own
        target = records.get("linkpath") or info.linkname
        if kind is MemberKind.FILE and info.type == tarfile.AREGTYPE and name.endswith("/"):
            kind = MemberKind.DIRECTORY
        # Links, directories and devices have no content, even if their header has a size.
        size = _decimal(records["size"]) if records.get("size") else info.size
        size = size if kind is MemberKind.FILE or info.type not in _KINDS else 0
        if info.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse.") for key in records):
            raise LayerError("sparse files are not supported")
        self._pending = Member(name, kind, target, info.mode, b"")
        if kind is not MemberKind.FILE:
            return self._complete(size, b"")
        return self._read(min(size, HEAD), lambda start: self._complete(size, start))

    def _complete(self, size: int, start: bytes) -> Member:
        self._skip = size - len(start) + -size % BLOCK
        self._next_header()
        return replace(self._pending, start=start)


def _decimal(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(LARGEST)):
        raise LayerError(f"invalid number {text[:20]!r} in a tar extended header")
    return int(text)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(errors="surrogateescape")


def _records(content: bytes) -> Iterator[tuple[str, str]]:
    """The records of a pax header: ``LENGTH KEY=VALUE`` and a newline, LENGTH counting all of it."""
    at = 0
    while at < len(content):
        digits, _, _ = content[at : at + 20].partition(b" ")
        length = _decimal(digits.decode(errors="replace"))
        record = content[at + len(digits) + 1 : at + length]
        key, equals, value = record.partition(b"=")
        if length <= len(digits) or at + length > len(content) or not equals or not record.endswith(b"\n"):
            raise LayerError("invalid tar extended header")
        yield key.decode(errors="surrogateescape"), value[:-1].decode(errors="surrogateescape")
        at += length
