"""What a file is, by its first bytes: an ELF file with its architecture, a script with its interpreter, or other."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

from multiarch.facts.architectures import Architecture, is_elf_without_processor, name_elf_machine, parse_elf_machine

HEAD = 256
"""Bytes of a file that are read: as many as the kernel reads to find a script's interpreter."""
_ELF_HEAD = 20
_CLASSES = {1: 32, 2: 64}
_ORDERS = {1: "<", 2: ">"}


@dataclass(frozen=True, slots=True)
class Elf:
    """An ELF header: ``e_machine``, word size in bits, byte order."""

    machine: int
    bits: int
    little_endian: bool

    @property
    def architecture(self) -> Architecture | None:
        """The architecture whose nodes can run it, or None."""
        return parse_elf_machine(self.machine, bits=self.bits, little_endian=self.little_endian)

    @property
    def is_for_a_processor(self) -> bool:
        """Whether it is CPU code: BPF programs and GPU code are not."""
        return not is_elf_without_processor(self.machine)

    def to_json(self) -> str:
        """Return what the header is for, in words."""
        return str(self)

    def __str__(self) -> str:
        """``arm64``; ``arm, 32-bit``; ``amd64 with 32-bit pointers``."""
        name = name_elf_machine(self.machine)
        if self.architecture is not None or not self.is_for_a_processor:
            return name
        known = name in set(Architecture)
        word = " with 32-bit pointers" if known and self.bits != 64 else "" if known else f", {self.bits}-bit"  # noqa: PLR2004 (bits)
        return f"{name}{word}" if self.little_endian else f"{name}{word}, big-endian"


@dataclass(frozen=True, slots=True)
class Script:
    """A file that starts with ``#!``: the interpreter's path, and its argument or an empty string."""

    interpreter: str
    argument: str


@dataclass(frozen=True, slots=True)
class OtherFile:
    """Any other file, described: ``neither an ELF file nor a script``."""

    what: str

    def __str__(self) -> str:
        """The description."""
        return self.what


Head = Elf | Script | OtherFile


def identify_file(start: bytes) -> Head:
    """Tell what a file is by its first :data:`HEAD` bytes, or the whole file if it is shorter.

    Sources: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html and, for ``#!``,
    https://github.com/torvalds/linux/blob/master/fs/binfmt_script.c
    """
    if start.startswith(b"\x7fELF"):
        return _elf(start[:_ELF_HEAD])
    if start.startswith(b"#!"):
        return _script(start[:HEAD])
    return OtherFile("neither an ELF file nor a script" if start else "an empty file")


# The thousands of files of an image have only a few different headers.
@lru_cache(maxsize=256)
def _elf(head: bytes) -> Elf | OtherFile:
    if len(head) < _ELF_HEAD:
        return OtherFile("a truncated ELF file")
    bits, order = _CLASSES.get(head[4]), _ORDERS.get(head[5])
    if bits is None or order is None:
        return OtherFile("an ELF file with an invalid header")
    (machine,) = struct.unpack_from(f"{order}H", head, 18)
    return Elf(machine, bits, order == "<")


def _script(head: bytes) -> Script | OtherFile:
    line, newline, _ = head[2:].partition(b"\n")
    interpreter, _, argument = line.replace(b"\t", b" ").strip(b" ").partition(b" ")
    # A line longer than what the kernel reads may lose part of its argument, but not of the interpreter.
    if not interpreter or (not newline and len(head) == HEAD and not argument):
        return OtherFile("a script with an incomplete first line")
    return Script(interpreter.decode(errors="replace"), argument.strip(b" ").decode(errors="replace"))
