"""Numbers with their nouns, as messages and reports write them."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str, *, separator: str = "") -> str:
    """``1 warning``, ``2 warnings``; with a ``separator`` between thousands ``1,234 pods``."""
    return f"{number:{separator}} {noun}" if number == 1 else f"{number:{separator}} {noun}s"


def describe_without_pods(kinds: Sequence[tuple[str, int]]) -> str:
    """Return ``3 objects create no pods: ConfigMap 2, Service 1``."""
    total = sum(count for _, count in kinds)
    create = "creates" if total == 1 else "create"
    return f"{counted(total, 'object')} {create} no pods: {', '.join(f'{kind} {count}' for kind, count in kinds)}"
