"""Numbers with their nouns, as messages and reports write them."""

from __future__ import annotations


def format_count(number: int, noun: str, *, separator: str = "") -> str:
    """Return ``1 warning``, ``2 warnings``; with a ``separator`` between thousands ``1,234 pods``."""
    return f"{number:{separator}} {noun}" if number == 1 else f"{number:{separator}} {noun}s"
