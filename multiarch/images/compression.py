"""Decompress a layer as a stream, with bounded memory: pure.

As in container runtimes, the compression is detected by the first bytes, not by the media type.
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
"""The most bytes of decompressed content that are yielded at a time."""
WINDOW_LOG = 25
"""Base-2 logarithm of the largest zstd window: 32 MiB. Builders use 8 MiB at most by default."""
_MAGIC_LENGTH = 4
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"


class LayerError(MultiarchError):
    """A layer that can't be read. The message follows ``layer DIGEST: ``."""


class _Codec(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]: ...

    def complete(self) -> bool: ...


class Unpacker:
    """Decompresses one layer. ``feed`` it the data, then ``close`` it. Both raise LayerError."""

    def __init__(self) -> None:
        """Start; the first bytes tell the compression."""
        self._start = b""
        self._codec: _Codec | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decompressed content of the next bytes, in chunks of at most :data:`PIECE`."""
        if self._codec is None:
            self._start += data
            if len(self._start) < _MAGIC_LENGTH:
                return
            data, self._start = self._start, b""
            self._codec = _codec(data)
        yield from self._codec.feed(data)

    def close(self) -> Iterator[bytes]:
        """The rest, if the layer is too short to detect its compression."""
        if self._codec is None:
            yield self._start
        elif not self._codec.complete():
            raise LayerError("truncated compressed data")


def _codec(start: bytes) -> _Codec:
    if start.startswith(_GZIP):
        return _Gzip()
    if start.startswith(_ZSTD) or (start[1:4] == _ZSTD_SKIPPABLE and start[0] & 0xF0 == 0x50):  # noqa: PLR2004 (magic)
        return _Zstd()
    return _Uncompressed()


class _Uncompressed:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data

    def complete(self) -> bool:
        return True


class _Gzip:
    """Gzip with any number of members: builders for lazy pulling write one per file."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        full = False
        while data or full:
            if self._stream.eof:
                self._stream, self._started = zlib.decompressobj(wbits=31), False
            self._started = True
            try:
                piece = self._stream.decompress(data, PIECE)
            except zlib.error as error:
                raise LayerError(f"invalid gzip data: {error}") from error
            if piece:
                yield piece
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            full = len(piece) == PIECE and not self._stream.eof

    def complete(self) -> bool:
        return self._stream.eof or not self._started


class _Zstd:
    """Zstandard with any number of frames, also skippable ones: zstd:chunked writes one per file."""

    def __init__(self) -> None:
        self._frame = self._new()
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self._frame.needs_input or self._frame.eof):
            if self._frame.eof:
                self._frame, self._started = self._new(), False
            self._started = True
            try:
                piece = self._frame.decompress(data, max_length=PIECE)
            except zstd.ZstdError as error:
                raise LayerError(f"invalid zstd data, or a window above {1 << WINDOW_LOG - 20} MiB: {error}") from error
            if piece:
                yield piece
            data = self._frame.unused_data if self._frame.eof else b""

    def complete(self) -> bool:
        return self._frame.eof or not self._started

    def _new(self) -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
