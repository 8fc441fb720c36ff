"""What a layer does to the file tree, within bounds."""

from __future__ import annotations

import gzip

import pytest

from multiarch.images.elf import Elf, Script
from multiarch.images.layers import Layer, LayerBudget, PlainNode, Program, SymbolicLink, is_layer
from multiarch.images.unpacking import LayerError
from tests.images.archives import File, Folder, HardLink, Part, Symlink, archive, read_now
from tests.images.binaries import program

ARM64 = Elf(183, 64, little_endian=True)


def read(*parts: Part, limits: LayerBudget | None = None) -> Layer:
    return read_now(gzip.compress(archive(parts)), limits)


@pytest.mark.tools
def test_programs_links_and_folders_are_remembered() -> None:
    got = read(
        Folder("bin/"),
        File("./bin/tool", program("linux/arm64")),
        File("bin/run", b"#!/bin/tool\n"),
        File("etc/config", b"a: b", 0o644),
        Symlink("sbin", "bin"),
        HardLink("bin/other", "bin/tool"),
        HardLink("bin/elsewhere", "usr/bin/missing"),
    )
    assert got.nodes == {
        "bin": PlainNode.DIRECTORY,
        "bin/tool": Program(ARM64),
        "bin/run": Program(Script("/bin/tool", "")),
        "etc/config": PlainNode.FILE,
        "sbin": SymbolicLink("bin"),
        "bin/other": Program(ARM64),
        "bin/elsewhere": SymbolicLink("/usr/bin/missing"),
    }
    assert got.folders == {"etc"}
    assert set(got.elves) == {"bin/tool", "bin/other"}


@pytest.mark.tools
def test_the_last_of_two_members_of_one_name_counts() -> None:
    got = read(File("a", program("linux/arm64")), File("a", b"text", 0o644))
    assert got.nodes == {"a": PlainNode.FILE}
    assert got.elves == {}


def test_whiteouts_hide_what_lies_below_and_nothing_of_their_own_layer() -> None:
    got = read(File("a/.wh.gone"), File(".wh.top"), File("b/.wh..wh..opq"), File("b/new"), File("c/.wh..wh.plnk"))
    assert got.removed == {"a/gone", "top"}
    assert got.opaque == {"b"}
    assert set(got.nodes) == {"b/new"}
    assert [path for path in ("a/gone", "a/gone/deep", "a/other", "top", "b", "b/old", "c/x") if got.hides(path)] == [
        "a/gone",
        "a/gone/deep",
        "top",
        "b/old",
    ]


def test_a_file_or_link_hides_a_directory_s_content_below() -> None:
    got = read(Symlink("lib", "usr/lib"), File("etc", b"", 0o644))
    assert got.hides("lib/a.so")
    assert got.hides("etc/passwd")
    assert not got.hides("usr/lib/a.so")


def test_no_name_leads_out_of_the_root() -> None:
    got = read(File("../../etc/passwd"), File("/abs"), File("a/./b//c"), Folder("./"))
    assert set(got.nodes) == {"etc/passwd", "abs", "a/b/c"}


def test_a_bomb_ends_at_the_limit_of_bytes() -> None:
    bomb = gzip.compress(archive([File("zeros", bytes(20_000_000))]))
    with pytest.raises(LayerError, match="larger than the limit of 1000000 bytes uncompressed"):
        read_now(bomb, LayerBudget(unpacked=1_000_000))


@pytest.mark.parametrize("kind", [lambda n: File(f"f{n}"), lambda n: File(f"{n}/.wh.x"), lambda n: File(f"{n}/a/b/c")])
def test_any_number_of_paths_ends_at_the_limit_of_paths(kind: type) -> None:
    parts: list[Part] = [kind(number) for number in range(50)]
    with pytest.raises(LayerError, match="more than the limit of 40 paths"):
        read(*parts, limits=LayerBudget(paths=40))


def test_encrypted_layers_and_other_blobs_are_not_layers() -> None:
    assert is_layer("application/vnd.oci.image.layer.v1.tar+gzip")
    assert is_layer("application/vnd.oci.image.layer.nondistributable.v1.tar+zstd")
    assert is_layer("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip")
    assert not is_layer("application/vnd.oci.image.layer.v1.tar+gzip+encrypted")
    assert not is_layer("application/vnd.in-toto+json")
