"""The changes of a stack file that turn one plan into another, and the file with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from multiarch.capacity.recommendation.tunables import Key, pools_by_key, zones_of
from multiarch.stack.model import Plan
from multiarch.stack.writing import write_values
from multiarch.yaml_text.additions import Addition


@dataclass(frozen=True, slots=True)
class Change:
    """One value of the stack file. ``old`` is None where the file does not have the key; lists are zones."""

    key: Key
    old: int | str | bool | tuple[str, ...] | None
    new: int | str | bool | tuple[str, ...]

    @property
    def name(self) -> str:
        """The key as text: ``nodeGroups.api.maxSize``."""
        return ".".join(self.key)

    def to_json(self) -> dict[str, object]:
        """Return the change with its key as text."""
        return {"key": self.name, "old": self.old, "new": self.new}


def changes_between(old: Plan, new: Plan) -> Iterator[Change]:
    """The changes of the stack file that turn one plan into another, sorted by key."""
    return iter(sorted({each.key: each for each in _differences(old, new)}.values(), key=lambda each: each.key))


def _differences(old: Plan, new: Plan) -> Iterator[Change]:
    for before, after in zip(old.node_groups, new.node_groups, strict=True):
        pairs = (
            ("desiredSize", before.sizes.desired, after.sizes.desired),
            ("maxSize", before.sizes.maximum, after.sizes.maximum),
        )
        for name, was, becomes in pairs:
            if was != becomes:
                yield Change((*before.path, name), was, becomes)
        if before.zones != after.zones:
            yield Change((*before.path, "zones"), before.zones, after.zones)
    pools = pools_by_key(old), pools_by_key(new)
    for key, own in pools[0].items():
        first, then = own[0], pools[1][key][0]
        if first.cpu_limit != then.cpu_limit and then.cpu_limit is not None:
            yield Change((*key, "cpuLimit"), first.cpu_limit, then.cpu_limit)
        if first.memory_limit != then.memory_limit and then.memory_limit is not None:
            yield Change((*key, "memoryLimit"), first.memory_limit, then.memory_limit)
        if zones_of(first) != zones_of(then):
            yield Change((*key, "zones"), zones_of(first), zones_of(then))


def patched(text: str, changes: Sequence[Change]) -> str:
    """Return a stack file's string with the changes made; its comments and every other byte stay.

    Raises MultiarchError for a value that other groups share by an alias, or that is merged in.
    """
    return write_values(text, (Addition(each.key, each.new) for each in changes))
