"""Layers are unpacked whatever they are packed with and however they arrive; damage and what is too large is told."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
import tracemalloc
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.images.elf import HEAD
from multiarch.images.unpacking import EXTENDED_LIMIT, Chunks, LayerError, read_members
from tests.images.archives import File, Folder, HardLink, Part, Symlink, archive

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BLOCK = tarfile.BLOCKSIZE
Row = tuple[str, bytes, str, int, bytes]
"""Name, type, link target, mode and first bytes."""
_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)
_SHORT = st.text("abcdefgh.-_", min_size=1, max_size=20)
_PATHS = st.lists(_WORDS | _SHORT.map(lambda text: text * 12), min_size=1, max_size=4).map("/".join)
_PARTS = st.one_of(
    st.builds(File, _PATHS, st.binary(max_size=2000), st.sampled_from([0o755, 0o644, 0o4755])),
    st.builds(Folder, _PATHS),
    st.builds(Symlink, _PATHS, _PATHS),
    st.builds(HardLink, _PATHS, _PATHS),
)
SKIPPABLE = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"note"
PACKERS: Sequence[Callable[[bytes], bytes]] = (
    lambda content: content,
    lambda content: gzip.compress(content[:700]) + gzip.compress(content[700:]),
    lambda content: SKIPPABLE + zstd.compress(content[:700]) + SKIPPABLE + zstd.compress(content[700:]),
)


def read(content: bytes, size: int = 700, count: Callable[[int], None] = lambda _: None) -> list[Row]:
    source = Chunks(lambda: None)
    for at in range(0, len(content), size):
        source.put(content[at : at + size])
    source.put(b"")
    return [
        (each.name.removesuffix("/"), each.type, each.linkname, each.mode, start)
        for each, start in read_members(source, count)
    ]


def names(content: bytes) -> list[str]:
    return [row[0] for row in read(content)]


def by_the_library(content: bytes) -> list[Row]:
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        files = [(info, tar.extractfile(info) if info.isreg() else None) for info in tar]
        return [
            (info.name, info.type, info.linkname, info.mode, b"" if file is None else file.read(HEAD))
            for info, file in files
        ]


@given(
    parts=st.lists(_PARTS, max_size=6),
    form=st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]),
    pack=st.sampled_from(PACKERS),
    size=st.integers(1, 3000),
)
def test_members_are_those_that_were_packed(
    parts: Sequence[Part], form: int, pack: Callable[[bytes], bytes], size: int
) -> None:
    content = archive(parts, form=form)
    assert read(pack(content), size) == by_the_library(content)


def test_an_archive_without_its_end_mark_is_whole_and_one_that_ends_in_a_member_is_not() -> None:
    content = archive([File("a", b"x" * 1000)])
    assert names(content[: BLOCK * 3]) == ["a"]
    for length in (100, BLOCK + 100, BLOCK * 2):
        with pytest.raises(LayerError):
            read(content[:length])


def test_a_damaged_header_behind_a_member_is_no_end() -> None:
    content = archive([File("a", b"x"), File("b", b"y")])
    with pytest.raises(LayerError, match="bad checksum"):
        read(content[: BLOCK * 2] + b"?" + content[BLOCK * 2 + 1 :])


def extended(kind: bytes, **records: str) -> bytes:
    """A pax header alone."""
    header = tarfile.TarInfo.create_pax_global_header(records)
    info = tarfile.TarInfo.frombuf(header[:BLOCK], "utf-8", "strict")
    info.type = kind
    return info.tobuf(tarfile.USTAR_FORMAT) + header[BLOCK:]


def test_a_global_header_counts_for_no_member() -> None:
    assert names(extended(tarfile.XGLTYPE, path="everywhere") + archive([Symlink("old", "to")])) == ["old"]


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_no_number_of_extended_headers_fills_the_memory(kind: bytes) -> None:
    large = "x" * (EXTENDED_LIMIT // 2)
    content = b"".join(extended(kind, **{f"comment{number}": large}) for number in range(20))
    tracemalloc.start()
    try:
        with pytest.raises(LayerError, match="tar extended headers"):
            read(content + archive([File("a")]))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2 * len(content) + 10 * EXTENDED_LIMIT
    with pytest.raises(LayerError):
        read(extended(kind, a="b") * 2000 + archive([File("a")]))


def test_a_link_s_size_is_not_content() -> None:
    info = tarfile.TarInfo("link")
    info.type, info.linkname, info.size = tarfile.SYMTYPE, "to", 5000
    assert names(info.tobuf() + archive([File("next")])) == ["link", "next"]


def test_sparse_files_are_rejected() -> None:
    info = tarfile.TarInfo("a")
    info.type = tarfile.GNUTYPE_SPARSE
    for content in (info.tobuf(), *(extended(tarfile.XHDTYPE, **each) + archive([File("a")]) for each in SPARSE)):
        with pytest.raises(LayerError, match="sparse files are not supported"):
            read(content)


SPARSE = (
    {"GNU.sparse.map": "0,1"},
    {"GNU.sparse.size": "1"},
    {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"},
)


@pytest.mark.exhaustive
def test_a_bomb_comes_in_pieces_that_are_bounded() -> None:
    bomb = archive([File("zeros", bytes(64 * 1024 * 1024))])
    for packed in (gzip.compress(bomb), zstd.compress(bomb, 19)):
        pieces: list[int] = []
        assert len(read(packed, count=pieces.append)) == 1
        assert max(pieces) <= 1024 * 1024
        assert sum(pieces) >= len(bomb)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_what_is_cut_off_or_damaged_is_said_so(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(archive([File("a", os.urandom(50_000))]))
    for content in (packed[:-3], packed[:8] + b"\xff\xff\xff\xff" + packed[12:], packed + b"more"):
        with pytest.raises(LayerError, match="it can't be unpacked"):
            read(content)


def test_a_zstd_window_of_more_than_32_mib_is_rejected() -> None:
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    large = compressor.compress(archive([File("a")])) + compressor.flush()
    with pytest.raises(LayerError, match="too much memory"):
        read(large, 1000)
