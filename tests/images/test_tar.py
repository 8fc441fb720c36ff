"""The archive reader against the standard library's, and on what is damaged or meant to hurt."""

from __future__ import annotations

import io
import tarfile
import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.images.compression import LayerError
from multiarch.images.elf import HEAD
from multiarch.images.tar import BLOCK, SPECIAL_LIMIT, Member, MemberKind, TarReader
from tests.images.archives import File, Folder, HardLink, Part, Symlink, archive

FORMS = (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)
_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)
_SHORT = st.text("abcdefgh.-_", min_size=1, max_size=20)
_PATHS = st.lists(_WORDS | _SHORT.map(lambda text: text * 12), min_size=1, max_size=4).map("/".join)
_PARTS = st.one_of(
    st.builds(File, _PATHS, st.binary(max_size=2000), st.sampled_from([0o755, 0o644, 0o4755])),
    st.builds(Folder, _PATHS),
    st.builds(Symlink, _PATHS, _PATHS),
    st.builds(HardLink, _PATHS, _PATHS),
)


def read(content: bytes, size: int = 700) -> list[Member]:
    reader = TarReader()
    members = [member for at in range(0, len(content), size) for member in reader.feed(content[at : at + size])]
    reader.close()
    return members


def by_the_library(content: bytes) -> list[Member]:
    found = []
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for info in tar:
            file = tar.extractfile(info) if info.isreg() else None
            start = b"" if file is None else file.read(HEAD)
            kind = (
                MemberKind.FILE
                if info.isreg()
                else MemberKind.DIRECTORY
                if info.isdir()
                else MemberKind.SYMLINK
                if info.issym()
                else MemberKind.HARD_LINK
            )
            found.append(Member(info.name, kind, info.linkname, info.mode, start))
    return found


@pytest.mark.parametrize("form", FORMS[:2])
@given(parts=st.lists(_PARTS, max_size=6), size=st.integers(1, 3000))
def test_members_are_those_that_the_standard_library_reads(form: int, parts: Sequence[Part], size: int) -> None:
    content = archive(parts, form=form)
    ours = [
        Member(member.name.removesuffix("/"), member.kind, member.target, member.mode, member.start)
        for member in read(content, size)
    ]
    theirs = by_the_library(content)
    assert ours == [
        Member(member.name.removesuffix("/"), member.kind, member.target, member.mode, member.start)
        for member in theirs
    ]


def test_numbers_too_large_for_octal_digits_are_read() -> None:
    info = tarfile.TarInfo("large")
    info.size = 9 * 1024**3
    header = info.tobuf(tarfile.GNU_FORMAT)
    assert header[124] & 0x80
    reader = TarReader()
    (member,) = reader.feed(header + bytes(HEAD))
    assert member == Member("large", MemberKind.FILE, "", 0o644, bytes(HEAD))
    with pytest.raises(LayerError, match="truncated"):
        reader.close()


def test_an_archive_without_its_end_mark_is_whole_and_one_that_ends_in_a_member_is_not() -> None:
    content = archive([File("a", b"x" * 1000)])
    assert len(read(content[: BLOCK * 3])) == 1
    for length in (100, BLOCK + 100, BLOCK * 2):
        with pytest.raises(LayerError, match="truncated"):
            read(content[:length])


def test_an_extended_header_of_any_size_is_not_kept() -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, SPECIAL_LIMIT + 1
    with pytest.raises(LayerError, match="extended header of 1048577 bytes"):
        read(info.tobuf(tarfile.GNU_FORMAT))


def extended(kind: bytes, **records: str) -> bytes:
    """A pax header alone."""
    header = tarfile.TarInfo.create_pax_global_header(records)
    info = tarfile.TarInfo.frombuf(header[:BLOCK], "utf-8", "strict")
    info.type = kind
    return info.tobuf(tarfile.USTAR_FORMAT) + header[BLOCK:]


def test_of_several_extended_headers_the_last_counts_and_none_for_all_members() -> None:
    twice = extended(tarfile.XHDTYPE, linkpath="away") + extended(tarfile.XHDTYPE, path="new")
    link = archive([Symlink("old", "to")])
    assert [(member.name, member.target) for member in read(twice + link)] == [("new", "to")]
    assert [member.name for member in read(extended(tarfile.XGLTYPE, path="everywhere") + link)] == ["old"]


def test_no_number_of_extended_headers_fills_the_memory() -> None:
    reader = TarReader()
    large = "x" * (SPECIAL_LIMIT - 100)
    tracemalloc.start()
    try:
        for kind in (tarfile.XHDTYPE, tarfile.XGLTYPE):
            for number in range(20):
                assert list(reader.feed(extended(kind, **{f"comment{number}": large}))) == []
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 10 * SPECIAL_LIMIT


def test_a_link_s_size_is_not_content() -> None:
    info = tarfile.TarInfo("link")
    info.type, info.linkname, info.size = tarfile.SYMTYPE, "to", 5000
    assert [member.name for member in read(info.tobuf() + archive([File("next")]))] == ["link", "next"]


@pytest.mark.parametrize(
    "records",
    [b"x", b"999 path=a\n", b"11 path=abcd", b"9 patha\n\n", b"-4 a=\n", b"0 a=b\n"],
)
def test_a_damaged_extended_header_is_refused(records: bytes) -> None:
    info = tarfile.TarInfo("header")
    info.type, info.size = tarfile.XHDTYPE, len(records)
    with pytest.raises(LayerError):
        read(info.tobuf(tarfile.USTAR_FORMAT) + records + bytes(-len(records) % BLOCK) + archive([File("a")]))
