"""The search for the cheapest values under which nothing fails, with a test that says in which failures values fail.

The test is the evaluation of capacity itself. It is monotone but for rare cases: larger values do not fail where
smaller ones do not. So each test that fails excludes all values that are smaller in everything: the failing values are
raised as far as they still fail, and what follows, "at least one of these tunables has to be larger", becomes a
condition for the optimiser, which then names the next cheapest values. The first values that it names and that do not
fail are the cheapest ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from multiarch.capacity.model import CapacityFailure
from multiarch.capacity.recommendation.cheapest import Condition, SolverTimeoutError, find_cheapest_values
from multiarch.capacity.recommendation.needs import Need
from multiarch.capacity.recommendation.tunables import Cost, Key, Tunable, Values

Failing = Callable[[Values, Sequence[CapacityFailure]], Sequence[CapacityFailure]]
"""Those of the failures in which some workload does not keep its minimum with these values."""

_MOST_PERCENT = 400
_NOTHING: Values = MappingProxyType({})


class TimeLimit:
    """A number of ``seconds`` from now on, infinite for no limit; ``clock`` says the time in seconds."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Start now."""
        self._clock, self._end = clock, clock() + seconds

    @property
    def left(self) -> float:
        """The seconds until the end, 0 after it."""
        return max(0.0, self._end - self._clock())

    def share(self, part: float) -> TimeLimit:
        """Return a limit, from now on, of this part of the seconds that are left."""
        return TimeLimit(self.left * part, clock=self._clock)


NO_LIMIT = TimeLimit(math.inf)


@dataclass(frozen=True, slots=True)
class FoundValues:
    """Values under which nothing fails. ``cost`` is theirs; no values cost less than ``bound``."""

    values: Values
    cost: Cost
    bound: Cost


def compute_cost(tunables: Sequence[Tunable], values: Values) -> Cost:
    """Return what raising tunables to these values costs."""
    return sum((each.cost * (values[each.key] - each.present) for each in tunables), Cost())


def search_values(
    tunables: Sequence[Tunable],
    solution: Values,
    failures: Sequence[CapacityFailure],
    failing: Failing,
    *,
    needs: Sequence[Need] = (),
    near: Values = _NOTHING,
    limit: TimeLimit = NO_LIMIT,
) -> FoundValues:
    """Find the cheapest values; ``solution`` are some that do not fail in any of ``failures``, ``near`` a first guess.

    ``needs`` are satisfied by all values that do not fail; the more there are, the fewer tests are run. When the time
    is over, the cheapest values that were found are taken, and the bound says how far they can be off.
    """
    return _Search(tunables, failures, failing, needs, limit).run(solution, near)


class _Search:
    def __init__(
        self,
        tunables: Sequence[Tunable],
        failures: Sequence[CapacityFailure],
        failing: Failing,
        needs: Sequence[Need],
        limit: TimeLimit,
    ) -> None:
        self._tunables = tunables
        self._failures = list(failures)
        self._ask = failing
        self._needs = needs
        self._limit = limit
        self._most: Values = {}
        self._answers: dict[tuple[CapacityFailure, tuple[int, ...]], bool] = {}

    def run(self, solution: Values, near: Values) -> FoundValues:
        needed = self._named(solution, [])
        bound = Cost() if needed is None else compute_cost(self._tunables, needed)
        guess = {
            each.key: max((needed or _NOTHING).get(each.key, 0), near.get(each.key, 0), each.present)
            for each in self._tunables
        }
        best: Values = self._lowered(self._grown(guess, solution) if needed or near else solution)
        most = compute_cost(self._tunables, best)
        self._most = {each.key: _affordable(each, most, best[each.key], solution[each.key]) for each in self._tunables}
        conditions: list[Condition] = []
        while self._limit.left:
            values = self._named(self._most, conditions)
            if values is None:
                break  # the test is not monotone here, or the time is over
            bound = compute_cost(self._tunables, values)
            failure = self._failing(values)
            if failure is None:
                best = values
                break
            if bound >= most:
                break
            conditions.append(self._condition(values, failure))
        cost = compute_cost(self._tunables, best)
        return FoundValues(best, cost, min(bound, cost))

    def _named(self, most: Values, conditions: Sequence[Condition]) -> Values | None:
        """Return the cheapest values that can be enough; None if there are none, or if the time is over before."""
        try:
            return find_cheapest_values(self._tunables, most, conditions, self._needs, seconds=self._limit.left)
        except SolverTimeoutError:
            return None

    def _fails(self, values: Values, failure: CapacityFailure) -> bool:
        return self._failing(values, [failure]) is not None

    def _failing(self, values: Values, failures: Sequence[CapacityFailure] | None = None) -> CapacityFailure | None:
        """Return the first of the failures, or of all, in which values fail.

        It comes first the next time: it is likely to fail again. The others are tested together.
        """
        numbers = tuple(values[each.key] for each in self._tunables)
        asked = list(self._failures if failures is None else failures)
        for part in (asked[:1], asked[1:]):
            unknown = [each for each in part if (each, numbers) not in self._answers]
            found = set(self._ask(values, unknown)) if unknown else set()
            self._answers.update({(each, numbers): each in found for each in unknown})
            for failure in part:
                if self._answers[failure, numbers]:
                    self._failures.remove(failure)
                    self._failures.insert(0, failure)
                    return failure
        return None

    def _grown(self, needed: Values, solution: Values) -> Values:
        """Return what the needs alone name, with more of everything that they raise until it does not fail.

        It takes few tests, and goes on when the time is over.
        """
        cost = compute_cost(self._tunables, solution)
        percent = 0
        while percent < _MOST_PERCENT:
            grown = {
                each.key: each.capped(needed[each.key] + -(-(needed[each.key] - each.present) * percent // 100))
                for each in self._tunables
            }
            if compute_cost(self._tunables, grown) >= cost:
                break
            if self._failing(grown) is None:
                return grown
            percent += max(2, percent // 3)
        return solution

    def _lowered(self, values: Values) -> dict[Key, int]:
        """Return values that do not fail, each lowered as far as possible, the most expensive first."""
        lowered = dict(values)
        by_cost = sorted(self._tunables, key=lambda each: (each.cost * each.step, each.key), reverse=True)
        for each in by_cost:
            low, high = each.present, lowered[each.key]
            while low < high and self._limit.left:
                middle = (low + high) // 2
                candidate = {**lowered, each.key: middle}
                if self._meets_needs(candidate) and self._failing(candidate) is None:
                    high = middle
                else:
                    low = middle + 1
            lowered[each.key] = high
        return lowered

    def _meets_needs(self, values: Values) -> bool:
        return all(need.satisfied(values) for need in self._needs)

    def _condition(self, values: Values, failure: CapacityFailure) -> Condition:
        """Return what all values that do not fail satisfy, and these do not; as strong as the time allows."""
        raised = dict(values)
        # Nodes that run all the time come last: more of them can also strand more pods, those of Karpenter's own group.
        by_cost = sorted(self._tunables, key=lambda each: (each.cost, each.key))
        self._raise([each.key for each in by_cost if raised[each.key] < self._most[each.key]], raised, failure)
        return {each.key: raised[each.key] + 1 for each in self._tunables if raised[each.key] < self._most[each.key]}

    def _raise(self, keys: Sequence[Key], values: dict[Key, int], failure: CapacityFailure) -> None:
        """Raise the values of ``keys`` as far as they still fail; all at once where they have nothing to do with it."""
        if not keys or not self._limit.left:
            return
        if self._fails({**values, **{key: self._most[key] for key in keys}}, failure):
            values.update({key: self._most[key] for key in keys})
        elif len(keys) == 1:
            values[keys[0]] = self._largest_failing(keys[0], values, failure)
        else:
            half = len(keys) // 2
            self._raise(keys[:half], values, failure)
            self._raise(keys[half:], values, failure)

    def _largest_failing(self, key: Key, values: Values, failure: CapacityFailure) -> int:
        low, high, step = values[key], self._most[key], 1
        # It is rarely far away.
        while low + step < high and self._limit.left and self._fails({**values, key: low + step}, failure):
            low, step = low + step, step * 2
        high = min(high, low + step)
        while high - low > 1 and self._limit.left:
            middle = (low + high) // 2
            if self._fails({**values, key: middle}, failure):
                low = middle
            else:
                high = middle
        return low


def _affordable(tunable: Tunable, most: Cost, found: int, solution: int) -> int:
    """Return the largest value that a solution for less than ``most`` can have, ``found`` at least."""
    cost = tunable.cost
    if cost.always:
        raises = int(most.always / cost.always)
    elif cost.at_most and not most.always:
        raises = int(most.at_most / cost.at_most)
    else:
        raises = solution - tunable.present
    return tunable.capped(max(found, tunable.present + raises))
