"""How many pods each workload has to keep: by its PodDisruptionBudgets, or by assumption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from multiarch.capacity.model import Minimum, OtherWorkloads
from multiarch.capacity.workloads import Replicas, WorkloadName
from multiarch.manifests.disruption_budgets import DisruptionBudget, PodCount
from multiarch.manifests.values import Labels
from multiarch.plurals import format_count


@dataclass(frozen=True, slots=True)
class _Bound:
    """A budget, the workloads whose pods it selects, each with their number, and how many have to stay in all."""

    budget: DisruptionBudget
    pods: Mapping[WorkloadName, int]
    least: int

    @property
    def expected(self) -> int:
        return sum(self.pods.values())

    def others(
        self, workload: Replicas, surviving: Mapping[WorkloadName, int], running: Mapping[WorkloadName, int]
    ) -> OtherWorkloads:
        """Return the other workloads that it selects."""
        keys = [key for key in self.pods if key != workload.key]
        return OtherWorkloads(
            len(keys),
            sum(self.pods[key] for key in keys),
            sum(surviving.get(key, 0) for key in keys),
            sum(running.get(key, 0) for key in keys),
        )


class Minimums:
    """The minimums of all workloads.

    A workload without a budget has to keep ``without_budget`` of its pods; Jobs, and pods without a controller, none.
    """

    def __init__(
        self, workloads: Sequence[Replicas], budgets: Sequence[DisruptionBudget], *, without_budget: PodCount
    ) -> None:
        """Find out which budget is for which pods."""
        self._workloads = workloads
        self._without_budget = without_budget
        self._bounds = [_bound(budget, workloads) for budget in sorted(budgets, key=str)]
        self._of: dict[WorkloadName, list[_Bound]] = {}
        for bound in self._bounds:
            for key in bound.pods:
                self._of.setdefault(key, []).append(bound)

    def of(
        self, workload: Replicas, surviving: Mapping[WorkloadName, int], running: Mapping[WorkloadName, int]
    ) -> Minimum:
        """Return the minimum of one workload, of several budgets the one that requires most.

        Where a budget selects several workloads, ``surviving`` and ``running`` pods of the others count too.
        """
        found = [
            Minimum(
                bound.least,
                f"PodDisruptionBudget {bound.budget}: {bound.budget.limit}",
                bound.others(workload, surviving, running),
            )
            for bound in self._of.get(workload.key, ())
        ]
        if found:
            return max(found, key=lambda each: each.pods - each.others.running)
        if workload.batch:
            return Minimum(0, "a Job may wait")
        if workload.bare:
            return Minimum(0, "no controller replaces it")
        pods = len(workload.pods)
        return Minimum(min(self._without_budget.of(pods), pods), f"no PodDisruptionBudget: {self._without_budget}")

    def assumptions(self) -> Iterator[str]:
        """Yield what is assumed about workloads without a budget."""
        without = [each for each in self._workloads if each.key not in self._of]
        served = [each for each in without if not each.batch and not each.bare]
        if served:
            yield (
                f"{format_count(len(served), 'workload')} without a PodDisruptionBudget: {self._without_budget} of "
                "the pods have to get a node again."
            )
        if any(each.batch for each in without):
            yield "Pods of Jobs and CronJobs may wait: without a PodDisruptionBudget their minimum is 0."
        bare = [each for each in without if each.bare]
        if bare:
            yield (
                f"No controller replaces the pods of {', '.join(map(str, bare))}: they are gone with their node, and "
                "their minimum is 0."
            )

    def warnings(self) -> Iterator[str]:
        """Yield what is wrong with the budgets."""
        for workload in self._workloads:
            names = [str(bound.budget) for bound in self._of.get(workload.key, ())]
            if len(names) > 1:
                yield (
                    f"{workload}: its pods have {len(names)} PodDisruptionBudgets ({', '.join(names)}). The eviction "
                    "API does not evict such pods; the largest minimum counts here."
                )
        bare = {each.key for each in self._workloads if each.bare}
        for bound in self._bounds:
            yield from _faults(bound, bare)


def _bound(budget: DisruptionBudget, workloads: Sequence[Replicas]) -> _Bound:
    selected: dict[tuple[str, Labels], bool] = {}
    pods: dict[WorkloadName, int] = {}
    for workload in workloads:
        if workload.namespace != budget.namespace:
            continue
        for pod in workload.pods:
            asked = pod.namespace, pod.labels
            if asked not in selected:
                selected[asked] = budget.selects(*asked)
            if selected[asked]:
                pods[workload.key] = pods.get(workload.key, 0) + 1
    return _Bound(budget, pods, budget.least(sum(pods.values())))


def _faults(bound: _Bound, bare: set[WorkloadName]) -> Iterator[str]:
    budget, expected = bound.budget, bound.expected
    title = f"PodDisruptionBudget {budget} ({budget.limit})"
    if budget.min_available is None and budget.max_unavailable is None:
        yield f"PodDisruptionBudget {budget} sets neither minAvailable nor maxUnavailable: it requires no pods."
    elif not expected:
        yield f"{title} selects none of these pods."
    elif bound.least > expected:
        yield f"{title} can't be met: it selects {format_count(expected, 'pod')}. It also blocks every eviction."
    elif bound.least == expected:
        yield f"{title} allows no eviction: nodes with its {format_count(expected, 'pod')} can't be drained."
    by_number = budget.min_available is not None and not budget.min_available.percent
    if expected and not by_number and bare & set(bound.pods):
        yield f"{title} selects pods without a controller, for which only a number as minAvailable has an effect."
