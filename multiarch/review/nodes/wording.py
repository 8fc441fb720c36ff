"""Numbers in words, as findings write them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def duration(minutes: int) -> str:
    """``45 minutes``, ``1 hour 30 minutes``."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return counted(rest, "minute")
    return counted(hours, "hour") + (f" {counted(rest, 'minute')}" if rest else "")
