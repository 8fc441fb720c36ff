"""The changes of a stack file that turn one plan into another, and the file with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from multiarch.capacity.recommendation.tunables import Key, group_pools, list_zones
from multiarch.stack.model import Plan
from multiarch.stack.writing import write_values
from multiarch.yaml_text.additions import Addition

_Value = int | str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One value of the stack file. ``old`` is None where the file does not have the key; lists are zones."""

    key: Key
    old: _Value
    new: _Value

    @property
    def name(self) -> str:
        """The key as text: ``nodeGroups.api.maxSize``."""
        return ".".join(self.key)

    def to_json(self) -> dict[str, object]:
        """Return the change with its key as text."""
        return {"key": self.name, "old": self.old, "new": self.new}


def compare_plans(old: Plan, new: Plan) -> Iterator[ValueChange]:
    """Yield the changes of the stack file that turn one plan into another, sorted by key."""
    before, after = _list_values(old), _list_values(new)
    for key in sorted(before):
        if before[key] != after[key]:
            yield ValueChange(key, before[key], after[key])


def _list_values(plan: Plan) -> dict[Key, _Value]:
    """Return the values of a plan's stack file that a recommendation can change."""
    found: dict[Key, _Value] = {}
    for group in plan.node_groups:
        sizes = {"desiredSize": group.sizes.desired, "maxSize": group.sizes.maximum}
        found |= {(*group.path, name): value for name, value in sizes.items()}
        found[*group.path, "zones"] = group.zones
    for path, (pool, *_) in group_pools(plan).items():
        limits = {"cpuLimit": pool.cpu_limit, "memoryLimit": pool.memory_limit}
        found |= {(*path, name): value for name, value in limits.items()}
        found[*path, "zones"] = list_zones(pool)
    return found


def apply_changes(text: str, changes: Sequence[ValueChange]) -> str:
    """Return a stack file's string with the changes made; its comments and every other byte stay.

    Raises MultiarchError for a value that other groups share by an alias, or that is merged in.
    """
    return write_values(text, (Addition(each.key, each.new) for each in changes))
