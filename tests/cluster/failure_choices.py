"""What kube-scheduler did, step by step, held against the model: may it, and would the model have done the same.

Of equally good nodes kube-scheduler takes any, so it may end elsewhere than the model. Each of its steps has to be one
that the model's rules allow, and what it leaves waiting has to be what they leave waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from multiarch.capacity.failures import list_group_names, list_unavailable
from multiarch.capacity.model import CapacityFailure
from multiarch.scheduling.fit import explain_never
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.scores import score_candidates
from multiarch.simulate.batches import make_batches
from multiarch.simulate.context import build_simulation_context
from multiarch.simulate.model import Batch
from multiarch.simulate.nodes import Nodes, SimNode
from multiarch.simulate.settled import NodeState, Settled, Unavailable
from multiarch.simulate.simulation import settle_pods
from tests.cluster.failure_run import Run


@dataclass(slots=True)
class Choices:
    """``best`` counts pods on a node with the best score, ``others`` those elsewhere.

    ``rejected`` are pods on nodes on which the model allows none of them, and pods without a node that it gives one.
    """

    best: int = 0
    others: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)


def judge(run: Run, choices: Choices) -> None:
    """Judge what kube-scheduler did since the last call, in any order in which each step is allowed.

    A step may have come before pods were evicted, or after that: it has to be allowed with them or without them.
    """
    steps, evicted = run.steps()
    moved = {pod.name for pod, _ in steps}
    states = [replace(state, pods=tuple(pod for pod in state.pods if pod.name not in moved)) for state in run.states()]
    batches = make_batches(pod for pod, _ in steps)
    of_pod = {pod.name: batch for batch in batches for pod in batch.pods}
    worlds = [Nodes(batches, run.daemons, states)]
    if evicted:
        before = [
            replace(state, pods=(*state.pods, *(pod for pod, node in evicted if node == state.name)))
            for state in states
        ]
        worlds.append(Nodes(batches, run.daemons, before))
    places = {state.name: place for place, state in enumerate(states)}
    left = [(of_pod[pod.name], pod, places[node]) for pod, node in steps]
    while left:
        step = next(((*each, world) for each in left for world in worlds if _allowed(world, each[0], each[2])), None)
        if step is None:
            choices.rejected += [
                f"{pod.name} is on {states[place].name}: {_why(worlds[0], batch, worlds[0].all[place])}"
                for batch, pod, place in left
            ]
            return
        batch, pod, place, world = step
        best = _best(world, batch)
        if world.all[place] in best:
            choices.best += 1
        else:
            choices.others.append(f"{pod.name} on {states[place].name}, not {best[0].node.name}")
        left.remove((batch, pod, place))
        for each in worlds:
            each.put(batch, pod, each.all[place])


def next_nodes(run: Run, failure: CapacityFailure) -> tuple[Sequence[NodeState], list[str]]:
    """The nodes that the autoscaler adds for the pods that are waiting, and those of them that have room already."""
    states = run.states()
    made = _placed(run, states, list_unavailable(failure, run.case.stack.plan))
    if _moves(states, made):
        # With new nodes pods may find others that they have to be near: only what needs no new node is late.
        none = Unavailable(groups=frozenset(list_group_names(run.case.stack.plan)))
        return made.nodes[len(states) :], _moves(states, _placed(run, states, none))
    return made.nodes[len(states) :], []


def _placed(run: Run, states: Sequence[NodeState], lost: Unavailable) -> Settled:
    """What the model makes of the pods that are waiting."""
    plan, pods = run.case.stack.plan, [*run.waiting(), *run.daemons]
    return settle_pods(
        plan.autoscaling, plan.node_groups, build_simulation_context(plan), states, pods, unavailable=lost
    )


def _moves(states: Sequence[NodeState], made: Settled) -> list[str]:
    return [
        f"{pod} waits, and could be on {before.name}"
        for before, after in zip(states, made.nodes, strict=False)
        for pod in _difference(after.pods, before.pods)
    ]


def _difference(after: Sequence[Pod], before: Sequence[Pod]) -> Iterator[str]:
    names = {pod.name for pod in before}
    yield from (pod.name for pod in after if pod.name not in names)


def _allowed(nodes: Nodes, batch: Batch, place: int) -> bool:
    return not _why(nodes, batch, nodes.all[place])


def _why(nodes: Nodes, batch: Batch, node: SimNode) -> str:
    never = explain_never(batch.sample.spec, node.shape) or nodes.why_not(batch, node.node)
    if never is None and not node.free.covers(batch.sample.requests):
        return "no room"
    if never is None and not batch.sample.spec.affinity.allows(node.node.labels):
        return "its zone is excluded"
    return "" if never is None else never.text


def _best(nodes: Nodes, batch: Batch) -> list[SimNode]:
    """All nodes with the best score."""
    able = [node for node in nodes.all if _allowed(nodes, batch, node.number)]
    found = score_candidates(
        [nodes.candidate(batch, node) for node in able], nodes.soft[batch.number].spread, len(able)
    )
    return [node for node, score in zip(able, found, strict=True) if score == max(found)]
