"""What a file is, told from its first bytes; on real programs for six kinds of machines."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.architectures import Architecture
from multiarch.images.elf import HEAD, Elf, OtherFile, Script, identify_file
from tests.images.binaries import program


@pytest.mark.tools
@pytest.mark.parametrize(
    ("target", "architecture", "words"),
    [
        ("linux/amd64", Architecture.AMD64, "amd64"),
        ("linux/arm64", Architecture.ARM64, "arm64"),
        ("linux/arm", None, "arm, 32-bit"),
        ("linux/386", None, "386, 32-bit"),
        ("linux/riscv64", None, "riscv, 64-bit"),
    ],
)
def test_a_real_program_s_header_says_its_machine(target: str, architecture: Architecture | None, words: str) -> None:
    head = identify_file(program(target)[:HEAD])
    assert isinstance(head, Elf)
    assert head.architecture is architecture
    assert str(head) == words


def made(machine: int, bits: int = 2, order: int = 1) -> bytes:
    return b"\x7fELF" + bytes([bits, order, 1]) + bytes(9) + struct.pack(f"{'<' if order == 1 else '>'}HH", 2, machine)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (made(62, bits=1), "amd64 with 32-bit pointers"),
        (made(183, bits=1), "arm64 with 32-bit pointers"),
        (made(183, order=2), "arm64, big-endian"),
        (made(22, order=2), "s390x, 64-bit, big-endian"),
        (made(9999), "machine 9999, 64-bit"),
    ],
)
def test_a_machine_in_another_word_size_or_byte_order_is_not_the_architecture(head: bytes, words: str) -> None:
    read = identify_file(head)
    assert isinstance(read, Elf)
    assert read.architecture is None
    assert str(read) == words
    assert read.is_for_a_processor


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"#!/bin/sh\necho", Script("/bin/sh", "")),
        (b"#! /usr/bin/env  python3 \nprint()", Script("/usr/bin/env", "python3")),
        (b"#!/usr/bin/env -S node --flag\n", Script("/usr/bin/env", "-S node --flag")),
        (b"#!/bin/sh", Script("/bin/sh", "")),
        (b"#!\tsh\t-e\n", Script("sh", "-e")),
        (b"#!\n", OtherFile("a script with an incomplete first line")),
        (b"#!/" + b"a" * 300, OtherFile("a script with an incomplete first line")),
        (b"\x7fELF\x02", OtherFile("a truncated ELF file")),
        (made(62, bits=3), OtherFile("an ELF file with an invalid header")),
        (b"", OtherFile("an empty file")),
        (b"hello", OtherFile("neither an ELF file nor a script")),
    ],
)
def test_scripts_and_other_files_are_told_apart(start: bytes, expected: Script | OtherFile) -> None:
    assert identify_file(start) == expected


@given(st.binary(max_size=HEAD), st.sampled_from([b"", b"#!", b"\x7fELF", b"\x7fELF\x02\x01"]))
def test_any_bytes_are_something(content: bytes, magic: bytes) -> None:
    identify_file(magic + content)
