"""A recommendation written into a stack file, whose comments and every other byte stay."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from multiarch.capacity.recommendation.changes import Change
from multiarch.stack.writing import NewValue, write_values

_BELOW = {"maxSize": "minSize", "desiredSize": "minSize"}


def patched(text: str, changes: Sequence[Change]) -> str:
    """Return a stack file's text with the changes made.

    Raises MultiarchError for a value that other groups share by an alias, or that is merged in.
    """
    values = [NewValue(each.key, each.new, below=_BELOW.get(each.key[-1], "instanceTypes")) for each in changes]
    return write_values(text, values)


def difference(name: str, old: str, new: str) -> str:
    """A patch as ``diff -u`` writes it, for ``git apply``; empty where nothing changes."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), fromfile=f"a/{name}", tofile=f"b/{name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
