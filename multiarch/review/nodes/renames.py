"""Groups that get another name, are split, or are joined: for the engine a new group and a deleted one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from multiarch.review.nodes.group_states import GroupChange, GroupState
from multiarch.rules import REVIEW_RULES, Finding

RENAME = REVIEW_RULES["rename-group"]


def find_renames(groups: Sequence[GroupChange]) -> Iterator[Finding]:
    """Removed groups with their likely successors: those with the same nodes, or with their name as a prefix."""
    for old, (new, what) in zip(_removed(groups), _matched(groups), strict=True):
        if new:
            urns = tuple(urn for each in (old, *new) for urn in each.urns)
            text = f"{what}: the new nodes start, then the old ones end, and every pod on them moves."
            yield Finding(RENAME, old.subject, text, (), urns)


def successors(groups: Sequence[GroupChange]) -> Mapping[str, str]:
    """What becomes of removed groups with successors, by their subject: ``web is split into web-a and web-b``."""
    pairs = zip(_removed(groups), _matched(groups), strict=True)
    return {old.subject: what for old, (new, what) in pairs if new}


def is_successor(group: GroupChange, groups: Sequence[GroupChange]) -> bool:
    """Return whether a new group takes the place of a removed one."""
    return any(group in new for new, _ in _matched(groups))


def _removed(groups: Sequence[GroupChange]) -> list[GroupChange]:
    """Return the groups that exist before the change alone."""
    return [group for group in groups if group.before and not group.after]


def _matched(groups: Sequence[GroupChange]) -> Iterator[tuple[Sequence[GroupChange], str]]:
    """Yield the successors of each removed group, and what happens to it in words; none for one that just ends."""
    gone, added = _removed(groups), [group for group in groups if group.after and not group.before]
    for old in gone:
        parts = [new for new in added if new.name.startswith(f"{old.name}-") and new.kind is old.kind]
        alike = [new for new in added if _same_nodes(old.before, new.after)]
        whole = [new for new in alike if old.name.startswith(f"{new.name}-")]
        if len(parts) > 1:
            yield parts, f"{old.name} is split into {_named(parts)}"
        elif whole:
            yield whole[:1], f"{old.name} becomes part of {whole[0].name}"
        elif len(alike) == 1 and sum(_same_nodes(each.before, alike[0].after) for each in gone) == 1:
            yield alike, f"{old.name} is renamed to {alike[0].name}"
        else:
            yield (), ""


def _named(groups: Sequence[GroupChange]) -> str:
    names = [group.name for group in groups]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _same_nodes(old: GroupState | None, new: GroupState | None) -> bool:
    """Return whether a pod can't tell the nodes of two groups apart, but for the group's name."""
    if old is None or new is None:
        return False
    return (old.kind, old.architectures, old.capacity_types, old.labels, old.taints) == (
        new.kind,
        new.architectures,
        new.capacity_types,
        new.labels,
        new.taints,
    )
