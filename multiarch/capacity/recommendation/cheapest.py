"""The cheapest values that satisfy a set of conditions: a small mixed-integer programme, solved by HiGHS."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from multiarch.capacity.recommendation.needs import Need
from multiarch.capacity.recommendation.tunables import Key, Tunable, Values
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    import highspy

Condition = Mapping[Key, int]
"""At least one of these tunables has at least this value."""

_TOLERANCE = 1e-6
_LEAST_SECONDS = 1.0


def find_cheapest_values(
    tunables: Sequence[Tunable],
    most: Values,
    conditions: Sequence[Condition],
    needs: Sequence[Need] = (),
    *,
    seconds: float = math.inf,
) -> dict[Key, int] | None:
    """Return the values, from each tunable's own up to ``most``, that satisfy all ``conditions`` at the least cost.

    None if there are no such values. First what runs all the time is kept low, then what runs at most, then the number
    of changed values, then the sum of the raises. ``needs`` that ``most`` does not satisfy are omitted. Raises
    OutOfTimeError where that takes more than ``seconds``, MultiarchError without highspy.
    """
    programme = _Programme(tunables, most, seconds)
    for need in needs:
        programme.require(need)
    for condition in conditions:
        programme.add(condition)
    return programme.solve()


class SolverTimeoutError(Exception):
    """The solver did not end in time."""


class _Programme:
    """The raise of each tunable is an integer variable, and whether it is changed a binary one."""

    def __init__(self, tunables: Sequence[Tunable], most: Values, seconds: float) -> None:
        highspy = _highspy()
        self._model = model = highspy.Highs()
        # A small gap would hide a cheaper solution; one thread gives the same solution everywhere.
        for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0)):
            model.setOptionValue(option, value)
        model.setOptionValue("time_limit", max(seconds, _LEAST_SECONDS))
        self._integer = highspy.HighsVarType.kInteger
        self._optimal, self._out_of_time = highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit
        self._tunables = {each.key: each for each in tunables}
        self._raises = {}
        self._changed = {}
        for each in tunables:
            span = most[each.key] - each.present
            raised = model.addVariable(lb=0, ub=span, type=self._integer)
            changed = model.addVariable(lb=0, ub=1, type=self._integer)
            model.addConstr(raised <= max(span, 1) * changed)
            self._raises[each.key], self._changed[each.key] = raised, changed
        self._possible = True
        self._span = {key: most[key] - each.present for key, each in self._tunables.items()}

    def add(self, condition: Condition) -> None:
        """Add a condition: one binary variable for each of its tunables, of which one at least is 1."""
        chosen = []
        for key, value in condition.items():
            needed = value - self._tunables[key].present
            if needed <= self._span[key]:
                holds = self._model.addVariable(lb=0, ub=1, type=self._integer)
                self._model.addConstr(self._raises[key] >= needed * holds)
                chosen.append(holds)
        if chosen:
            self._model.addConstr(sum(chosen[1:], chosen[0] * 1.0) >= 1)
        else:
            self._possible = False

    def require(self, need: Need) -> None:
        """Add a need, unless even the largest values do not satisfy it."""
        keys = [key for key in need.weights if key in self._tunables]
        present = sum(need.weights[key] * self._tunables[key].present for key in keys)
        if present + sum(need.weights[key] * self._span[key] for key in keys) >= need.least:
            terms = [need.weights[key] * self._raises[key] for key in keys]
            self._model.addConstr(sum(terms[1:], terms[0]) >= need.least - present)

    def solve(self) -> dict[Key, int] | None:
        costs = {key: each.cost for key, each in self._tunables.items()}
        for weights, variables in (
            ({key: float(cost.always) for key, cost in costs.items()}, self._raises),
            ({key: float(cost.at_most) for key, cost in costs.items()}, self._raises),
            (dict.fromkeys(costs, 1.0), self._changed),
            (dict.fromkeys(costs, 1.0), self._raises),
        ):
            if not self._minimize({key: weight for key, weight in weights.items() if weight}, variables):
                return None
        solution = self._model.getSolution().col_value
        return {key: each.present + round(solution[self._raises[key].index]) for key, each in self._tunables.items()}

    def _minimize(self, weights: Mapping[Key, float], variables: Mapping[Key, highspy.highs.highs_var]) -> bool:
        """Minimize a sum, and keep it at its minimum from then on; False where nothing satisfies the conditions."""
        if not weights:
            return self._possible
        # Weights of about 1: the solver's tolerances are absolute.
        largest = max(weights.values())
        terms = [weight / largest * variables[key] for key, weight in weights.items()]
        total = sum(terms[1:], terms[0])
        self._model.minimize(total)
        if self._model.getModelStatus() == self._out_of_time:
            raise SolverTimeoutError
        if not self._possible or self._model.getModelStatus() != self._optimal:
            return False
        least = self._model.getObjectiveValue()
        self._model.addConstr(total <= least + _TOLERANCE * max(1.0, abs(least)))
        return True


def _highspy() -> ModuleType:
    try:
        import highspy  # noqa: PLC0415
    except ImportError as error:
        raise MultiarchError(
            "Recommendations need the optimiser highspy, which is not installed.",
            hint="python -m pip install 'multiarch-eks[capacity]'",
        ) from error
    return highspy
