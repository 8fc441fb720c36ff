"""Unpack a layer that arrives in chunks, with the standard library and within limits. For a thread of its own.

As in container runtimes, the compression is detected by the first bytes, not by the media type.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self

from multiarch.errors import MultiarchError
from multiarch.images.elf import HEAD

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

EXTENDED_LIMIT = 1024 * 1024
"""Maximum bytes of the extended headers of one member."""
WINDOW_LOG = 25
"""Base-2 logarithm of the largest zstd window: 32 MiB. Builders use 8 MiB at most by default."""
_PIECE = 128 * 1024
_MAGIC_LENGTH = 4
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
_EXTENDED = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_FAULTS = (tarfile.TarError, EOFError, OSError, ValueError, OverflowError, RecursionError, zlib.error, zstd.ZstdError)

_Readable = io.BufferedReader | gzip.GzipFile | zstd.ZstdFile


class LayerError(MultiarchError):
    """A layer that can't be read. The message follows ``layer DIGEST: ``."""


class Chunks(io.RawIOBase):
    """A file of the chunks that another thread puts in; an empty one ends it. ``taken`` is called for each."""

    def __init__(self, taken: Callable[[], object]) -> None:
        """Wait for the first chunk."""
        self._waiting: SimpleQueue[bytes] = SimpleQueue()
        self._taken = taken
        self._rest = memoryview(b"")
        self._ended = False

    def put(self, chunk: bytes) -> None:
        """Add a chunk."""
        self._waiting.put(chunk)

    def readable(self) -> bool:
        """Return true."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill a part of the buffer: at least as much as tells the compression."""
        while not self._ended and len(self._rest) < _MAGIC_LENGTH:
            chunk = self._waiting.get()
            self._ended = not chunk
            self._rest = memoryview(bytes(self._rest) + chunk if self._rest else chunk)
            self._taken()
        room = memoryview(buffer)
        count = min(len(room), len(self._rest))
        room[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


class _Counted:
    """A file that tells ``count`` how many bytes are read."""

    def __init__(self, content: _Readable, count: Callable[[int], None]) -> None:
        self._content = content
        self._count = count

    def read(self, size: int) -> bytes:
        found = self._content.read(size)
        self._count(len(found))
        return found


class _Archive(tarfile.TarFile):
    extended = 0
    """Bytes of the extended headers that count now."""


class _Member(tarfile.TarInfo):
    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(archive)
        except (tarfile.EOFHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            # Left to tarfile, an invalid header ends the archive as if it were whole.
            raise LayerError(f"invalid tar header: {error}") from error

    def _proc_member(self, archive: _Archive) -> Self:
        if self.type not in _EXTENDED:
            archive.extended = 0
        elif self.size > EXTENDED_LIMIT or archive.extended > EXTENDED_LIMIT:
            raise LayerError(f"tar extended headers of more than {EXTENDED_LIMIT} bytes")
        else:
            archive.extended += self.size
        if self.type == tarfile.XGLTYPE:
            # As in Go, a global header is ignored.
            archive.fileobj.read(self.size + -self.size % tarfile.BLOCKSIZE)
            return self.fromtarfile(archive)
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise LayerError("sparse files are not supported")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]

    def _reject_sparse(self, *_: object) -> None:
        raise LayerError("sparse files are not supported")

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _reject_sparse


def read_members(source: Chunks, count: Callable[[int], None]) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Yield the members of a layer, each with the first bytes of a file (at most ``HEAD``). Nothing is kept.

    ``count`` is told of all unpacked bytes, and may raise TimeoutError or LayerError.

    Raises:
        LayerError: the layer is damaged or truncated, or has sparse files or extended headers above the limit.
    """
    try:
        content = _Counted(_unpacked(io.BufferedReader(source, _PIECE)), count)
        with _Archive.open(  # type: ignore[call-overload]
            fileobj=content,
            mode="r|", bufsize=_PIECE, tarinfo=_Member, encoding="utf-8", errors="surrogateescape",
        ) as archive:  # fmt: skip
            while (member := archive.next()) is not None:
                archive.members.clear()
                file = archive.extractfile(member) if member.isreg() else None
                yield member, b"" if file is None else file.read(HEAD)
        while content.read(_PIECE):
            pass  # what is behind the archive may be damaged
    except TimeoutError:
        raise
    except _FAULTS as error:
        raise LayerError(f"it can't be unpacked: {error}") from error


def _unpacked(packed: io.BufferedReader) -> _Readable:
    start = packed.peek(_MAGIC_LENGTH)[:_MAGIC_LENGTH]
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=packed)
    if start.startswith(_ZSTD) or (start[1:] == _ZSTD_SKIPPABLE and start[0] & 0xF0 == 0x50):  # noqa: PLR2004 (magic)
        return zstd.ZstdFile(packed, options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
    return packed
