"""The recommendation: what to change in a stack file, what it costs, and what it leaves unsolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from multiarch.capacity.model import NO_FAILURE, CapacityReport, Failure, FailureResult, WorkloadResult
from multiarch.capacity.recommendation.changes import Change, changes_between
from multiarch.capacity.recommendation.needs import Demand, Need, Needs
from multiarch.capacity.recommendation.one_per_zone import (
    changes_to_one_per_zone,
    groups_over_zones,
    merged,
    renamed,
    total,
)
from multiarch.capacity.recommendation.rates import Rates, rates_of
from multiarch.capacity.recommendation.search import MOST_TESTS, cost_of, search
from multiarch.capacity.recommendation.tunables import Cost, Key, Values, tunables_of, with_values
from multiarch.capacity.workloads import name_of
from multiarch.prices.model import RegionPrices, UnknownPrice
from multiarch.scheduling.pods import Pod
from multiarch.simulate.simulation import SimulationContext
from multiarch.stack.model import Plan

_PODS_IN_TESTS, _LEAST_TESTS = 500_000, 100


class Evaluate(Protocol):
    """The evaluation of a plan under failures, with everything else about it given."""

    def __call__(self, plan: Plan, failures: Sequence[Failure], *, explain: bool) -> CapacityReport:
        """Return the report; without ``explain`` it does not say what keeps pods pending."""


@dataclass(frozen=True, slots=True)
class Unsolved:
    """A workload that is still short in a failure once the stack is changed: no size, limit or zone helps."""

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
    plan: Plan
    cost: Cost
    bound: Cost
    rates: Rates
    unsolved: tuple[Unsolved, ...]
    failures: tuple[Failure, ...]
    report: CapacityReport


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The pods of an evaluation from nothing but a plan, and its zones: they say how many nodes are needed."""

    pods: Sequence[Pod]
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
) -> Recommendation:
    """Find the cheapest change of a plan's stack file under which all of ``failures`` leave every minimum.

    ``surroundings`` make it faster; for a live cluster, whose nodes are not all of the plan, there are none. With
    ``replan``, node groups become one for each zone where no size helps. Raises MultiarchError without highspy.
    """
    first = _Recommender(plan, failures, evaluate, rates_of(plan, prices), surroundings)
    found = first.run()
    if replan is None or not found.unsolved:
        return found

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
        return found
    for path in chosen:
        fewer = [each for each in chosen if each != path]
        if (tried := split(fewer)) is not None and tried[0].lacking() == least:
            chosen, best = fewer, tried
    then = best[0].run()
    more = total(best[0].plan, then.rates) - total(plan, found.rates)
    return replace(
        then, changes=merged(best[1], then.changes), cost=then.cost + more, bound=min(then.bound, then.cost) + more
    )


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
        self._failures = (NO_FAILURE, *dict.fromkeys(failures))
        self._evaluate = evaluate
        self._rates = rates
        self._tunables = tunables_of(plan, rates)
        self._surroundings = surroundings
        self._unsolved: dict[Failure, dict[_Name, WorkloadResult]] = {}
        self._needs: list[Need] = []
        self._kept: tuple[CapacityReport, Values, CapacityReport] | None = None

    def lacking(self) -> int:
        """The minimums that are not kept, in all failures, whatever the values."""
        return sum(map(len, _short(self._solved()[2]).values()))

    def _solved(self) -> tuple[CapacityReport, Values, CapacityReport]:
        """The report of the plan, values that solve all that values can, and the report with them; asked for once."""
        if self._kept is None:
            before = self._report({}, explain=True)
            solution = self._solution(before)
            self._kept = before, solution, self._report(solution, explain=True) if solution else before
        return self._kept

    def run(self) -> Recommendation:
        before, solution, solved = self._solved()
        self._unsolved = _short(solved)
        self._needs = self._needs_in(solved) if solution else []
        values, bound = self._cheapest(before, solution)
        plan = with_values(self.plan, values)
        report = self._report(values, explain=True) if values else before
        return Recommendation(
            changes=tuple(changes_between(self.plan, plan)),
            plan=plan,
            cost=cost_of(self._tunables, values) if values else Cost(),
            bound=bound,
            rates=self._rates,
            unsolved=tuple(
                Unsolved(failure, each)
                for failure, short in _short(report).items()
                for _, each in sorted(short.items())
            ),
            failures=self._failures[1:],
            report=report,
        )

    def _cheapest(self, before: CapacityReport, solution: Values) -> tuple[Values, Cost]:
        """The cheapest values, with those failures that made a difference, until they hold in all of them."""
        failing = self._open(before)
        while failing and solution:
            found = search(self._tunables, solution, failing, self._failing, needs=self._needs, tests=_tests(before))
            more = [each for each in self._open(self._report(found.values)) if each not in failing]
            if not more:
                return found.values, found.bound
            # A failure that was harmless before: other sizes lead pods to other nodes.
            failing += more
        return {}, Cost()

    def _needs_in(self, report: CapacityReport) -> list[Need]:
        """What the minimums need; of workloads that share a budget, those are the least with the largest values."""
        if self._surroundings is None:
            return []
        pods = self._surroundings.pods
        samples = {name_of(pod): pod for pod in pods if not pod.daemon}
        demands = [
            Demand(result.failure, sample, each.minimum.pods)
            for result in (report.without_failure, *report.failures)
            for each in result.workloads
            if each.keeps_minimum and (sample := samples.get((each.namespace, each.name)))
        ]
        return list(Needs(self.plan, self._tunables, pods, self._surroundings.context).of(demands))

    def _report(self, values: Values, *, explain: bool = False) -> CapacityReport:
        return self._evaluate(with_values(self.plan, values), self._failures[1:], explain=explain)

    def _failing(self, values: Values, failures: Sequence[Failure]) -> list[Failure]:
        report = self._evaluate(
            with_values(self.plan, values), [each for each in failures if each != NO_FAILURE], explain=False
        )
        return [each for each in self._open(report) if each in failures]

    def _open(self, report: CapacityReport) -> list[Failure]:
        """The failures in which a workload is short that larger values would help."""
        return [failure for failure, short in _short(report).items() if short.keys() - self._unsolved.get(failure, {})]

    def _solution(self, before: CapacityReport) -> dict[Key, int]:
        """Values that solve everything that values can: doubled until that changes nothing any more.

        Empty where the plan has nothing to raise, or where nothing is short.
        """
        short, raises = _pending(before), 1
        if not short or not self._tunables:
            return {}
        # A raise of 1 may go to a node that fails: to a zone that is lost, or as one of the largest nodes.
        zones = max((len(each.zones) for each in self.plan.node_groups), default=0)
        certain = max(zones, len(self._failures), 3) + max(each.largest_nodes for each in self._failures)
        while True:
            now = _pending(self._report(self._raised(raises)))
            if not now or (now == short and raises > certain):
                return self._raised(raises)
            short, raises = now, raises * 2

    def _raised(self, raises: int) -> dict[Key, int]:
        return {each.key: each.capped(each.present + each.step * raises) for each in self._tunables}


def _tests(report: CapacityReport) -> int:
    """The number of tests in the search: the fewer, the more pods each of them places."""
    pods = sum(each.replicas for each in report.without_failure.workloads)
    return min(MOST_TESTS, max(_LEAST_TESTS, _PODS_IN_TESTS // max(pods, 1)))


_Name = tuple[str, str]


def _short(report: CapacityReport) -> dict[Failure, dict[_Name, WorkloadResult]]:
    """The workloads that do not keep their minimum, by failure; failures without any are left out."""
    results: Sequence[FailureResult] = (report.without_failure, *report.failures)
    found = {
        each.failure: {(workload.namespace, workload.name): workload for workload in each.short} for each in results
    }
    return {failure: short for failure, short in found.items() if short}


def _pending(report: CapacityReport) -> int:
    """The pods that workloads lack for their minimums, in all failures."""
    return sum(
        each.minimum.pods - (each.replicas - each.pending)
        for short in _short(report).values()
        for each in short.values()
    )
