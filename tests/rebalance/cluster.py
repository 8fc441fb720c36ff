"""Snapshots of clusters for tests: nodes of a small stack's groups, workloads on them, and the plan of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multiarch.kubernetes.resources import DISRUPTION_BUDGETS, NODES, PODS, ApiResource
from multiarch.kubernetes.source import LoadedObject, Source
from multiarch.observed.cluster import Running, read_cluster_state
from multiarch.rebalance.candidates import Choice
from multiarch.rebalance.model import MovePlan
from multiarch.rebalance.plan import make_plan
from multiarch.rebalance.snapshot import REPLACE_PODS, Snapshot, take_snapshot
from multiarch.stack.model import Plan
from tests.rebalance.objects import Object
from tests.rebalance.world import World
from tests.simulate.simulated import planned

_ON_ARM64 = {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
PREFERS_ARM64: Mapping[str, Any] = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [_ON_ARM64]}},
        ]
    }
}


def stack(*, autoscaler: bool = False, maximum: int = 4) -> Plan:
    """Groups ``web`` (amd64) and ``web-arm`` with the taint, with or without the cluster autoscaler."""
    sizes = {"minSize": 0, "maxSize": maximum}
    change: dict[str, Any] = {"nodeGroups": {"web": sizes, "web-arm": sizes}}
    if autoscaler:
        change["autoscaling"] = {"use": "cluster-autoscaler"}
    return planned(change)


def world(*, arm64_room: int = 10) -> World:
    """Two amd64 nodes and an arm64 node of these groups."""
    made = World()
    made.add_node("amd64-1", "amd64", group="web-00")
    made.add_node("amd64-2", "amd64", group="web-00")
    made.add_node("arm64-1", "arm64", room=arm64_room, group="web-arm-00")
    return made


def snapshot(made: World, *, daemon_sets: Sequence[Object] = ()) -> Snapshot:
    """What a run would read of it."""

    def loaded(*kinds: ApiResource) -> tuple[LoadedObject, ...]:
        return tuple(LoadedObject({**each.value, "apiVersion": "v1"}, each.source) for each in made.objects(kinds))

    source = Source("cluster here")
    made.still = True
    return take_snapshot(
        Running(
            name="here",
            nodes=loaded(NODES),
            pods=loaded(PODS),
            daemon_sets=tuple(LoadedObject(each, source) for each in daemon_sets),
            budgets=loaded(DISRUPTION_BUDGETS),
        ),
        loaded(*REPLACE_PODS.values()),
    )


def moves(
    made: World,
    *,
    of: Plan | None = None,
    choice: Choice | None = None,
    images: Mapping[str, str] | None = None,
    max_pods: int = 100,
    daemon_sets: Sequence[Object] = (),
) -> MovePlan:
    """The plan; ``images`` says by image why pods with it can't run on arm64."""
    wanted = of or stack()
    found = snapshot(made, daemon_sets=daemon_sets)
    state = read_cluster_state(found.running, wanted.node_groups, wanted.autoscaling.pool_names)

    def judge(pods: Sequence[LoadedObject]) -> dict[str, str]:
        by_uid = {each.value["metadata"]["uid"]: each.value["spec"]["containers"][0]["image"] for each in pods}
        return {uid: (images or {})[image] for uid, image in by_uid.items() if image in (images or {})}

    return make_plan(found, wanted, state, choice or Choice(), judge, max_pods=max_pods)


def reasons(plan: MovePlan) -> list[str]:
    """Why pods stay."""
    return [each.reason for each in plan.staying]


def moved(plan: MovePlan) -> list[tuple[str, str]]:
    """Nodes and the pods that are moved from them."""
    return [(node.node, str(move)) for node in plan.nodes for move in node.moves]
