"""Groups that get another name: for the engine a new group and a deleted one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from multiarch.review.nodes.group_states import GroupChange, GroupState


def find_renames(groups: Sequence[GroupChange]) -> Mapping[str, str]:
    """Return, by their subjects, removed groups with a new one that alone has their nodes: ``a is renamed to b``."""
    gone = [group for group in groups if group.before and not group.after]
    added = [group for group in groups if group.after and not group.before]
    pairs = [(old, new) for old in gone for new in added if _same_nodes(old.before, new.after)]
    return {
        old.subject: f"{old.name} is renamed to {new.name}"
        for old, new in pairs
        if sum(old is one or new is other for one, other in pairs) == 1
    }


def _same_nodes(old: GroupState | None, new: GroupState | None) -> bool:
    """Return whether a pod can't tell the nodes of two groups apart, but for the group's name."""
    if old is None or new is None:
        return False
    return replace(old, instance_types=(), zones=None) == replace(new, instance_types=(), zones=None)
