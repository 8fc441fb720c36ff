"""Sets of a NodePool's instance types as integers: one bit per type, the smallest type first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence


class Levels:
    """Sets of types by their amount of one resource."""

    def __init__(self, amounts: Sequence[int]) -> None:
        """``amounts`` are those of all types, in their order."""
        order = sorted(range(len(amounts)), key=lambda index: amounts[index])
        self._values = [amounts[index] for index in order]
        self._sets = [0] * (len(order) + 1)
        for place in range(len(order) - 1, -1, -1):
            self._sets[place] = self._sets[place + 1] | 1 << order[place]

    def at_least(self, amount: int) -> int:
        """The types with ``amount`` or more."""
        return self._sets[bisect_left(self._values, amount)]

    def at_most(self, amount: int) -> int:
        """The types with ``amount`` or less."""
        return self._sets[0] & ~self.at_least(amount + 1)


def first(types: int) -> int:
    """The index of the smallest type in a set that is not empty."""
    return (types & -types).bit_length() - 1


def bits(types: int) -> Iterable[int]:
    """The indices of a set's types."""
    while types:
        yield first(types)
        types &= types - 1
