"""The recommendation: what to change in a stack file, what it costs, and what it leaves unsolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol

from multiarch.capacity.model import NO_FAILURE, CapacityReport, Failure, FailureResult, WorkloadResult
from multiarch.capacity.recommendation.changes import Change, changes_between
from multiarch.capacity.recommendation.needs import Demand, Need, Sources
from multiarch.capacity.recommendation.one_per_zone import (
    changes_to_one_per_zone,
    groups_over_zones,
    merged,
    renamed,
    total,
)
from multiarch.capacity.recommendation.parts import parts_of
from multiarch.capacity.recommendation.rates import Rates, rates_of
from multiarch.capacity.recommendation.search import Found, search
from multiarch.capacity.recommendation.time_limit import NO_LIMIT, TimeLimit
from multiarch.capacity.recommendation.tunables import Cost, Key, Tunable, Values, tunables_of, with_values
from multiarch.capacity.workloads import name_of
from multiarch.manifests.disruption_budgets import DisruptionBudget
from multiarch.prices.model import RegionPrices, UnknownPrice
from multiarch.scheduling.pods import Pod
from multiarch.serialization import INLINED, OMITTED
from multiarch.simulate.simulation import SimulationContext
from multiarch.stack.model import Plan

_Name = tuple[str, str]
_NOTHING: Values = MappingProxyType({})
_SHARE = 0.7
"""The part of the time that is left which one search may take: another one may have to follow."""


class Evaluate(Protocol):
    """The evaluation of a plan under failures, with everything else about it given."""

    def __call__(
        self, plan: Plan, failures: Sequence[Failure], *, explain: bool, pods: Sequence[Pod] | None = None
    ) -> CapacityReport:
        """Return the report, of all pods or only of ``pods``; without ``explain`` it gives no limits and changes."""


@dataclass(frozen=True, slots=True)
class Unsolved:
    """A workload that does not keep its minimum in a failure: larger sizes and limits and more zones do not help."""

    failure: Failure
    workload: WorkloadResult


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The cheapest change, and the report of the stack with it.

    ``cost`` is what the stack costs more, in the unit of ``rates``; no change costs less than ``bound``. Without
    ``changes`` nothing in the stack file has to be changed, or nothing helps. ``failures`` have the names that groups
    have in the changed ``plan``.
    """

    changes: tuple[Change, ...]
    plan: Plan = field(metadata=OMITTED)
    cost: Cost
    bound: Cost
    rates: Rates = field(metadata=INLINED)
    unsolved: tuple[Unsolved, ...]
    failures: tuple[Failure, ...] = field(metadata=OMITTED)
    report: CapacityReport = field(metadata=OMITTED)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The pods of an evaluation from nothing but a plan, with their budgets, and its zones.

    They say how many nodes are needed, and which parts of the stack do not depend on each other.
    """

    pods: Sequence[Pod]
    budgets: Sequence[DisruptionBudget]
    context: SimulationContext


Replan = Callable[[Sequence[Change]], Plan | None]
"""The plan of the stack file with some changes; None if that is not a valid stack."""


def recommend(
    plan: Plan,
    failures: Sequence[Failure],
    evaluate: Evaluate,
    prices: RegionPrices | UnknownPrice | None = None,
    *,
    surroundings: Surroundings | None = None,
    replan: Replan | None = None,
    limit: TimeLimit = NO_LIMIT,
) -> Recommendation:
    """Find the cheapest change of a plan's stack file under which all of ``failures`` leave every minimum.

    ``surroundings`` make it faster; for a live cluster, whose nodes are not all of the plan, there are none. With
    ``replan``, node groups become one for each zone where no size helps. After ``limit`` the search ends with the
    cheapest change so far: the evaluations that find one at all are made in any case. Raises MultiarchError without
    highspy.
    """
    rates = rates_of(plan, prices)
    first = _Recommender(plan, failures, evaluate, rates, surroundings)
    if replan is None or not first.lacking():
        return first.run(limit)

    def split(paths: Sequence[Key]) -> tuple[_Recommender, list[Change]] | None:
        changes = list(changes_to_one_per_zone(plan, paths))
        new = replan(changes) if changes else None
        if new is None:
            return None
        under = renamed(failures, plan, new)
        return _Recommender(new, under, evaluate, rates_of(new, prices), surroundings), changes

    chosen = groups_over_zones(plan)
    best = split(chosen)
    if best is None or (least := best[0].lacking()) >= first.lacking():
        return first.run(limit)
    for path in chosen:
        fewer = [each for each in chosen if each != path]
        if (tried := split(fewer)) is not None and tried[0].lacking() == least:
            chosen, best = fewer, tried
    then = best[0].run(limit)
    more = total(best[0].plan, then.rates) - total(plan, rates)
    return replace(
        then, changes=merged(best[1], then.changes), cost=then.cost + more, bound=min(then.bound, then.cost) + more
    )


class _Scope:
    """The search for values of some tunables, under which none of some pods (None: all) is missed in ``failures``."""

    def __init__(
        self,
        plan: Plan,
        evaluate: Evaluate,
        tunables: Sequence[Tunable],
        failures: Sequence[Failure],
        pods: Sequence[Pod] | None = None,
    ) -> None:
        self.tunables = tunables
        self.failures = failures
        self._plan = plan
        self._evaluate = evaluate
        self._pods = pods
        self.unsolved: Mapping[Failure, Mapping[_Name, WorkloadResult]] = {}
        self.needs: Sequence[Need] = ()

    def report(
        self, values: Values, failures: Sequence[Failure] | None = None, *, explain: bool = False
    ) -> CapacityReport:
        """The report with these values, of all failures unless some are given."""
        asked = [each for each in (self.failures if failures is None else failures) if each != NO_FAILURE]
        return self._evaluate(with_values(self._plan, values), asked, explain=explain, pods=self._pods)

    def open(self, report: CapacityReport) -> list[Failure]:
        """The failures in which a workload is short that larger values would help. ``report`` can be of more pods."""
        own = None if self._pods is None else set(map(name_of, self._pods))
        return [
            failure
            for failure, short in _short(report).items()
            if failure in self.failures
            and any(name not in self.unsolved.get(failure, {}) and (own is None or name in own) for name in short)
        ]

    def cheapest(
        self, failing: Sequence[Failure], solution: Values, limit: TimeLimit, *, near: Values = _NOTHING
    ) -> Found:
        """The cheapest values, with those failures that made a difference, until they hold in all of them.

        ``solution`` are some that hold. The search starts at ``near``, which may not.
        """
        failing = list(failing)
        found = Found({each.key: each.present for each in self.tunables}, Cost(), Cost())
        while failing:
            found = search(
                self.tunables,
                {each.key: solution[each.key] for each in self.tunables},
                failing,
                self._failing,
                needs=self.needs,
                near=near,
                limit=limit.share(_SHARE),
            )
            near = found.values
            # A failure that was harmless before: other sizes lead pods to other nodes.
            report = self.report(found.values, explain=self._pods is None)
            more = [each for each in self.open(report) if each not in failing]
            if not more:
                break
            failing += more
        return found

    def _failing(self, values: Values, failures: Sequence[Failure]) -> list[Failure]:
        return [each for each in self.open(self.report(values, failures)) if each in failures]


class _Recommender:
    def __init__(
        self,
        plan: Plan,
        failures: Sequence[Failure],
        evaluate: Evaluate,
        rates: Rates,
        surroundings: Surroundings | None,
    ) -> None:
        self.plan = plan
        self._evaluate = evaluate
        self._rates = rates
        self._surroundings = surroundings
        self._whole = _Scope(plan, evaluate, tunables_of(plan, rates), (NO_FAILURE, *dict.fromkeys(failures)))
        self._kept: tuple[CapacityReport, Values, CapacityReport] | None = None

    def lacking(self) -> int:
        """The minimums that are not kept, in all failures, whatever the values."""
        return sum(map(len, _short(self._solved()[2]).values()))

    def _solved(self) -> tuple[CapacityReport, Values, CapacityReport]:
        """The report of the plan, values that solve all that values can, and the report with them; asked for once."""
        if self._kept is None:
            before = self._whole.report({}, explain=True)
            solution = self._solution(before)
            self._kept = before, solution, self._whole.report(solution) if solution else before
        return self._kept

    def run(self, limit: TimeLimit) -> Recommendation:
        before, solution, solved = self._solved()
        whole = self._whole
        whole.unsolved = _short(solved)
        found = Found({}, Cost(), Cost())
        if solution and (failing := whole.open(before)):
            found = self._cheapest(failing, before, solution, solved, limit)
        plan = with_values(self.plan, found.values)
        report = whole.report(found.values, explain=True)
        return Recommendation(
            changes=tuple(changes_between(self.plan, plan)),
            plan=plan,
            cost=found.cost,
            bound=found.bound,
            rates=self._rates,
            unsolved=tuple(
                Unsolved(failure, each)
                for failure, short in _short(report).items()
                for _, each in sorted(short.items())
            ),
            failures=tuple(each for each in whole.failures if each != NO_FAILURE),
            report=report,
        )

    def _cheapest(
        self,
        failing: Sequence[Failure],
        before: CapacityReport,
        solution: Values,
        solved: CapacityReport,
        limit: TimeLimit,
    ) -> Found:
        """The cheapest values: those of all parts together if they hold for the whole stack too."""
        whole = self._whole
        if self._surroundings is None:
            return whole.cheapest(failing, solution, limit)
        sources = Sources(self.plan, whole.tunables, self._surroundings.pods, self._surroundings.context)
        whole.needs = self._needs_in(solved, sources)
        parts = self._parts(sources)
        if len(parts) < 2:  # noqa: PLR2004
            return whole.cheapest(failing, solution, limit)
        found = self._in_parts(parts, before, solution, limit.share(_SHARE))
        if not (short := whole.open(whole.report(found.values, explain=True))):
            return found
        later = whole.cheapest([*dict.fromkeys((*failing, *short))], solution, limit, near=found.values)
        return replace(later, bound=min(later.cost, max(later.bound, found.bound)))

    def _parts(self, sources: Sources) -> list[_Scope]:
        """The parts of the stack, without the failures of the largest nodes: which these are depends on all parts."""
        whole, given = self._whole, self._surroundings
        failures = [each for each in whole.failures if not each.largest_nodes]
        found = []
        for part in parts_of(self.plan, whole.tunables, given.pods, given.budgets, sources) if given else ():
            scope = _Scope(self.plan, self._evaluate, part.tunables, failures, part.pods)
            keys = {each.key for each in part.tunables}
            scope.unsolved, scope.needs = (
                whole.unsolved,
                [each for each in whole.needs if keys.issuperset(each.weights)],
            )
            found.append(scope)
        return found

    @staticmethod
    def _in_parts(parts: Sequence[_Scope], before: CapacityReport, solution: Values, limit: TimeLimit) -> Found:
        """The cheapest values of each part, and what they cost together."""
        values: dict[Key, int] = {}
        cost = bound = Cost()
        for number, part in enumerate(parts):
            share = limit.share(1 / (len(parts) - number))
            found = part.cheapest(part.open(before), solution, share)
            values |= found.values
            cost, bound = cost + found.cost, bound + found.bound
        return Found(values, cost, bound)

    def _needs_in(self, report: CapacityReport, sources: Sources) -> list[Need]:
        """What the minimums need; of workloads that share a budget, those are the least with the largest values."""
        samples = {name_of(pod): pod for pod in self._surroundings.pods if not pod.daemon} if self._surroundings else {}
        demands = [
            Demand(result.failure, sample, each.needed)
            for result in (report.without_failure, *report.failures)
            for each in result.workloads
            if each.keeps_minimum and (sample := samples.get((each.namespace, each.name)))
        ]
        return list(sources.needs(demands))

    def _solution(self, before: CapacityReport) -> dict[Key, int]:
        """Values that solve everything that values can: doubled until that changes nothing any more.

        Empty where the plan has nothing to raise, or where nothing is short.
        """
        whole = self._whole
        short, raises = _pending(before), 1
        if not short or not whole.tunables:
            return {}
        failing = list(_short(before))
        # A raise of 1 may go to a node that fails: to a zone that is lost, or as one of the largest nodes.
        zones = max((len(each.zones) for each in self.plan.node_groups), default=0)
        certain = max(zones, len(whole.failures), 3) + max(each.largest_nodes for each in whole.failures)
        while True:
            now = _pending(whole.report(self._raised(raises), failing))
            if not now or (now == short and raises > certain):
                return self._raised(raises)
            short, raises = now, raises * 2

    def _raised(self, raises: int) -> dict[Key, int]:
        return {each.key: each.capped(each.present + each.step * raises) for each in self._whole.tunables}


def _short(report: CapacityReport) -> dict[Failure, dict[_Name, WorkloadResult]]:
    """The workloads that do not keep their minimum, by failure; failures without any are omitted."""
    results: Sequence[FailureResult] = (report.without_failure, *report.failures)
    found = {
        each.failure: {(workload.namespace, workload.name): workload for workload in each.short} for each in results
    }
    return {failure: short for failure, short in found.items() if short}


def _pending(report: CapacityReport) -> int:
    """The pods that workloads lack for their minimums, in all failures."""
    return sum(each.lacking for short in _short(report).values() for each in short.values())
