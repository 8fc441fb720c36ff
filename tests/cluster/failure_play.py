"""A failure, played by the model and on the real control plane: how many pods of each workload have no node then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import TypeVar
from unittest import mock

from multiarch.capacity.failing import After, Before, fail, placed_again, settled_before
from multiarch.capacity.failures import unavailable
from multiarch.capacity.model import Failure
from multiarch.scheduling.pods import Pod
from multiarch.simulate.context import simulation_context
from multiarch.simulate.nodes import SimNode
from multiarch.simulate.settled import NodeState
from multiarch.simulate.simulation import settle
from sandbox.cluster.kube import Kube
from tests.cluster.failure_cases import Case
from tests.cluster.failure_run import Run, Runs, owner

T = TypeVar("T")
MOST_ROUNDS = 3
"""How often the autoscaler may add more nodes, where kube-scheduler has put pods elsewhere than was planned."""


SHUFFLES = 100
"""So many other orders show that a case has several answers; in every other one pods take any node that has room."""


@dataclass(slots=True)
class Stage:
    """The number of pods without a node, by workload: as simulated, and on the cluster.

    ``others`` gives the simulated answers for nodes and pods in the order of a number. ``more`` is the number of nodes
    that the autoscaler had to add beside those that were simulated.
    """

    simulated: Mapping[str, int] = field(default_factory=dict)
    real: Mapping[str, int] = field(default_factory=dict)
    others: Callable[[int], Iterator[Mapping[str, int]]] = lambda _number: iter(())
    more: int = 0

    @property
    def agrees(self) -> bool:
        """Whether both are the same."""
        return self.simulated == self.real

    @property
    def open(self) -> bool:
        """Whether the answer depends on the order of pods, or on which of several good nodes a pod gets."""
        for number in range(SHUFFLES):
            used = SimNode.used if number % 2 else property(partial(_anyhow, seed=number))
            with mock.patch.object(SimNode, "used", used):
                if any(answer != self.simulated for answer in self.others(number)):
                    return True
        return False


@dataclass(slots=True)
class Played:
    """A case before and after the failure."""

    case: Case
    before: Stage = field(default_factory=Stage)
    after: Stage = field(default_factory=Stage)

    @property
    def agrees(self) -> bool:
        """Whether model and cluster agree before and after the failure."""
        return self.before.agrees and self.after.agrees

    def differences(self) -> list[str]:
        """Say of each workload what differs where only one answer is possible, one line each."""
        return [
            f"{self.case.name}: {when}: {name}: simulated {stage.simulated.get(name, 0)} pods without a node, real "
            f"{stage.real.get(name, 0)}"
            for when, stage in (("before", self.before), ("after", self.after))
            if not stage.agrees and not stage.open
            for name in sorted({*stage.simulated, *stage.real})
            if stage.simulated.get(name, 0) != stage.real.get(name, 0)
        ]


def play(kube: Kube, cases: Sequence[Case]) -> list[Played]:
    """Play all cases side by side."""
    runs = Runs(kube, cases)
    played = {run: Played(run.case) for run in runs.all}
    try:
        runs.begin()
        _before(runs, played)
        _after(runs, played)
    finally:
        runs.end()
    return list(played.values())


def _before(runs: Runs, played: Mapping[Run, Played]) -> None:
    """Start the nodes and the pods: these on the nodes that the model chose, or where kube-scheduler puts them."""
    made = {run: _settled(run.case, run.case.pods()) for run in runs.all}
    start, new = {}, {}
    for run, before in made.items():
        nodes = before.settled.nodes
        played[run].before.simulated = _count(before.settled.unplaced)
        played[run].before.others = partial(_other_starts, run.case)
        first = sum(group.sizes.desired for group in before.plan.node_groups) if run.case.free else len(nodes)
        start[run], new[run] = nodes[:first], nodes[first:]
    runs.add_nodes(start, "a")

    def create(run: Run) -> None:
        if run.case.free:
            run.create(pod for pod in run.case.pods() if not pod.per_node)
            return
        for state in made[run].settled.nodes:
            run.create(state.pods, run.named(state.name, "a"))
        run.create(made[run].settled.unplaced)

    runs.each(create)
    runs.decided()
    _grow(runs, new, "b", {run: Failure() for run in runs.all}, {run: played[run].before for run in runs.all})


def _after(runs: Runs, played: Mapping[Run, Played]) -> None:
    """Take away the nodes that fail; Auto Scaling groups replace theirs, controllers their pods."""
    after: dict[Run, After] = {}
    replaced, new = {}, {}
    for run in runs.all:
        before = _settled(run.case, [*run.waiting(), *run.daemons], run.states())
        after[run] = fail(before, run.case.failure)
        played[run].after.simulated = _count(after[run].settled.unplaced)
        played[run].after.others = partial(_other_orders, before, after[run])
        replaced[run], new[run] = _replaced(after[run], before)
    runs.each(lambda run: run.lose(each.name for each in after[run].lost))
    runs.add_nodes(replaced, "c")
    runs.each(lambda run: run.create(_created_again(after[run])))
    runs.decided()
    failures = {run: run.case.failure for run in runs.all}
    _grow(runs, new, "d", failures, {run: played[run].after for run in runs.all})


def _shuffled(things: Sequence[T], number: int) -> list[T]:
    """Return the same in the order of this number, the same in every run."""
    return Random(number).sample(things, len(things))  # noqa: S311


def _anyhow(node: SimNode, *, seed: int) -> float:
    """Stands for how full a node is, and has nothing to do with it."""
    return hash((seed, node.number, node.pods))


def _other_starts(case: Case, number: int) -> Iterator[Mapping[str, int]]:
    """Yield the pods without a node before the failure, by workload, for pods in another order.

    Every other time all the nodes are there from the start, so that pods get room that was meant for others.
    """
    nodes = _emptied(_settled(case, case.pods()).settled.nodes) if number % 4 > 1 else None
    yield _count(_settled(case, _shuffled(list(case.pods()), number), nodes).settled.unplaced)


def _other_orders(before: Before, after: After, number: int) -> Iterator[Mapping[str, int]]:
    """Yield the pods without a node after the failure, by workload, for nodes and pods in another order."""
    settled = before.settled
    if number == 1:
        # Pods that had no node before get those that Auto Scaling groups start, before the lost pods are created again.
        first = placed_again(before, replace(after, displaced=()))
        then = replace(before, settled=replace(settled, nodes=first.nodes, unplaced=first.unplaced))
        yield _count(placed_again(then, replace(after, kept=first.nodes)).unplaced)
    nodes, unplaced = _shuffled(settled.nodes, number), _shuffled(settled.unplaced, number)
    mixed = tuple(replace(node, pods=tuple(reversed(node.pods))) for node in nodes)
    other = replace(before, settled=replace(settled, nodes=mixed, unplaced=tuple(unplaced)))
    again = fail(other, after.failure)
    yield _count(again.settled.unplaced)
    # Pods get room that was meant for others.
    kept = (*after.kept, *_emptied(after.added))
    yield _count(placed_again(other, replace(again, kept=kept)).unplaced)


def _emptied(nodes: Iterable[NodeState]) -> tuple[NodeState, ...]:
    return tuple(replace(node, pods=()) for node in nodes)


def _replaced(after: After, before: Before) -> tuple[list[NodeState], list[NodeState]]:
    """The new nodes that Auto Scaling groups start by themselves, and those that the autoscaler adds."""
    missing = Counter(node.group for node in after.lost)
    groups = {group.name for group in before.plan.node_groups}
    replaced: list[NodeState] = []
    added: list[NodeState] = []
    for node in after.added:
        own = node.group in groups and missing[node.group] > 0
        missing[node.group] -= own
        (replaced if own else added).append(node)
    return replaced, added


def _created_again(after: After) -> list[Pod]:
    """The pods of lost nodes that get another one, those of one workload together as the model takes them."""
    places: dict[str, int] = {}
    for pod in after.displaced:
        places.setdefault(owner(pod), len(places))
    return sorted(after.displaced, key=lambda pod: places[owner(pod)])


def _grow(
    runs: Runs,
    new: Mapping[Run, Sequence[NodeState]],
    stage: str,
    failures: Mapping[Run, Failure],
    stages: Mapping[Run, Stage],
) -> None:
    """Add nodes, and more of them for pods that are still waiting, until that helps no longer."""
    for number in range(MOST_ROUNDS):
        if any(new.values()):
            runs.add_nodes(new, f"{stage}{number}")
            runs.decided()
        new = {run: _more(run, failures[run]) for run in runs.all}
        for run, nodes in new.items():
            stages[run].more += len(nodes)
        if not any(new.values()):
            break
    for run in runs.all:
        stages[run].real = _count(run.waiting())


def _more(run: Run, failure: Failure) -> Sequence[NodeState]:
    """The nodes that the autoscaler adds for the pods that are waiting now."""
    plan, states = run.case.stack.plan, run.states()
    made = settle(
        plan.autoscaling,
        plan.node_groups,
        simulation_context(plan),
        states,
        [*run.waiting(), *run.daemons],
        unavailable=unavailable(failure, plan),
    )
    return made.nodes[len(states) :]


def _settled(case: Case, pods: Iterable[Pod], nodes: Sequence[NodeState] | None = None) -> Before:
    plan = case.stack.plan
    return settled_before(plan, pods, simulation_context(plan), nodes=nodes)


def _count(pods: Iterable[Pod]) -> Counter[str]:
    return Counter(owner(pod) for pod in pods)
