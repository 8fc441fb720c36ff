"""A recommendation written into a stack file, whose comments and every other byte stay."""

from __future__ import annotations

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
