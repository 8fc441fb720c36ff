"""What ``capacity`` says of a failure happens on a real control plane: kube-scheduler leaves the same pods pending."""

from __future__ import annotations

from typing import cast
from unittest import mock

import pytest

from multiarch.capacity.model import NO_FAILURE
from multiarch.simulate.context import build_simulation_context
from multiarch.simulate.simulation import list_planned_nodes
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube
from tests.cluster.failure_cases import Case, cases
from tests.cluster.failure_choices import Choices, judge, next_nodes
from tests.cluster.failure_play import Played, play
from tests.cluster.failure_run import Run
from tests.cluster.failure_stacks import STACKS, FailingStack
from tests.cluster.failure_workloads import TRAITS, Ask

SEED, COUNT = 1, 40
LEAST = 30
"""So many of the cases agree; in the others kube-scheduler has a choice, see docs/explanation/capacity.md."""
LEAST_FROM_MANIFESTS = 0.6
"""This share of the cases in which kube-scheduler places all pods by itself agrees after the failure."""
LEAST_BEST = 0.95
"""This share of the pods is on a node with the best score."""
CASES = list(cases(SEED, COUNT))


@pytest.fixture(scope="module")
def played(control_plane: ControlPlane) -> list[Played]:
    return play(control_plane.kube, CASES)


def test_the_model_allows_what_kube_scheduler_does_and_no_more(played: list[Played]) -> None:
    assert [line for each in played for line in each.rejected()] == []


def test_nearly_every_pod_is_on_a_node_with_the_best_score(played: list[Played]) -> None:
    choices = [stage.choices for each in played for stage in (each.before, each.after)]
    best, others = sum(each.best for each in choices), [line for each in choices for line in each.others]
    assert best >= LEAST_BEST * (best + len(others)), others


def test_most_cases_agree(played: list[Played]) -> None:
    agreeing = [each for each in played if each.agrees]
    assert len(agreeing) >= LEAST, [each.case.name for each in played if not each.agrees]
    assert sum(bool(each.after.real) for each in agreeing) >= LEAST // 2
    assert sum(each.case.free for each in agreeing) >= LEAST // 3


def test_most_cases_agree_also_where_only_the_manifests_are_known(played: list[Played]) -> None:
    free = [each for each in played if each.case.free]
    differing = [each.case.name for each in free if each.from_manifests != each.after.real]
    assert len(differing) <= (1 - LEAST_FROM_MANIFESTS) * len(free), differing


def waiting_pods(trait: str, count: int, stack: FailingStack = STACKS[0]) -> Run:
    """So many pods of one workload, and the nodes of a stack; nothing is on a cluster."""
    (found,) = (each for each in TRAITS if each.name == trait)
    manifests = tuple(found.make(Ask("w0", "case", 900, 128, count, "w1")))
    case = Case("judged", "case", stack, manifests, NO_FAILURE, free=True)
    run, plan = Run(cast("Kube", mock.create_autospec(Kube, instance=True)), case), stack.plan
    run.pods = {pod.name: pod for pod in case.pods()}
    nodes = list_planned_nodes(plan.node_groups, build_simulation_context(plan), run.pods.values())
    run.nodes = {state.name: state for state in nodes}
    return run


def look(run: Run, *where: str | None) -> Run:
    """Let a scheduler have put the pods on these nodes; an empty string leaves one waiting, None removes it."""
    run.look(
        {
            pod: {"metadata": {"resourceVersion": str(number)}, "spec": {"nodeName": node} if node else {}}
            for number, (pod, node) in enumerate(zip(run.pods, where, strict=True))
            if node is not None
        }
    )
    return run


@pytest.mark.parametrize(
    ("where", "best", "others", "rejected"),
    [
        (("amd-1", "amd-2"), 2, 0, []),
        (("amd-1", "amd-1"), 1, 1, []),
        (("amd-1", "arm-1"), 1, 0, ["w0-1 is on arm-1: does not tolerate arch=arm64:NoSchedule"]),
        (("", "amd-1"), 1, 0, ["w0-0 waits, and could be on amd-2"]),
    ],
)
def test_what_the_model_does_not_allow_is_found(
    where: tuple[str, str], best: int, others: int, rejected: list[str]
) -> None:
    run, choices = look(waiting_pods("amd64-only", 2), *where), Choices()
    judge(run, choices)
    new, waits = next_nodes(run, NO_FAILURE)
    assert (new, choices.best, len(choices.others), [*choices.rejected, *waits]) == ((), best, others, rejected)


def test_a_step_may_have_come_before_a_pod_was_evicted() -> None:
    (two_zones,) = (each for each in STACKS if each.name == "static-two-zones")
    evicted, never_there = (
        waiting_pods("amd64-spread-zone", 3, two_zones),
        waiting_pods("amd64-spread-zone", 3, two_zones),
    )
    found = {}
    for name, run, first in (("evicted", evicted, "amd-1"), ("never there", never_there, "")):
        judge(look(run, first, "amd-2", ""), Choices())
        choices = Choices()
        judge(look(run, None if first else "", "amd-2", "amd-2"), choices)
        found[name] = len(choices.rejected)
    assert found == {"evicted": 0, "never there": 1}
