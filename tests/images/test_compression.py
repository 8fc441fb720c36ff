"""Layers are unpacked piece by piece, whatever they are packed with and however they arrive."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.images.compression import PIECE, LayerError, Unpacker

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CONTENTS = st.lists(st.binary(max_size=4000) | st.integers(1, 3 * PIECE).map(bytes), min_size=1, max_size=3)
MAGIC = (
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ\x00",
    b"BZh",
    *(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16)),
)
"""What packed content starts with."""
SKIPPABLE = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"note"


def unpacked(content: bytes, size: int) -> bytes:
    unpacker = Unpacker()
    out = [piece for at in range(0, len(content), size) for piece in unpacker.feed(content[at : at + size])]
    return b"".join([*out, *unpacker.close()])


@given(CONTENTS, st.integers(1, 5000))
def test_gzip_of_many_members_is_their_contents_joined(contents: list[bytes], size: int) -> None:
    packed = b"".join(gzip.compress(content) for content in contents)
    assert unpacked(packed, size) == b"".join(contents)


@given(CONTENTS, st.integers(1, 5000))
def test_zstd_of_many_frames_is_their_contents_joined(contents: list[bytes], size: int) -> None:
    packed = SKIPPABLE + b"".join(zstd.compress(content) + SKIPPABLE for content in contents)
    assert unpacked(packed, size) == b"".join(contents)


@given(st.binary(max_size=2000).filter(lambda content: not content.startswith(MAGIC)), st.integers(1, 100))
def test_what_is_not_packed_stays_as_it_is(content: bytes, size: int) -> None:
    assert unpacked(content, size) == content


def test_a_bomb_comes_in_pieces_that_are_bounded() -> None:
    bomb = bytes(64 * 1024 * 1024)
    for packed in (gzip.compress(bomb), zstd.compress(bomb, 19)):
        unpacker, total = Unpacker(), 0
        for piece in unpacker.feed(packed):
            assert len(piece) <= PIECE
            total += len(piece)
        assert total == len(bomb)


@pytest.mark.parametrize("packed", [gzip.compress(os.urandom(5000)), zstd.compress(os.urandom(5000))])
def test_what_is_cut_off_or_damaged_is_said_so(packed: bytes) -> None:
    with pytest.raises(LayerError, match="truncated"):
        unpacked(packed[:-3], 1000)
    with pytest.raises(LayerError, match=r"invalid (gzip|zstd) data"):
        unpacked(packed[:8] + b"\xff\xff\xff\xff" + packed[12:], 1000)


def test_data_behind_the_end_that_is_not_a_further_member_is_damage() -> None:
    with pytest.raises(LayerError, match="invalid gzip data"):
        unpacked(gzip.compress(b"a") + b"more", 1000)


def test_a_zstd_window_of_more_than_32_mib_is_refused() -> None:
    option = zstd.CompressionParameter
    large = zstd.compress(os.urandom(1000) * 1000, options={option.window_log: 27, option.content_size_flag: 0})
    compressor = zstd.ZstdCompressor(options={option.window_log: 27})
    large = compressor.compress(os.urandom(100)) + compressor.flush()
    with pytest.raises(LayerError, match="32 MiB"):
        unpacked(large, 1000)


@given(st.sampled_from(MAGIC), st.binary(max_size=500), st.integers(1, 100))
def test_any_bytes_are_unpacked_or_rejected(magic: bytes, content: bytes, size: int) -> None:
    with contextlib.suppress(LayerError):
        unpacked(magic + content, size)
