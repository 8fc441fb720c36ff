"""Long lists in parts that an API takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def slices(items: Sequence[str], size: int) -> Iterator[list[str]]:
    """The items in lists of at most ``size``. An empty list has none."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
