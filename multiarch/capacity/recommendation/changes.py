"""The changes of a stack file that turn one plan into another, and the file with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from multiarch.capacity.recommendation.tunables import Key, group_pools, list_zones
from multiarch.stack.model import Plan
from multiarch.stack.writing import write_values
from multiarch.yaml_text.additions import Addition


@dataclass(frozen=True, slots=True)
class ValueChange:
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


def compare_plans(old: Plan, new: Plan) -> Iterator[ValueChange]:
    """Return the changes of the stack file that turn one plan into another, sorted by key."""
    return iter(sorted({each.key: each for each in _differences(old, new)}.values(), key=lambda each: each.key))


def _differences(old: Plan, new: Plan) -> Iterator[ValueChange]:
    for before, after in zip(old.node_groups, new.node_groups, strict=True):
        pairs = (
            ("desiredSize", before.sizes.desired, after.sizes.desired),
            ("maxSize", before.sizes.maximum, after.sizes.maximum),
        )
        for name, was, becomes in pairs:
            if was != becomes:
                yield ValueChange((*before.path, name), was, becomes)
        if before.zones != after.zones:
            yield ValueChange((*before.path, "zones"), before.zones, after.zones)
    pools = group_pools(old), group_pools(new)
    for key, own in pools[0].items():
        first, then = own[0], pools[1][key][0]
        if first.cpu_limit != then.cpu_limit and then.cpu_limit is not None:
            yield ValueChange((*key, "cpuLimit"), first.cpu_limit, then.cpu_limit)
        if first.memory_limit != then.memory_limit and then.memory_limit is not None:
            yield ValueChange((*key, "memoryLimit"), first.memory_limit, then.memory_limit)
        if list_zones(first) != list_zones(then):
            yield ValueChange((*key, "zones"), list_zones(first), list_zones(then))


def apply_changes(text: str, changes: Sequence[ValueChange]) -> str:
    """Return a stack file's string with the changes made; its comments and every other byte stay.

    Raises MultiarchError for a value that other groups share by an alias, or that is merged in.
    """
    return write_values(text, (Addition(each.key, each.new) for each in changes))
