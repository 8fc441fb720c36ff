"""Numbers with their nouns, and lists of names, as messages and reports write them."""

from __future__ import annotations

from collections.abc import Sequence


def format_count(number: int, noun: str, *, separator: str = "") -> str:
    """Return ``1 warning``, ``2 warnings``; with a ``separator`` between thousands ``1,234 pods``."""
    return f"{number:{separator}} {noun}" if number == 1 else f"{number:{separator}} {noun}s"


def join_names(names: Sequence[str], most: int) -> str:
    """Return ``a, b and 3 more``: the first ``most`` names, and how many others there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
