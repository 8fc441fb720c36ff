"""The recommendation: what to change in a stack file, what it costs, and what it leaves unsolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from multiarch.capacity.evaluation import Evaluation
from multiarch.capacity.model import NO_FAILURE, CapacityFailure, CapacityReport, FailureResult, WorkloadResult
from multiarch.capacity.recommendation.changes import ValueChange, compare_plans
from multiarch.capacity.recommendation.needs import Demand, Need, NodeSources
from multiarch.capacity.recommendation.parts import StackPart, list_parts
from multiarch.capacity.recommendation.rates import Rates, get_rates
from multiarch.capacity.recommendation.search import NO_LIMIT, FoundValues, TimeLimit, search_values
from multiarch.capacity.recommendation.tunables import Cost, Key, Tunable, Values, list_tunables, with_values
from multiarch.capacity.workloads import get_workload_name
from multiarch.prices.model import RegionPrices, UnknownPrice
from multiarch.serialization import INLINED, OMITTED
from multiarch.stack.model import Plan

_Name = tuple[str, str]
_NOTHING: Values = MappingProxyType({})
_SHARE = 0.7
"""The part of the time that is left which one search may take: another one may have to follow."""


@dataclass(frozen=True, slots=True)
class Unsolved:
    """A workload that does not keep its minimum in a failure: larger sizes and limits and more zones do not help."""

    failure: CapacityFailure
    workload: WorkloadResult


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The cheapest change, and the report of the stack with it.

    ``cost`` is what the stack costs more, in the unit of ``rates``; no change costs less than ``bound``. Without
    ``changes`` nothing in the stack file has to be changed, or nothing helps. ``report`` is that of the changed
    ``plan``.
    """

    changes: tuple[ValueChange, ...]
    plan: Plan = field(metadata=OMITTED)
    cost: Cost
    bound: Cost
    rates: Rates = field(metadata=INLINED)
    unsolved: tuple[Unsolved, ...]
    report: CapacityReport = field(metadata=OMITTED)


def find_recommendation(
    plan: Plan,
    failures: Sequence[CapacityFailure],
    evaluate: Evaluation,
    prices: RegionPrices | UnknownPrice | None = None,
    *,
    limit: TimeLimit = NO_LIMIT,
) -> Recommendation:
    """Find the cheapest change of a plan's stack file under which all of ``failures`` leave every minimum.

    After ``limit`` the search ends with the cheapest change so far: the evaluations that find one at all are made in
    any case. Raises MultiarchError without highspy.
    """
    return _Recommender(plan, failures, evaluate, get_rates(plan, prices)).run(limit)


class _Recommender:
    """The search for values of a plan under which no workload is short in any failure."""

    def __init__(
        self,
        plan: Plan,
        failures: Sequence[CapacityFailure],
        evaluate: Evaluation,
        rates: Rates,
        tunables: Sequence[Tunable] | None = None,
    ) -> None:
        """``tunables`` are those to be raised: all of the plan, or those of a part, whose pods are evaluated."""
        self.plan = plan
        self._evaluate = evaluate
        self._rates = rates
        self._tunables = list_tunables(plan, rates) if tunables is None else tunables
        self._failures = tuple(dict.fromkeys((NO_FAILURE, *failures)))
        self._unsolved: Mapping[CapacityFailure, Mapping[_Name, WorkloadResult]] = {}

    @cached_property
    def _before(self) -> CapacityReport:
        """The report of the plan as it is."""
        return self._report({}, explain=True)

    @cached_property
    def _solution(self) -> dict[Key, int]:
        """Values that solve everything that values can: doubled until that changes nothing any more.

        Empty where the plan has nothing to raise, or where nothing is short.
        """
        short, raises = _pending(self._before), 1
        if not short or not self._tunables:
            return {}
        failing = list(_short(self._before))
        # A raise of 1 may go to a node that fails: to a zone that is lost, or as one of the largest nodes.
        zones = max((len(each.zones) for each in self.plan.node_groups), default=0)
        certain = max(zones, len(self._failures), 3) + max(each.largest_nodes for each in self._failures)
        while True:
            now = _pending(self._report(self._raised(raises), failing))
            if not now or (now == short and raises > certain):
                return self._raised(raises)
            short, raises = now, raises * 2

    @cached_property
    def _solved(self) -> CapacityReport:
        """The report with all that values can solve."""
        return self._report(self._solution) if self._solution else self._before

    def run(self, limit: TimeLimit) -> Recommendation:
        found = self.find_values(limit)
        plan = with_values(self.plan, found.values)
        report = self._report(found.values, explain=True)
        return Recommendation(
            changes=tuple(compare_plans(self.plan, plan)),
            plan=plan,
            cost=found.cost,
            bound=found.bound,
            rates=self._rates,
            unsolved=tuple(
                Unsolved(failure, each)
                for failure, short in _short(report).items()
                for _, each in sorted(short.items())
            ),
            report=report,
        )

    def find_values(self, limit: TimeLimit) -> FoundValues:
        """Find the cheapest values: those of all parts together if they hold for the whole stack too."""
        self._unsolved = _short(self._solved)
        failing, given = self._open(self._before), self._evaluate
        if not self._solution or not failing:
            return FoundValues({}, Cost(), Cost())
        if given.nodes is not None:
            return self._search(failing, (), limit)  # The nodes of a live cluster are not all of the plan.
        sources = NodeSources(self.plan, self._tunables, given.pods, given.context)
        parts = list(list_parts(self.plan, self._tunables, given, sources))
        needs = self._needs(sources)
        if len(parts) == 1:
            return self._search(failing, needs, limit)
        found = self._find_by_part(parts, limit.share(_SHARE))
        if not (short := self._open(self._report(found.values, explain=True))):
            return found
        later = self._search([*dict.fromkeys((*failing, *short))], needs, limit, near=found.values)
        return replace(later, bound=min(later.cost, max(later.bound, found.bound)))

    def _find_by_part(self, parts: Sequence[StackPart], limit: TimeLimit) -> FoundValues:
        """Return the cheapest values of each part, without the failures of the largest nodes, which depend on all."""
        failures = [each for each in self._failures if not each.largest_nodes]
        values: dict[Key, int] = {}
        cost = bound = Cost()
        for number, part in enumerate(parts):
            evaluate = replace(self._evaluate, pods=part.pods)
            search = _Recommender(self.plan, failures, evaluate, self._rates, part.tunables)
            found = search.find_values(limit.share(1 / (len(parts) - number)))
            values |= found.values
            cost, bound = cost + found.cost, bound + found.bound
        return FoundValues(values, cost, bound)

    def _search(
        self, failing: list[CapacityFailure], needs: Sequence[Need], limit: TimeLimit, *, near: Values = _NOTHING
    ) -> FoundValues:
        """Return the cheapest values, with those failures that made a difference, until they hold in all of them."""
        while True:
            share = limit.share(_SHARE)
            found = search_values(
                self._tunables, self._solution, failing, self._failing, needs=needs, near=near, limit=share
            )
            near = found.values
            # A failure that was harmless before: other sizes lead pods to other nodes.
            report = self._report(found.values, explain=True)
            more = [each for each in self._open(report) if each not in failing]
            if not more:
                return found
            failing += more

    def _report(
        self, values: Values, failures: Sequence[CapacityFailure] | None = None, *, explain: bool = False
    ) -> CapacityReport:
        """Return the report with these values, of all failures unless some are given."""
        asked = [each for each in (self._failures if failures is None else failures) if each != NO_FAILURE]
        return self._evaluate(with_values(self.plan, values), asked, explain=explain)

    def _open(self, report: CapacityReport) -> list[CapacityFailure]:
        """Return the failures in which a workload is short that larger values would help."""
        return [
            failure
            for failure, short in _short(report).items()
            if any(name not in self._unsolved.get(failure, {}) for name in short)
        ]

    def _failing(self, values: Values, failures: Sequence[CapacityFailure]) -> list[CapacityFailure]:
        return [each for each in self._open(self._report(values, failures)) if each in failures]

    def _needs(self, sources: NodeSources) -> list[Need]:
        """What the minimums need; of workloads that share a budget, those are the least with the largest values."""
        samples = {get_workload_name(pod): pod for pod in self._evaluate.pods if not pod.daemon}
        demands = [
            Demand(result.failure, sample, each.needed)
            for result in (self._solved.without_failure, *self._solved.failures)
            for each in result.workloads
            if each.keeps_minimum and (sample := samples.get((each.namespace, each.name)))
        ]
        return list(sources.needs(demands))

    def _raised(self, raises: int) -> dict[Key, int]:
        return {each.key: each.capped(each.present + each.step * raises) for each in self._tunables}


def _short(report: CapacityReport) -> dict[CapacityFailure, dict[_Name, WorkloadResult]]:
    """Return the workloads that do not keep their minimum, by failure; failures without any are omitted."""
    results: Sequence[FailureResult] = (report.without_failure, *report.failures)
    found = {
        each.failure: {(workload.namespace, workload.name): workload for workload in each.short} for each in results
    }
    return {failure: short for failure, short in found.items() if short}


def _pending(report: CapacityReport) -> int:
    """Return the pods that workloads lack for their minimums, in all failures."""
    return sum(each.lacking for short in _short(report).values() for each in short.values())
