"""Unpack a stream piece by piece, with a bound on what is in memory at a time: pure.

What a layer is packed with is told from its first bytes, as runtimes do, not from its media type.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from typing import Protocol

from multiarch.errors import MultiarchError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE = 256 * 1024
"""The most bytes of unpacked content that are given out at a time."""
WINDOW_LOG = 25
"""Base-2 logarithm of the largest zstd window: 32 MiB. Builders use 8 MiB at most unless they are told otherwise."""
_MAGIC_LENGTH = 6
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
_REFUSED = ((b"\xfd7zXZ\x00", "xz"), (b"BZh", "bzip2"))


class LayerError(MultiarchError):
    """A layer that can't be read. The message goes on after ``the layer DIGEST``: ``is cut off``."""


class _Codec(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]: ...

    def whole(self) -> bool: ...


class Unpacker:
    """Unpacks one layer. ``feed`` it as it comes, then ``close`` it. Both raise LayerError."""

    def __init__(self) -> None:
        """Begin; what it is packed with shows with the first bytes."""
        self._start = b""
        self._codec: _Codec | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The unpacked content of the next bytes, in pieces of at most :data:`PIECE` where it was packed."""
        if self._codec is None:
            self._start += data
            if len(self._start) < _MAGIC_LENGTH:
                return
            data, self._start = self._start, b""
            self._codec = _codec(data)
        yield from self._codec.feed(data)

    def close(self) -> Iterator[bytes]:
        """The rest, where there was too little to tell what it is."""
        if self._codec is None:
            yield self._start
        elif not self._codec.whole():
            raise LayerError("is cut off: its compressed data does not end")


def _codec(start: bytes) -> _Codec:
    for magic, name in _REFUSED:
        if start.startswith(magic):
            raise LayerError(f"is packed with {name}, which is not among what image layers may be packed with")
    if start.startswith(_GZIP):
        return _Gzip()
    if start.startswith(_ZSTD) or (start[1:4] == _ZSTD_SKIPPABLE and start[0] & 0xF0 == 0x50):  # noqa: PLR2004 (magic)
        return _Zstd()
    return _Uncompressed()


class _Uncompressed:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data

    def whole(self) -> bool:
        return True


class _Gzip:
    """Gzip, also of many members one after the other: lazy-pulling builders make one for each file."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        full = False
        while data or full:
            if self._stream.eof:
                self._stream, self._begun = zlib.decompressobj(wbits=31), False
            self._begun = True
            try:
                piece = self._stream.decompress(data, PIECE)
            except zlib.error as error:
                raise LayerError(f"is damaged: {error}") from error
            if piece:
                yield piece
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            full = len(piece) == PIECE and not self._stream.eof

    def whole(self) -> bool:
        return self._stream.eof or not self._begun


class _Zstd:
    """Zstandard, also of many frames: zstd:chunked makes one for each file, and skippable ones."""

    def __init__(self) -> None:
        self._frame = self._new()
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self._frame.needs_input or self._frame.eof):
            if self._frame.eof:
                self._frame, self._begun = self._new(), False
            self._begun = True
            try:
                piece = self._frame.decompress(data, max_length=PIECE)
            except zstd.ZstdError as error:
                raise LayerError(f"is damaged, or needs more than {1 << WINDOW_LOG - 20} MiB: {error}") from error
            if piece:
                yield piece
            data = self._frame.unused_data if self._frame.eof else b""

    def whole(self) -> bool:
        return self._frame.eof or not self._begun

    def _new(self) -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
