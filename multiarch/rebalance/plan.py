"""Which pods a run moves, node by node: pure, from what was read of a cluster."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE
from multiarch.facts.taints import Taint
from multiarch.kubernetes.source import LoadedObject
from multiarch.manifests.owners import WorkloadKey
from multiarch.rebalance.candidates import Choice, could_run, grace_seconds, is_meant, needs_another, why_stays
from multiarch.rebalance.model import Move, MovePlan, NodeMoves, Skipped, Staying
from multiarch.rebalance.nodes import why_left_to_karpenter, why_skipped
from multiarch.rebalance.placeholders import placeholder_spec
from multiarch.rebalance.room import Room, Settle, cordoned
from multiarch.rebalance.snapshot import LivePod, Snapshot, why_unfit
from multiarch.simulate.settled import NodeState

JudgeImages = Callable[[Sequence[LoadedObject]], Mapping[str, str]]
"""Takes pods, and says by uid why the images of one do not run on arm64, or are unknown; without pods that are fine."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a plan is made for: the stack's autoscalers and the taint of its arm64 nodes, and which pods are chosen.

    ``nodes`` are the states of the snapshot's nodes, ``settle`` places pods on them.
    """

    autoscaling: AutoscalingPlan
    taint: Taint | None
    choice: Choice
    judge_images: JudgeImages
    nodes: Sequence[NodeState]
    settle: Settle


@dataclass(slots=True)
class _Counts:
    """What is counted while pods are looked at."""

    on_amd64: int = 0
    possible: int = 0


def make_plan(
    snapshot: Snapshot, scope: Scope, *, max_pods: int, without: Sequence[str] = (), max_nodes: int | None = None
) -> MovePlan:
    """Plan at most ``max_pods`` moves from at most ``max_nodes`` nodes; nodes in ``without`` were done already."""
    unfit = {str(each.value["metadata"]["name"]) for each in snapshot.running.nodes if why_unfit(each.value)}
    states = {each.name: cordoned(each) if each.name in unfit else each for each in scope.nodes}
    by_node: defaultdict[str, list[LivePod]] = defaultdict(list)
    for each in snapshot.pods:
        by_node[each.pod.node_name].append(each)
    counts, staying = _Counts(), Counter[tuple[WorkloadKey, str]]()
    skipped: list[Skipped] = []
    sources: dict[str, list[LivePod]] = {}
    for node in snapshot.running.nodes:
        name = str(node.value["metadata"]["name"])
        if (node.value["metadata"].get("labels") or {}).get(ARCHITECTURE) != Architecture.AMD64:
            continue
        could = _could_move(by_node[name], scope, counts)
        if not could or name in without:
            continue
        if (found := _skipped(node.value, by_node[name], len(could), scope)) is not None:
            skipped.append(found)
        elif name in states:
            sources[name] = could
    movable = _movable(sources, snapshot, scope, staying)
    candidates = [each.pod for pods in movable.values() for each in pods]
    room = Room(states.values(), snapshot.daemons, scope.settle, candidates)
    nodes: list[NodeMoves] = []
    left = max_pods
    for name in _order(movable, by_node):
        if not left or len(nodes) == max_nodes:
            break
        moves = _moves(name, movable[name], snapshot, scope.choice, room, staying)[:left]
        room.move(name, [(each.pod, target) for each, _, target in moves])
        if moves:
            stay = sum(not each.pod.daemon for each in by_node[name]) - len(moves)
            nodes.append(NodeMoves(name, states[name].group, tuple(move for _, move, _ in moves), stay))
        left -= len(moves)
    return MovePlan(
        nodes=tuple(nodes),
        staying=tuple(sorted(Staying(workload, why, count) for (workload, why), count in staying.items())),
        leftovers=snapshot.leftovers,
        skipped=tuple(skipped),
        on_amd64=counts.on_amd64,
        possible=counts.possible,
    )


def _skipped(node: Mapping[str, Any], there: Sequence[LivePod], pods: int, scope: Scope) -> Skipped | None:
    name = str(node["metadata"]["name"])
    if why := why_skipped(node, scope.autoscaling):
        return Skipped(name, why, pods)
    if why := why_left_to_karpenter(node, [each.annotations for each in there], scope.autoscaling):
        return Skipped(name, why, pods, by_karpenter=True)
    return None


def _could_move(pods: Sequence[LivePod], scope: Scope, counts: _Counts) -> list[LivePod]:
    meant = [each for each in pods if is_meant(each, scope.choice)]
    could = [each for each in meant if could_run(each, scope.taint)]
    counts.on_amd64 += len(meant)
    counts.possible += len(could)
    return could


def _movable(
    sources: Mapping[str, Sequence[LivePod]],
    snapshot: Snapshot,
    scope: Scope,
    staying: Counter[tuple[WorkloadKey, str]],
) -> dict[str, list[LivePod]]:
    """The pods that nothing but room keeps where they are, by node; ``staying`` counts the others."""
    open_to: dict[str, list[LivePod]] = {}
    for name, pods in sources.items():
        for each in pods:
            if why := why_stays(each, snapshot, scope.choice):
                staying[workload_of(each, snapshot), why] += 1
            else:
                open_to.setdefault(name, []).append(each)
    faults = scope.judge_images([each.found for pods in open_to.values() for each in pods])
    found: dict[str, list[LivePod]] = {}
    for name, pods in open_to.items():
        for each in pods:
            if fault := faults.get(each.uid):
                staying[workload_of(each, snapshot), fault] += 1
            else:
                found.setdefault(name, []).append(each)
    return found


def _order(movable: Mapping[str, Sequence[LivePod]], by_node: Mapping[str, Sequence[LivePod]]) -> list[str]:
    """The nodes that come closest to being empty first: the autoscaler removes an empty one."""

    def key(name: str) -> tuple[int, int, str]:
        others = sum(not each.pod.daemon for each in by_node[name]) - len(movable[name])
        return others, len(movable[name]), name

    return sorted(movable, key=key)


def _moves(
    node: str,
    pods: Sequence[LivePod],
    snapshot: Snapshot,
    choice: Choice,
    room: Room,
    staying: Counter[tuple[WorkloadKey, str]],
) -> list[tuple[LivePod, Move, NodeState]]:
    moves = []
    for each, expected in zip(pods, room.without(node, [each.pod for each in pods]), strict=True):
        workload = workload_of(each, snapshot)
        if expected.why_not or expected.node is None:
            staying[workload, expected.why_not] += 1
            continue
        controller = snapshot.controllers[each.controller]
        move = Move(
            namespace=each.pod.namespace,
            name=each.pod.name,
            uid=each.uid,
            workload=workload,
            controller=controller.uid,
            controller_kind=controller.kind,
            controller_name=controller.name,
            selector=controller.selector,
            target=expected.node.group or expected.node.name,
            new_node=expected.new,
            grace_seconds=grace_seconds(each.value),
            needs_another=needs_another(each, snapshot, choice),
            placeholder=placeholder_spec(each.value, each.pod.requests) if expected.new else {},
        )
        moves.append((each, move, expected.node))
    return moves


def workload_of(each: LivePod, snapshot: Snapshot) -> WorkloadKey:
    """The object at the end of a pod's chain of owners, as far as it was read."""
    found = snapshot.controllers.get(each.controller)
    if found is not None:
        return found.workload
    owner = each.pod.owner
    namespace = each.pod.namespace
    return (
        WorkloadKey(namespace, "Pod", each.pod.name)
        if owner is None
        else WorkloadKey(namespace, owner.kind, owner.name)
    )
