"""Atomic file writes: a reader sees either the old file or the new one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from multiarch.errors import MultiarchError

_NEW_FILE = 0o644


def write_atomically(path: Path, text: str) -> None:
    """Write UTF-8 with the line ends of ``text``. An existing file keeps its mode; a symbolic link stays one.

    Raises MultiarchError if the folder can't be written, or if the path exists and is not a file.
    """
    link, path = path, Path(os.path.realpath(path))
    if os.path.lexists(path) and not path.is_file():
        raise MultiarchError(f"{link} can't be written: not a regular file.")
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else _NEW_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            Path(temporary).chmod(mode)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise MultiarchError(f"{link} can't be written: {error.strerror or error}.") from error
