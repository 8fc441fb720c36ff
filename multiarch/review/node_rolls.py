"""Which nodes are replaced, how many, at what pace, and for how long at most."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.review import group_rolls, karpenter_rolls
from multiarch.review.group_states import group_changes
from multiarch.review.merging import merged
from multiarch.review.model import Change, Finding
from multiarch.review.renames import successors
from multiarch.review.roll_rules import KEEP, REMOVE, ROLL

__all__ = ["RULES", "find"]

RULES = (ROLL, REMOVE, KEEP)


def find(change: Change) -> Iterator[Finding]:
    """Findings about node groups, then about Karpenter's nodes, each in the order of the preview's steps."""
    renamed = successors(group_changes(change))
    yield from group_rolls.find(change, renamed)
    yield from merged(karpenter_rolls.find(change))
