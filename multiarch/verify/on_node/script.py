"""The script that a node runs to report about itself."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

ID_DIGITS: Final = "0123456789abcdef"
"""The digits that a container's ID may begin with."""

_FILES: Final = Path(__file__).parent / "shell"


def build_node_script(*, containers: bool = False, ids: str = ID_DIGITS) -> str:
    """Return the read-only script for the shell of a node (dash, busybox ash, bash); :mod:`.report` reads its output.

    With ``containers``, it reports the running containers instead of the kubelet and its programs: those whose IDs
    begin with a digit of ``ids``. Raises ValueError for other characters in ``ids``.
    """
    if not ids or not set(ids) <= set(ID_DIGITS):
        raise ValueError(f"ids must be digits of {ID_DIGITS}: {ids!r}")
    parts = ("common", "containers" if containers else "node", "print")
    return "\n".join((f"ids={ids}", *map(_code, parts), ""))


@cache
def _code(name: str) -> str:
    """Return a file of the script without the comments, which every node would be sent."""
    lines = (_FILES / f"{name}.sh").read_text(encoding="ascii").splitlines()
    return "\n".join(line for line in lines if line and not line.startswith("#"))
