"""A failure, played by the model and on the real control plane: how many pods of each workload have no node then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from multiarch.capacity.failures import After, Before, fail_nodes, settle_before
from multiarch.capacity.model import CapacityFailure
from multiarch.scheduling.pods import Pod
from multiarch.simulate.context import build_simulation_context
from multiarch.simulate.settled import NodeState
from sandbox.cluster.kube import Kube
from tests.cluster.failure_cases import Case
from tests.cluster.failure_choices import Choices, judge, next_nodes
from tests.cluster.failure_run import Run, Runs, owner

MOST_ROUNDS = 4
"""How often the autoscaler may add nodes for pods that are waiting."""
PATIENCE = 8
"""How often to look again where a pod waits that has room: kube-scheduler tries it again after up to ten seconds."""


@dataclass(slots=True)
class Played:
    """A case, and the number of its pods without a node after the failure, by workload: simulated, and real."""

    case: Case
    simulated: Mapping[str, int] = field(default_factory=dict)
    real: Mapping[str, int] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)

    @property
    def agrees(self) -> bool:
        """Whether the same pods have a node."""
        return self.simulated == self.real


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
    """Start the nodes that the groups begin with, and the pods, which kube-scheduler places."""
    start = {}
    for run in runs.all:
        before = _settled(run.case, run.case.pods())
        start[run] = before.settled.nodes[: sum(group.sizes.desired for group in before.plan.node_groups)]
    runs.add_nodes(start, "a")
    runs.each(lambda run: run.create(pod for pod in run.case.pods() if not pod.per_node))
    runs.decided()
    _grow(runs, "b", {run: CapacityFailure() for run in runs.all}, played)


def _after(runs: Runs, played: Mapping[Run, Played]) -> None:
    """Take away the nodes that fail; Auto Scaling groups replace theirs, controllers their pods."""
    after: dict[Run, After] = {}
    replaced = {}
    for run in runs.all:
        before = _settled(run.case, [*run.waiting(), *run.daemons], run.states())
        after[run] = fail_nodes(before, run.case.failure)
        played[run].simulated = _count(after[run].settled.unplaced)
        replaced[run] = _replaced(after[run], before)
    runs.each(lambda run: run.lose(each.name for each in after[run].lost))
    runs.add_nodes(replaced, "c")
    runs.each(lambda run: run.create(_created_again(after[run])))
    runs.decided()
    _grow(runs, "d", {run: run.case.failure for run in runs.all}, played)
    for run in runs.all:
        played[run].real = _count(run.waiting())


def _replaced(after: After, before: Before) -> list[NodeState]:
    """The new nodes that Auto Scaling groups start by themselves."""
    missing = Counter(node.group for node in after.lost)
    groups = {group.name for group in before.plan.node_groups}
    replaced = []
    for node in after.added:
        if node.group in groups and missing[node.group] > 0:
            missing[node.group] -= 1
            replaced.append(node)
    return replaced


def _created_again(after: After) -> list[Pod]:
    """The pods of lost nodes that get another one, those of one workload together as the model takes them."""
    places: dict[str, int] = {}
    for pod in after.displaced:
        places.setdefault(owner(pod), len(places))
    return sorted(after.displaced, key=lambda pod: places[owner(pod)])


def _grow(runs: Runs, stage: str, failures: Mapping[Run, CapacityFailure], played: Mapping[Run, Played]) -> None:
    """Add nodes for pods that are waiting, as the model says that the autoscaler does, until that helps no longer."""
    for number in range(MOST_ROUNDS):
        new = _next_nodes(runs, failures, played)
        if not any(new.values()):
            break
        runs.add_nodes(new, f"{stage}{number}")
        runs.decided()


def _next_nodes(
    runs: Runs, failures: Mapping[Run, CapacityFailure], played: Mapping[Run, Played]
) -> dict[Run, Sequence[NodeState]]:
    """The nodes that the autoscaler adds next. What kube-scheduler has done until then is judged."""
    found = {run: next_nodes(run, failures[run]) for run in runs.all}
    for _ in range(PATIENCE):
        if not any(waits for _, waits in found.values()):
            break
        runs.decided()
        found = {run: next_nodes(run, failures[run]) for run in runs.all}
    for run, (_, waits) in found.items():
        judge(run, played[run].choices)
        played[run].choices.rejected += waits
    return {run: nodes for run, (nodes, _) in found.items()}


def _settled(case: Case, pods: Iterable[Pod], nodes: Sequence[NodeState] | None = None) -> Before:
    plan = case.stack.plan
    return settle_before(plan, pods, build_simulation_context(plan), nodes=nodes)


def _count(pods: Iterable[Pod]) -> Counter[str]:
    return Counter(owner(pod) for pod in pods)
