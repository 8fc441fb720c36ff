"""Files that a user names: read up to a limit, because a device may never end, and written in one step."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import BinaryIO

from multiarch.errors import MultiarchError

STANDARD_INPUT, STANDARD_INPUT_NAME = "-", "standard input"
MANIFESTS = 1_000_000_000
"""Bytes of manifests: ``kubectl get`` prints some hundred million for the largest clusters."""
SETTINGS = 10_000_000
"""Bytes of a configuration file, a certificate or a list of images."""
_PART = 1 << 20
_ENDLESS = ("/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_NEW_FILE = 0o666


def read_bytes(path: Path, most: int = SETTINGS) -> bytes:
    """Read a file or a pipe.

    Raises OSError as :func:`open` does, and for a device without an end, for more than ``most`` bytes, and for a
    path with a NUL character. Its ``strerror`` says why.
    """
    reject_device(path)
    with path.open("rb") as opened:
        return _read(opened, most, str(path))


def read_text(path: Path, most: int = SETTINGS) -> str:
    """Read a file in UTF-8. Raises OSError as :func:`read_bytes`, and UnicodeDecodeError."""
    return read_bytes(path, most).decode("utf-8")


def read_input(name: str | Path, most: int = SETTINGS) -> str:
    """Read a file, or all of standard input for ``-``, in UTF-8. Raises MultiarchError, which says why not."""
    try:
        if name != STANDARD_INPUT:
            return read_text(Path(name), most)
        # A terminal's locale may let any bytes pass as text that nothing can print or parse.
        stream = getattr(sys.stdin, "buffer", None)
        return sys.stdin.read() if stream is None else _read(stream, most, STANDARD_INPUT_NAME).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise MultiarchError(f"{format_input(name)} can't be read: {why}.") from error


def format_input(name: str | Path) -> str:
    """Return a file as messages name it: ``a.yaml``, or ``standard input`` for ``-``."""
    return STANDARD_INPUT_NAME if name == STANDARD_INPUT else str(name)


def find_home() -> Path | None:
    """Return the home folder. None without HOME for a user ID that the system does not know, as in some containers."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def reject_device(path: Path) -> None:
    """Raise OSError for a device that has no end, and for a path with a NUL character."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "the path contains a NUL character", str(path))
    if os.path.realpath(path) in _ENDLESS:
        raise OSError(errno.EINVAL, "it is a device", str(path))


def _read(opened: BinaryIO, most: int, name: str) -> bytes:
    content = bytearray()
    while len(content) <= most and (part := opened.read(_PART)):
        content += part
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most // 1_000_000} MB", name)
    return bytes(content)


def write_atomically(path: Path, text: str) -> None:
    """Write UTF-8 with the line ends of ``text``: a reader sees either the old file or the new one.

    An existing file keeps its mode; a new one gets that of the process (umask). A symbolic link stays one. Raises
    MultiarchError if the folder can't be written, if the path exists and is not a file, and for ``-``.
    """
    if str(path) == "-":
        raise MultiarchError("- can't be written: this output goes to a file.", hint="Give the file's name.")
    link, path = path, Path(os.path.realpath(path))
    if os.path.lexists(path) and not path.is_file():
        raise MultiarchError(f"{link} can't be written: not a regular file.")
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = get_path_beside(path)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _NEW_FILE if mode is None else mode)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            if mode is not None:
                temporary.chmod(mode)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise MultiarchError(f"{link} can't be written: {error.strerror or error}.") from error


def get_path_beside(path: Path) -> Path:
    """Return a new hidden name beside ``path``, for what takes its place when it is complete."""
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}")
