"""What holds for any stack, workloads and failure."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from multiarch.capacity.evaluation import Evaluation
from multiarch.capacity.failures import list_failures
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
CONTEXT = SimulationContext(tuple(ZONES))


def made(groups: dict[str, Any]) -> Any:  # noqa: ANN401
    return plan({**grown(groups), "network": {"zones": list(ZONES)}})


def manifests(workloads: list[tuple[str, int, bool]]) -> list[Any]:
    found = []
    for number, (cpu, count, tolerant) in enumerate(workloads):
        more: dict[str, Any] = {"tolerations": [ARM64_TOLERATION]} if tolerant else {}
        found += list(read_pods([pods(f"w{number}", count, cpu=cpu, **more)]))
    return found


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
