"""Let the kernel run programs of arm64 through qemu-user: an entry of binfmt_misc, registered when it is missing.

The entry is the whole machine's: :mod:`.machine` knows who uses it. What was there before is not removed.
Source: https://docs.kernel.org/admin-guide/binfmt-misc.html.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from multiarch.errors import OutsideError

ENTRIES: Final = Path("/proc/sys/fs/binfmt_misc")
NAME: Final = "multiarch-eks-aarch64"
_REGISTERED, _MOUNTED = "registered", "mounted"
# The start of an ELF file for Linux on arm64, as qemu's scripts/qemu-binfmt-conf.sh has it: any of the file types.
_MAGIC: Final = bytes.fromhex("7f454c460201010000000000000000000200b700")
_MASK: Final = bytes.fromhex("ffffffffffffff00fffffffffffffffffeffffff")


class NoEmulationError(OutsideError):
    """This machine can't run arm64 programs, and can't be made to: the message says why."""


def register(notes: Path, interpreter: Path) -> None:
    """Register ``interpreter`` unless an entry serves already; files in ``notes`` say what :func:`unregister` undoes.

    Raises:
        NoEmulationError: binfmt_misc can't be used here.
    """
    try:
        if not (ENTRIES / "register").exists():
            _run(["mount", "-t", "binfmt_misc", "none", str(ENTRIES)])
            (notes / _MOUNTED).touch()
        if not registered():
            magic, mask = ("".join(f"\\x{byte:02x}" for byte in part) for part in (_MAGIC, _MASK))
            # F: the kernel opens the interpreter now, so that containers need not have it.
            (ENTRIES / "register").write_text(f":{NAME}:M::{magic}:{mask}:{interpreter}:F")
            (notes / _REGISTERED).touch()
    except OSError as error:
        raise NoEmulationError(f"binfmt_misc can't be used on this machine: {error}.") from error


def unregister(notes: Path) -> None:
    """Remove what :func:`register` has added. Raises OSError."""
    entry = ENTRIES / NAME
    if (notes / _REGISTERED).exists() and entry.exists():
        entry.write_text("-1")
    if (notes / _MOUNTED).exists() and ENTRIES.is_mount():
        _run(["umount", str(ENTRIES)])


def registered() -> bool:
    """Return whether the kernel runs arm64 programs, also those in containers: by an enabled entry with the flag F."""
    return any(_serves(file) for file in ENTRIES.iterdir() if file.name not in ("register", "status"))


def _serves(entry: Path) -> bool:
    try:
        lines = entry.read_text().splitlines()
    except OSError:
        return False
    fields = {name: value for name, _, value in (line.partition(" ") for line in lines)}
    magic = fields.get("magic", "")
    return "enabled" in fields and "F" in fields.get("flags:", "") and magic.endswith(_MAGIC.hex()[32:])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip() or f"{command[0]} failed")
