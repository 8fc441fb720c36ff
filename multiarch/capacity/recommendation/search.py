"""The search for cheap values under which nothing fails, with a test that says in which failures values fail.

The test is the evaluation of capacity itself. It is monotone but for rare cases: larger values do not fail where
smaller ones do not. So each value is lowered as far as nothing fails, the most expensive first. Then each value is
raised by a few nodes, and the others are lowered again; the change is taken if it is cheaper. The search ends where no
such exchange is cheaper, or when its time is over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from multiarch.capacity.model import CapacityFailure
from multiarch.capacity.recommendation.tunables import Cost, Key, Tunable, Values

Failing = Callable[[Values, Sequence[CapacityFailure]], Sequence[CapacityFailure]]
"""Those of the failures in which some workload does not keep its minimum with these values."""

_EXCHANGED_NODES = (1, 2, 4, 8)
"""By how many nodes a value is raised in an exchange."""


class TimeLimit:
    """A number of ``seconds`` from now on, infinite for no limit; ``clock`` says the time in seconds."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Start now."""
        self._clock, self._end = clock, clock() + seconds

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self._clock() >= self._end


NO_LIMIT = TimeLimit(math.inf)


@dataclass(frozen=True, slots=True)
class FoundValues:
    """Values under which nothing fails, with their ``cost``. ``complete`` is false where the time was over before."""

    values: Values
    cost: Cost
    complete: bool = True


def compute_cost(tunables: Sequence[Tunable], values: Values) -> Cost:
    """Return what raising tunables to these values costs."""
    return sum((each.cost * (values[each.key] - each.present) for each in tunables), Cost())


def search_values(
    tunables: Sequence[Tunable],
    solution: Values,
    failures: Sequence[CapacityFailure],
    failing: Failing,
    *,
    limit: TimeLimit = NO_LIMIT,
) -> FoundValues:
    """Find cheap values; ``solution`` are some that do not fail in any of ``failures``."""
    search = _Search(tunables, failures, failing, limit)
    best = search.lower(solution)
    while (cheaper := search.exchange(best)) is not None:
        best = cheaper
    return FoundValues(best, compute_cost(tunables, best), not limit.over)


class _Search:
    def __init__(
        self, tunables: Sequence[Tunable], failures: Sequence[CapacityFailure], failing: Failing, limit: TimeLimit
    ) -> None:
        self._tunables = sorted(tunables, key=lambda each: (each.cost * each.step, each.key), reverse=True)
        self._failures = list(failures)
        self._ask = failing
        self._limit = limit
        self._answers: dict[tuple[int, ...], bool] = {}

    def lower(self, values: Values, *, kept: Key = ()) -> dict[Key, int]:
        """Return values that do not fail, each but ``kept`` lowered as far as possible, the most expensive first."""
        lowered = dict(values)
        for each in self._tunables:
            low, high = each.present, lowered[each.key]
            # One less is tried first: an exchange lowers few values.
            middle = high - 1
            while low < high and each.key != kept and not self._limit.over:
                if self._fails({**lowered, each.key: middle}):
                    low = middle + 1
                else:
                    high = middle
                middle = (low + high) // 2
            lowered[each.key] = high
        return lowered

    def exchange(self, values: Values) -> dict[Key, int] | None:
        """Return cheaper values in which one value is larger and others are smaller; None without any."""
        cost = compute_cost(self._tunables, values)
        for each in self._tunables:
            for nodes in _EXCHANGED_NODES:
                raised = {**values, each.key: each.capped(values[each.key] + each.step * nodes)}
                if self._limit.over or raised == values or each.cost * (raised[each.key] - each.present) >= cost:
                    break
                found = self.lower(self.lower(raised, kept=each.key))
                if compute_cost(self._tunables, found) < cost:
                    return found
        return None

    def _fails(self, values: Values) -> bool:
        """Return whether values fail; the failure that did so the last time is tested alone, before the others."""
        numbers = tuple(values[each.key] for each in self._tunables)
        if numbers not in self._answers:
            parts = self._failures[:1], self._failures[1:]
            found = next((failing[0] for part in parts if part and (failing := self._ask(values, part))), None)
            self._answers[numbers] = found is not None
            if found is not None:
                self._failures.remove(found)
                self._failures.insert(0, found)
        return self._answers[numbers]
