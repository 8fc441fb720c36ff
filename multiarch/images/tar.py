"""Read a tar archive as a stream: names, kinds and first bytes of its members.

Python's tarfile pulls from a blocking file, keeps every member and reads extended headers of any size into memory; this
reader is fed, keeps nothing and has limits. It accepts what Go's reader accepts, because containerd unpacks with that.
Sources: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13 and
https://www.gnu.org/software/tar/manual/html_node/Standard.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from multiarch.images.compression import LayerError
from multiarch.images.elf import HEAD
from multiarch.registry.decoding import LARGEST, whole_number

BLOCK = 512
SPECIAL_LIMIT = 1024 * 1024
"""The most bytes of an extended header, as in Go."""
_ZEROS = bytes(BLOCK)
_CHECKSUM = slice(148, 156)
_BASE_256 = 0x80
_NEGATIVE = 0x40


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
    b"S": MemberKind.FILE,
    b"1": MemberKind.HARD_LINK,
    b"2": MemberKind.SYMLINK,
    b"3": MemberKind.SPECIAL,
    b"4": MemberKind.SPECIAL,
    b"5": MemberKind.DIRECTORY,
    b"6": MemberKind.SPECIAL,
}


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its name and link target as written, mode bits, a file's first bytes (at most ``HEAD``).

    ``start`` is None for a sparse file: its first bytes are not searched.
    """

    name: str
    kind: MemberKind
    target: str
    mode: int
    start: bytes | None


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
        self._pending: tuple[str, str, int] = ("", "", 0)

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
        if self._zero_seen or not _checksum_fits(block):
            raise LayerError("invalid checksum in a tar header")
        flag, size = block[156:157], _number(block[124:136])
        if flag in b"xgLK":
            if size > SPECIAL_LIMIT:
                raise LayerError(f"a tar extended header of {size} bytes exceeds the limit of {SPECIAL_LIMIT}")
            self._skip_after(size)
            return self._read(size, lambda content: self._special(flag, content))
        return self._member(block, flag, size)

    def _read(self, size: int, then: Callable[[bytes], Member | None]) -> Member | None:
        """Call ``then`` once ``size`` bytes were read; ``size`` may be 0."""
        if size == 0:
            return then(b"")
        self._wanted, self._then = size, then
        return None

    def _skip_after(self, size: int) -> None:
        """Remember the padding of the content's last block."""
        self._padding = -size % BLOCK

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

    def _member(self, block: bytes, flag: bytes, size: int) -> Member | None:
        records = self._extended | self._long
        self._forget()
        kind = _KINDS.get(flag, MemberKind.SPECIAL)
        name = records.get("GNU.sparse.name") or records.get("path") or _name(block)
        target = records.get("linkpath") or _text(block[157:257])
        mode = _number(block[100:108])
        if kind is MemberKind.FILE and flag == b"\0" and name.endswith("/"):
            kind = MemberKind.DIRECTORY
        # Links, directories and devices have no content, even if their header has a size.
        size = _decimal(records["size"]) if records.get("size") else size
        size = size if kind is MemberKind.FILE or flag not in _KINDS else 0
        holes = flag == b"S" or any(key.startswith("GNU.sparse.") for key in records)
        if flag == b"S" and block[482]:
            self._pending = (name, target, mode)
            return self._read(BLOCK, lambda more: self._sparse_map(more, size))
        if kind is not MemberKind.FILE or holes:
            self._skip = size + -size % BLOCK
            self._next_header()
            return Member(name, kind, target, mode, None)
        self._pending = (name, target, mode)
        return self._read(min(size, HEAD), lambda start: self._file(start, size))

    def _file(self, start: bytes, size: int) -> Member:
        self._skip = size - len(start) + -size % BLOCK
        self._next_header()
        name, target, mode = self._pending
        return Member(name, MemberKind.FILE, target, mode, start)

    def _sparse_map(self, block: bytes, size: int) -> Member | None:
        if block[504]:
            return None  # one more block of the map follows
        self._skip = size + -size % BLOCK
        self._next_header()
        name, target, mode = self._pending
        return Member(name, MemberKind.FILE, target, mode, None)


def _checksum_fits(block: bytes) -> bool:
    written = _number(block[_CHECKSUM])
    rest = block[: _CHECKSUM.start] + b" " * 8 + block[_CHECKSUM.stop :]
    total = sum(rest)
    # Some old writers summed signed bytes.
    return written == total or written == total - 256 * sum(byte >= _BASE_256 for byte in rest)


def _number(field: bytes) -> int:
    if field[0] & _BASE_256:
        if field[0] & _NEGATIVE:
            raise LayerError("negative number in a tar header")
        number = int.from_bytes(bytes([field[0] & ~_BASE_256]) + field[1:])
        if number > LARGEST:
            raise LayerError("number above 64 bits in a tar header")
        return number
    text = field.strip(b" \0").split(b"\0")[0].strip()
    found = whole_number(text.decode("latin-1"), 8) if text else 0
    if found is None:
        raise LayerError("invalid number in a tar header")
    return found


def _decimal(text: str) -> int:
    number = whole_number(text)
    if number is None:
        raise LayerError(f"invalid number {text[:20]!r} in a tar extended header")
    return number


def _name(block: bytes) -> str:
    name = _text(block[:100])
    # GNU's format has other fields in place of the POSIX prefix.
    prefix = _text(block[345:500]) if block[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


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
