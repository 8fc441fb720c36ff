"""Important pods take the place of others on nodes that exist, before an autoscaler adds nodes for those."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from multiarch.manifests.disruption_budgets import read_disruption_budgets
from multiarch.scheduling.pods import Pod, read_pods
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.preemption import Guard
from multiarch.simulate.settled import NodeState, Settled
from multiarch.simulate.simulation import list_planned_nodes, settle_pods
from tests.scheduling.manifests import ZONES
from tests.simulate.simulated import NONE, grown, planned, pods
from tests.stack.words import merged

CONTEXT = SimulationContext(tuple(ZONES))
STATIC = merged(NONE, {"nodeGroups": {"amd": {"instanceTypes": ["m7i.large"], "minSize": 2, "maxSize": 2}}})
LOW: dict[str, Any] = {"priority": -5}
HIGH: dict[str, Any] = {"priority": 1000}


def started(words: dict[str, Any], *documents: object) -> tuple[NodeState, ...]:
    made = planned(words)
    wanted = list(read_pods(documents))
    given = list_planned_nodes(made.node_groups, CONTEXT, wanted)
    return settle_pods(made.autoscaling, made.node_groups, CONTEXT, given, wanted).nodes


def then(
    words: dict[str, Any], nodes: Iterable[NodeState], *documents: object, guards: Sequence[Guard] = ()
) -> Settled:
    made = planned(words)
    return settle_pods(made.autoscaling, made.node_groups, CONTEXT, tuple(nodes), read_pods(documents), guards=guards)


def on_nodes(settled: Settled) -> list[list[str]]:
    return [sorted(pod.name for pod in node.pods) for node in settled.nodes]


def unplaced(settled: Settled) -> list[str]:
    return sorted(pod.name for pod in settled.unplaced)


def test_an_important_pod_takes_the_place_of_the_least_important() -> None:
    nodes = started(STATIC, pods("low", cpu="1800m", **LOW), pods("usual", cpu="1800m"))
    result = then(STATIC, nodes, pods("high", cpu="1800m", **HIGH))
    assert (on_nodes(result), unplaced(result)) == ([["usual-0"], ["high-0"]], ["low-0"])


def test_pods_that_may_stay_are_spared_the_oldest_first() -> None:
    nodes = started(STATIC, pods("low", 4, cpu="900m", **LOW))
    result = then(STATIC, nodes, pods("high", cpu="900m", **HIGH))
    assert unplaced(result) == ["low-2"]
    assert [len(each) for each in on_nodes(result)] == [2, 2]


GUARDED: dict[str, Any] = {"matchLabels": {"app": "guarded"}}


@pytest.mark.parametrize(
    ("there", "high", "selector", "least", "gone"),
    [
        ({"guarded": (1, 1800, -5), "low": (1, 1800, -5)}, 1, GUARDED, 1, ["low-0"]),
        ({"guarded": (1, 1800, -5), "low": (1, 1800, 5)}, 1, GUARDED, 1, ["low-0"]),
        ({"guarded": (1, 1800, -5), "low": (1, 1800, -5)}, 1, GUARDED, 0, ["guarded-0"]),
        ({"guarded": (1, 1800, -5), "low": (1, 1800, -5)}, 1, {}, 1, ["guarded-0"]),
        ({"low": (2, 900, -5), "guarded": (2, 900, -5)}, 2, GUARDED, 2, ["low-0", "low-1"]),
        ({"guarded": (2, 1800, -5)}, 1, GUARDED, 2, ["guarded-0"]),
        ({"guarded": (2, 900, -5), "low": (2, 900, 5)}, 2, GUARDED, 1, ["guarded-0", "low-0"]),
    ],
    ids=["kept", "kept before priority", "allowed", "empty selector", "one node", "no other", "one allowed"],
)
def test_pods_that_a_budget_keeps_go_only_where_no_others_would_do(
    there: dict[str, tuple[int, int, int]], high: int, selector: dict[str, Any], least: int, gone: list[str]
) -> None:
    made = [
        pods(name, count, cpu=f"{cpu}m", priority=rank, preemptionPolicy="Never")
        for name, (count, cpu, rank) in there.items()
    ]
    nodes = started(STATIC, *made)
    size = max(cpu for _, cpu, _ in there.values())
    spec = {"selector": selector, "minAvailable": least}
    document = {"kind": "PodDisruptionBudget", "metadata": {"name": "guard", "namespace": "shop"}, "spec": spec}
    (budget,) = read_disruption_budgets([document])
    guards = [Guard(budget, least)]
    assert unplaced(then(STATIC, nodes, pods("high", high, cpu=f"{size}m", **HIGH), guards=guards)) == gone


def test_equal_priority_and_preemption_policy_never_take_no_place() -> None:
    nodes = started(STATIC, pods("low", 2, cpu="1800m", **LOW))
    assert unplaced(then(STATIC, nodes, pods("same", cpu="1800m", **LOW))) == ["same-0"]
    waits = pods("high", cpu="1800m", preemptionPolicy="Never", **HIGH)
    assert unplaced(then(STATIC, nodes, waits)) == ["high-0"]


def test_the_autoscaler_adds_nodes_for_the_pods_that_had_to_go() -> None:
    words = grown({"amd": {"instanceTypes": ["m7i.large"], "minSize": 1, "maxSize": 2}})
    nodes = started(words, pods("placeholder", cpu="1800m", **LOW))
    result = then(words, nodes, pods(cpu="1800m"))
    assert (on_nodes(result), unplaced(result)) == ([["api-0"], ["placeholder-0"]], [])


def test_pods_that_had_to_go_may_take_the_place_of_still_less_important_ones() -> None:
    nodes = started(STATIC, pods("least", cpu="1800m", priority=-10), pods("low", cpu="1800m", **LOW))
    result = then(STATIC, nodes, pods("high", 2, cpu="1800m", **HIGH))
    assert unplaced(result) == ["least-0", "low-0"]
    result = then(STATIC, nodes, pods("high", cpu="1800m", **HIGH))
    assert unplaced(result) == ["least-0"]


def test_pods_keep_their_topology_spread_where_they_take_the_place_of_others() -> None:
    words = merged(STATIC, {"nodeGroups": {"amd": {"minSize": 3, "maxSize": 3}}})
    nodes = started(words, pods("low", 6, cpu="900m", **LOW))
    rule = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    spread: dict[str, Any] = {
        "topologySpreadConstraints": [{**rule, "labelSelector": {"matchLabels": {"app": "high"}}}]
    }
    result = then(words, nodes, pods("high", 3, cpu="900m", **HIGH, **spread))
    assert [each[0] for each in on_nodes(result)] == ["high-0", "high-1", "high-2"]
    assert [each[1] for each in on_nodes(result)] == ["low-0", "low-1", "low-2"]


def test_a_priority_class_says_which_pods_are_important() -> None:
    def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
        return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value, **more}

    def read(*documents: object) -> list[Pod]:
        return list(read_pods(documents))

    classes = [priority_class("low", -5), priority_class("waits", 7, preemptionPolicy="Never")]
    low, waits, usual = read(
        *classes, pods("a", priorityClassName="low"), pods("b", priorityClassName="waits"), pods("c")
    )
    assert [(each.spec.priority, each.spec.preempts) for each in (low, waits, usual)] == [
        (-5, True),
        (7, False),
        (0, True),
    ]
    (default,) = read(priority_class("usual", 9, globalDefault=True), pods())
    assert default.spec.priority == 9
