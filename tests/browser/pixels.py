"""The colors of a screenshot, so that a test can say what a person sees."""

from __future__ import annotations

import struct
import zlib
from collections import Counter

_SIGNATURE = 8
_BYTES = {2: 3, 6: 4}
"""Bytes of a pixel by the PNG's color type: RGB, RGBA."""


def colors(png: bytes) -> Counter[tuple[int, int, int]]:
    """How many pixels have each color. Takes PNGs as Chromium writes them: 8 bits, not interlaced.

    Source: https://www.w3.org/TR/png-3/#9Filters
    """
    chunks = list(_chunks(png))
    (header,) = (data for kind, data in chunks if kind == b"IHDR")
    width, _, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    assert (depth, interlaced) == (8, 0)
    size = _BYTES[kind]
    raw = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    found: Counter[tuple[int, int, int]] = Counter()
    above = bytes(width * size)
    for start in range(0, len(raw), width * size + 1):
        above = _unfiltered(raw[start], raw[start + 1 : start + 1 + width * size], above, size)
        found.update(zip(above[::size], above[1::size], above[2::size], strict=True))
    return found


def _chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], _SIGNATURE
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        found.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + length]))
        at += length + 12
    return found


def _unfiltered(kind: int, line: bytes, above: bytes, size: int) -> bytes:
    made = bytearray(line)
    for at, value in enumerate(line):
        left = made[at - size] if at >= size else 0
        corner = above[at - size] if at >= size else 0
        guess = (0, left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))[kind]
        made[at] = (value + guess) & 0xFF
    return bytes(made)


def _paeth(left: int, up: int, corner: int) -> int:
    estimate = left + up - corner
    return min((left, up, corner), key=lambda each: abs(estimate - each))
