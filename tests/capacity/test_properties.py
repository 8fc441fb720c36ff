"""What holds for any stack, workloads and failure."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from multiarch.capacity.evaluation import Evaluation
from multiarch.capacity.failures import fail_nodes, list_failures, settle_before
from multiarch.capacity.model import CapacityFailure
from multiarch.facts.architectures import Architecture
from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import SimulationContext
from tests.scheduling.manifests import ARM64_TOLERATION, ZONES
from tests.simulate.simulated import grown, pods
from tests.stack.words import plan

GROUPS = st.fixed_dictionaries(
    {
        "amd": st.fixed_dictionaries(
            {"instanceTypes": st.just(["m7i.large"]), "minSize": st.integers(0, 2), "maxSize": st.integers(2, 5)}
        ),
        "arm": st.fixed_dictionaries(
            {
                "instanceTypes": st.sampled_from([["m7g.large"], ["m7g.xlarge"]]),
                "capacityType": st.sampled_from(["spot", "on-demand"]),
                "maxSize": st.integers(1, 4),
            }
        ),
    }
)
WORKLOADS = st.lists(
    st.tuples(st.sampled_from(["300m", "900m", "1500m", "3"]), st.integers(1, 5), st.booleans()), min_size=1, max_size=4
)
FAILURES = st.builds(
    CapacityFailure,
    zones=st.lists(st.sampled_from(ZONES), unique=True, max_size=2).map(tuple),
    groups=st.sampled_from([(), ("amd",), ("arm",)]),
    spot=st.sampled_from([(), (Architecture.ARM64,)]),
    architectures=st.sampled_from([(), (), (Architecture.AMD64,)]),
    largest_nodes=st.integers(0, 2),
)
CONTEXT = SimulationContext(tuple(ZONES))


def made(groups: dict[str, Any]) -> Any:  # noqa: ANN401
    return plan({**grown(groups), "network": {"zones": list(ZONES)}})


def manifests(workloads: list[tuple[str, int, bool]]) -> list[Any]:
    found = []
    for number, (cpu, count, tolerant) in enumerate(workloads):
        more: dict[str, Any] = {"tolerations": [ARM64_TOLERATION]} if tolerant else {}
        found += list(read_pods([pods(f"w{number}", count, cpu=cpu, **more)]))
    return found


@given(GROUPS, WORKLOADS, FAILURES)
def test_no_pod_is_lost_or_counted_twice_and_no_limit_is_exceeded(
    groups: dict[str, Any], workloads: list[tuple[str, int, bool]], failure: CapacityFailure
) -> None:
    stack = made(groups)
    before = settle_before(stack, manifests(workloads), CONTEXT)
    after = fail_nodes(before, failure)
    placed = [pod for node in after.settled.nodes for pod in node.pods]
    names = sorted((pod.namespace, pod.name) for pod in (*placed, *after.pending))
    assert names == sorted((pod.namespace, pod.name) for pod in before.pods)
    for node in after.settled.nodes:
        assert node.zone not in failure.zones
        assert node.group not in failure.groups
        assert node.shape.architecture not in failure.architectures
        assert sum(pod.requests.cpu for pod in node.pods) <= node.shape.allocatable.cpu
    for group in stack.node_groups:
        assert sum(node.group == group.name for node in after.settled.nodes) <= group.sizes.maximum


@given(GROUPS, WORKLOADS)
def test_every_pending_pod_has_its_limit_and_the_numbers_add_up(
    groups: dict[str, Any], workloads: list[tuple[str, int, bool]]
) -> None:
    stack = made(groups)
    report = Evaluation(manifests(workloads), [], CONTEXT)(stack, list_failures(stack, ZONES))
    for result in (report.without_failure, *report.failures):
        for each, (_, count, _) in zip(result.workloads, workloads, strict=True):
            assert each.surviving + each.moved + each.pending == each.replicas == count
            assert bool(each.limit) == bool(each.pending)
            assert (each.wait_seconds is not None) == bool(each.moved)
            assert each.keeps_minimum == (not each.pending)
    # The largest node comes back where its group is whole; pods that had no node before have waited longer for it.
    (largest,) = (each for each in report.failures if each.failure.largest_nodes)
    if not any(each.pending for each in report.without_failure.workloads):
        assert not any(each.pending for each in largest.workloads)
