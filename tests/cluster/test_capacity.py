"""What ``capacity`` says of a failure happens on a real control plane: kube-scheduler leaves the same pods pending."""

from __future__ import annotations

from collections import Counter
from typing import cast

import pytest

from multiarch.capacity.model import NO_FAILURE
from multiarch.simulate.context import simulation_context
from multiarch.simulate.simulation import planned_nodes
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube
from tests.cluster.failure_cases import Case, cases
from tests.cluster.failure_choices import Choices, judge, next_nodes
from tests.cluster.failure_play import Played, play
from tests.cluster.failure_run import Run
from tests.cluster.failure_stacks import STACKS
from tests.cluster.failure_workloads import TRAITS, Ask

SEED, COUNT = 1, 76
LEAST = 62
"""So many of the cases agree; in the others kube-scheduler has a choice, see docs/explanation/capacity.md."""
LEAST_BEST = 0.95
"""This share of the pods is on a node with the best score."""
CASES = list(cases(SEED, COUNT))


@pytest.fixture(scope="module")
def played(control_plane: ControlPlane) -> list[Played]:
    return play(control_plane.kube, CASES)


def test_the_model_allows_what_kube_scheduler_does_and_no_more(played: list[Played]) -> None:
    assert [line for each in played for line in each.refused()] == []


def test_nearly_every_pod_is_on_a_node_with_the_best_score(played: list[Played]) -> None:
    choices = [stage.choices for each in played for stage in (each.before, each.after)]
    best, others = sum(each.best for each in choices), [line for each in choices for line in each.others]
    assert best >= LEAST_BEST * (best + len(others)), others


def test_most_cases_agree(played: list[Played]) -> None:
    agreeing = [each for each in played if each.agrees]
    assert len(agreeing) >= LEAST, [each.case.name for each in played if not each.agrees]
    assert sum(bool(each.after.real) for each in agreeing) >= LEAST // 2
    assert sum(each.case.free for each in agreeing) >= LEAST // 3


def test_the_autoscaler_seldom_adds_other_nodes_than_were_simulated(played: list[Played]) -> None:
    assert sum(not each.same_nodes for each in played) <= COUNT // 10


def test_the_cases_are_the_same_in_every_run() -> None:
    again = list(cases(SEED, COUNT))
    assert [(each.name, each.manifests, each.failure) for each in again] == [
        (each.name, each.manifests, each.failure) for each in CASES
    ]
    assert {each.stack.name for each in CASES} == {each.name for each in STACKS}


def test_every_kind_of_workload_meets_several_failures() -> None:
    met = Counter(trait for each in CASES for trait in set(each.name.partition(": ")[2].split(" + ")))
    assert {trait.name for trait in TRAITS if met[trait.name] < 2} == set()
    failures = [each.failure for each in CASES]
    assert all(
        sum(bool(getattr(failure, kind)) for failure in failures) >= 2
        for kind in ("zones", "groups", "spot", "architectures", "largest_nodes")
    )


def placed(*where: str) -> Run:
    """Two pods for amd64 nodes that a scheduler has put on these of the first stack's nodes, or left waiting."""
    (amd64_only,) = (trait for trait in TRAITS if trait.name == "amd64-only")
    manifests = amd64_only.make(Ask("w0", "case", 900, 128, 2, "w1"))
    case = Case("judged", "case", STACKS[0], tuple(manifests), NO_FAILURE, free=True)
    run = Run(cast("Kube", None), case)
    pods = list(case.pods())
    plan = case.stack.plan
    run.nodes = {state.name: state for state in planned_nodes(plan.node_groups, simulation_context(plan), pods)}
    run.pods = {pod.name: pod for pod in pods}
    specs = [{"nodeName": node} if node else {} for node in where]
    run.look(
        {
            pod.name: {"metadata": {"resourceVersion": str(number)}, "spec": spec}
            for number, (pod, spec) in enumerate(zip(pods, specs, strict=True))
        }
    )
    return run


@pytest.mark.parametrize(
    ("where", "best", "others", "refused"),
    [
        (("amd-1", "amd-2"), 2, 0, []),
        (("amd-1", "amd-1"), 1, 1, []),
        (("amd-1", "arm-1"), 1, 0, ["w0-1 is on arm-1: does not tolerate arch=arm64:NoSchedule"]),
        (("", "amd-1"), 1, 0, ["w0-0 waits, and could be on amd-2"]),
    ],
)
def test_what_the_model_does_not_allow_is_found(
    where: tuple[str, str], best: int, others: int, refused: list[str]
) -> None:
    run, choices = placed(*where), Choices()
    judge(run, choices)
    assert next_nodes(run, NO_FAILURE, choices) == ()
    assert (choices.best, len(choices.others), choices.refused) == (best, others, refused)
