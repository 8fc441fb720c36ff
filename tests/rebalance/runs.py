"""Runs in a World, with plans that move everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.manifests.owners import WorkloadKey
from multiarch.rebalance.clock import Clock
from multiarch.rebalance.model import Move, MovePlan, NodeMoves, Result, RunReport
from multiarch.rebalance.run import Plan, Run, Settings
from multiarch.rebalance.snapshot import Snapshot
from tests.rebalance.world import World

API = "api"


def world(*, replicas: int = 3, budget: int | None = 2, kind: str = "ReplicaSet", arm64_room: int = 10) -> World:
    made = World()
    made.add_node("amd64-1", "amd64")
    made.add_node("amd64-2", "amd64")
    made.add_node("arm64-1", "arm64", room=arm64_room)
    made.add_workload(API, ["amd64-1", "amd64-2", "amd64-1"][:replicas], kind=kind)
    if budget is not None:
        made.add_budget(API, budget)
    return made


def needing_nodes(
    snapshot: Snapshot, aside: Mapping[WorkloadKey, str], done: Sequence[str], most: int, *, room: int = 0
) -> MovePlan:
    """Plan as :func:`everything` does, where each pod but the first ``room`` ones of a node needs a new node."""
    plan = everything(snapshot, aside, done, most)
    spec = {"nodeSelector": {"kubernetes.io/arch": "arm64"}, "containers": [{"name": "placeholder"}]}
    nodes = [
        replace(
            node,
            moves=tuple(
                replace(each, new_node=number >= room, placeholder=spec) for number, each in enumerate(node.moves)
            ),
        )
        for node in plan.nodes
    ]
    return replace(plan, nodes=tuple(nodes))


def everything(snapshot: Snapshot, aside: Mapping[WorkloadKey, str], done: Sequence[str], most: int) -> MovePlan:
    """Plan to move all pods of the first node that has some: what is planned is another test's subject."""
    nodes = []
    for name in sorted({each.pod.node_name for each in snapshot.pods if each.pod.node_name.startswith("amd64")}):
        if name in done:
            continue
        moves = []
        for each in snapshot.pods:
            controller = snapshot.controllers.get(each.controller)
            if controller is None or each.pod.node_name != name or controller.workload in aside:
                continue
            moves.append(
                Move(
                    namespace=each.pod.namespace,
                    name=each.pod.name,
                    uid=each.uid,
                    workload=controller.workload,
                    controller=controller,
                    target="arm64",
                    new_node=False,
                    grace_seconds=3,
                )
            )
        if moves:
            nodes.append(NodeMoves(name, "general", tuple(moves[:most]), 0))
    return MovePlan(tuple(nodes[:1]), (), (), (), 0, 0)


def run(
    made: World,
    *,
    name: str = "run-1",
    say: Callable[[str], None] = lambda _: None,
    plan: Plan = everything,
    **settings: Any,
) -> RunReport:
    usual: dict[str, Any] = {"max_pods": 20, "pace": 10.0, "timeout": 60.0}
    cluster = cast("KubernetesCluster", made)
    return Run(cluster, cast("Clock", made), Settings(name=name, **{**usual, **settings}), plan, say).execute()


def results(report: RunReport) -> list[Result]:
    return [each.result for each in report.outcomes]


def number_of_calls() -> int:
    made = world()
    run(made)
    return made.calls
