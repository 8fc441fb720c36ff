"""Which pods a run moves, node by node: pure, from what was read of a cluster."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE
from multiarch.kubernetes.source import LoadedObject
from multiarch.manifests.owners import WorkloadKey
from multiarch.observed.cluster import ClusterState
from multiarch.rebalance.candidates import Choice, could_run, explain_stay, get_grace_seconds, is_meant, needs_another
from multiarch.rebalance.model import Move, MovePlan, NodeMoves, Skipped, Staying
from multiarch.rebalance.nodes import explain_left_to_karpenter, explain_skip
from multiarch.rebalance.placeholders import build_placeholder_spec
from multiarch.rebalance.room import Room, make_settler, mark_cordoned
from multiarch.rebalance.snapshot import LivePod, Snapshot, explain_unfit
from multiarch.simulate.context import build_simulation_context
from multiarch.simulate.settled import NodeState
from multiarch.stack.model import Plan

JudgeImages = Callable[[Sequence[LoadedObject]], Mapping[str, str]]
"""Takes pods, and says by uid why the images of one do not run on arm64, or are unknown; without pods that are fine."""


def make_plan(
    snapshot: Snapshot,
    plan: Plan,
    state: ClusterState,
    choice: Choice,
    judge_images: JudgeImages,
    *,
    max_pods: int,
    without: Sequence[str] = (),
    max_nodes: int | None = None,
) -> MovePlan:
    """Plan at most ``max_pods`` moves from at most ``max_nodes`` nodes; nodes in ``without`` were done already.

    ``state`` has the snapshot's nodes, ``choice`` says which pods may be moved.
    """
    unfit = {str(each.value["metadata"]["name"]) for each in snapshot.running.nodes if explain_unfit(each.value)}
    states = {each.name: mark_cordoned(each) if each.name in unfit else each for each in state.nodes}
    by_node: defaultdict[str, list[LivePod]] = defaultdict(list)
    for each in snapshot.pods:
        by_node[each.pod.node_name].append(each)
    staying = Counter[tuple[WorkloadKey, str]]()
    on_amd64 = possible = 0
    skipped: list[Skipped] = []
    sources: dict[str, list[LivePod]] = {}
    for node in snapshot.running.nodes:
        name = str(node.value["metadata"]["name"])
        if (node.value["metadata"].get("labels") or {}).get(ARCHITECTURE) != Architecture.AMD64:
            continue
        meant = [each for each in by_node[name] if is_meant(each, choice)]
        could = [each for each in meant if could_run(each, plan.arm64_taint)]
        on_amd64, possible = on_amd64 + len(meant), possible + len(could)
        if not could or name in without:
            continue
        if (found := _skipped(node.value, by_node[name], len(could), plan.autoscaling)) is not None:
            skipped.append(found)
        elif name in states:
            sources[name] = could
    movable = _movable(sources, snapshot, choice, judge_images, staying)
    candidates = [each.pod for pods in movable.values() for each in pods]
    settle = make_settler(plan.autoscaling, plan.node_groups, build_simulation_context(plan, seen=state.zones))
    room = Room(states.values(), snapshot.daemons, settle, candidates)
    nodes: list[NodeMoves] = []
    left = max_pods
    for name in _order(movable, by_node):
        if not left or len(nodes) == max_nodes:
            break
        moves = _moves(name, movable[name], snapshot, choice, room, staying)[:left]
        if moves:
            room.move(name, [(each.pod, target) for each, _, target in moves])
            stay = sum(not each.pod.daemon for each in by_node[name]) - len(moves)
            nodes.append(NodeMoves(name, states[name].group, tuple(move for _, move, _ in moves), stay))
        left -= len(moves)
    return MovePlan(
        nodes=tuple(nodes),
        staying=tuple(sorted(Staying(workload, why, count) for (workload, why), count in staying.items())),
        leftovers=snapshot.leftovers,
        skipped=tuple(skipped),
        on_amd64=on_amd64,
        possible=possible,
    )


def _skipped(node: Mapping[str, Any], there: Sequence[LivePod], pods: int, plan: AutoscalingPlan) -> Skipped | None:
    name = str(node["metadata"]["name"])
    if why := explain_skip(node, plan):
        return Skipped(name, why, pods)
    if why := explain_left_to_karpenter(node, [each.annotations for each in there], plan):
        return Skipped(name, why, pods, by_karpenter=True)
    return None


def _movable(
    sources: Mapping[str, Sequence[LivePod]],
    snapshot: Snapshot,
    choice: Choice,
    judge_images: JudgeImages,
    staying: Counter[tuple[WorkloadKey, str]],
) -> dict[str, list[LivePod]]:
    """Return the pods that nothing but room keeps where they are, by node; ``staying`` counts the others."""
    open_to: dict[str, list[LivePod]] = {}
    for name, pods in sources.items():
        for each in pods:
            if why := explain_stay(each, snapshot, choice):
                staying[get_workload(each, snapshot), why] += 1
            else:
                open_to.setdefault(name, []).append(each)
    faults = judge_images([each.found for pods in open_to.values() for each in pods])
    found: dict[str, list[LivePod]] = {}
    for name, pods in open_to.items():
        for each in pods:
            if fault := faults.get(each.uid):
                staying[get_workload(each, snapshot), fault] += 1
            else:
                found.setdefault(name, []).append(each)
    return found


def _order(movable: Mapping[str, Sequence[LivePod]], by_node: Mapping[str, Sequence[LivePod]]) -> list[str]:
    """Return the nodes that come closest to being empty first: the autoscaler removes an empty one."""

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
        workload = get_workload(each, snapshot)
        if expected.why_not or expected.node is None:
            staying[workload, expected.why_not] += 1
            continue
        controller = snapshot.controllers[each.controller]
        move = Move(
            namespace=each.pod.namespace,
            name=each.pod.name,
            uid=each.uid,
            workload=workload,
            controller=controller,
            target=expected.node.group or expected.node.name,
            new_node=expected.new,
            grace_seconds=get_grace_seconds(each.value),
            needs_another=needs_another(each, snapshot, choice),
            placeholder=build_placeholder_spec(each.value, each.pod.requests),
        )
        moves.append((each, move, expected.node))
    return moves


def get_workload(each: LivePod, snapshot: Snapshot) -> WorkloadKey:
    """Return the object at the end of a pod's chain of owners, as far as it was read."""
    found = snapshot.controllers.get(each.controller)
    return each.pod.workload if found is None else found.workload
