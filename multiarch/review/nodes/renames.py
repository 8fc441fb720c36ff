"""Groups that get another name, are split, or are joined: for the engine a new group and a deleted one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from multiarch.review.nodes.group_states import GroupChange, GroupState
from multiarch.rules import REVIEW_RULES, Finding

RENAME = REVIEW_RULES["rename-group"]


@dataclass(frozen=True, slots=True)
class Renaming:
    """A removed group with its likely successors, and what happens to it: ``web is split into web-a and web-b``."""

    old: GroupChange
    new: tuple[GroupChange, ...]
    what: str


def find_renames(groups: Sequence[GroupChange]) -> Iterator[Finding]:
    """Yield removed groups with their likely successors: those with the same nodes, or with their name as a prefix."""
    for each in list_renamings(groups):
        urns = tuple(urn for group in (each.old, *each.new) for urn in group.urns)
        text = f"{each.what}: the new nodes start, then the old ones end, and every pod on them moves."
        yield Finding(RENAME, each.old.subject, text, (), urns)


def list_renamings(groups: Sequence[GroupChange]) -> Iterator[Renaming]:
    """Yield the removed groups that do not just end."""
    gone = [group for group in groups if group.before and not group.after]
    added = [group for group in groups if group.after and not group.before]
    for old in gone:
        parts = tuple(new for new in added if new.name.startswith(f"{old.name}-") and new.kind is old.kind)
        alike = tuple(new for new in added if _same_nodes(old.before, new.after))
        whole = tuple(new for new in alike if old.name.startswith(f"{new.name}-"))
        if len(parts) > 1:
            yield Renaming(old, parts, f"{old.name} is split into {_named(parts)}")
        elif whole:
            yield Renaming(old, whole[:1], f"{old.name} becomes part of {whole[0].name}")
        elif len(alike) == 1 and sum(_same_nodes(each.before, alike[0].after) for each in gone) == 1:
            yield Renaming(old, alike, f"{old.name} is renamed to {alike[0].name}")


def _named(groups: Sequence[GroupChange]) -> str:
    names = [group.name for group in groups]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _same_nodes(old: GroupState | None, new: GroupState | None) -> bool:
    """Return whether a pod can't tell the nodes of two groups apart, but for the group's name."""
    if old is None or new is None:
        return False
    return replace(old, instance_types=(), zones=None) == replace(new, instance_types=(), zones=None)
