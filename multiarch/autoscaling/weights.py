"""NodePool weights: from the order of capacities to numbers, of which no two are the same.

Karpenter tries the highest first and breaks ties by name backwards, which nobody means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from multiarch.autoscaling.model import Kind
from multiarch.autoscaling.order import rank

HIGHEST = 100
BASES = (90, 70, 50, 30)
"""By place in the order; a wish's number (from 0, by name) is taken off."""
MOST_WISHES = BASES[0] - BASES[1]
"""With more, one kind's weights would reach into the next one's."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A pool that wants a weight: ``index`` is its wish's number, ``written`` the weight that the team gave."""

    name: str
    kinds: tuple[Kind, ...]
    index: int
    written: int | None


def weigh(wishes: Sequence[Wish], order: Sequence[Kind]) -> Mapping[str, int]:
    """Return the weight of each pool by name, all different as long as the written ones are.

    A written weight stays; a derived one that meets it moves down to the next that is free. Of several kinds in one
    pool the most wanted counts.
    """
    weights = {wish.name: wish.written for wish in wishes if wish.written is not None}
    used = set(weights.values())
    derived = sorted((_place(wish, order), wish.index, wish.name) for wish in wishes if wish.written is None)
    for place, index, name in derived:
        wanted = BASES[place] - index
        down, up = range(wanted, 0, -1), range(wanted + 1, HIGHEST + 1)
        weights[name] = next(weight for weight in (*down, *up) if weight not in used)
        used.add(weights[name])
    return weights


def cordon(wishes: Sequence[Wish], order: Sequence[Kind]) -> Mapping[str, int]:
    """Return the lowest weights there are, in the same order: for pools that a migration takes out."""
    names = [name for _, _, name in sorted((_place(wish, order), wish.index, wish.name) for wish in wishes)]
    return {name: len(names) - place for place, name in enumerate(names)}


def _place(wish: Wish, order: Sequence[Kind]) -> int:
    return min(rank(kind, order) for kind in wish.kinds)
