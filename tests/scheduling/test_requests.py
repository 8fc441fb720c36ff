from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multiarch.manifests.values import ManifestError
from multiarch.scheduling.resources import ResourceAmounts
from tests.scheduling.manifests import container, pod, pods, workload

MI = 2**20


def requests(**spec: Any) -> ResourceAmounts:
    return pod(**spec).requests


def cpu(amount: str, **more: Any) -> dict[str, Any]:
    return container({"cpu": amount}, **more)


def sidecar(amount: str) -> dict[str, Any]:
    return cpu(amount, restartPolicy="Always")


def test_containers_add_up_and_the_pod_itself_counts_as_one() -> None:
    first = container({"cpu": "250m", "memory": "64Mi", "ephemeral-storage": "1Gi", "nvidia.com/gpu": 1})
    second = container({"cpu": "0.5", "memory": "128e6", "nvidia.com/gpu": "2"})
    assert requests(containers=[first, second]) == ResourceAmounts(
        cpu=750, memory=64 * MI + 128_000_000, ephemeral_storage=2**30, pods=1, extended=(("nvidia.com/gpu", 3),)
    )


def test_a_pod_without_requests_takes_only_its_place() -> None:
    assert requests() == ResourceAmounts(pods=1)


def test_a_limit_stands_in_for_a_missing_request() -> None:
    limited = container()
    limited["resources"] = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "250m"}}
    assert requests(containers=[limited]) == ResourceAmounts(cpu=250, memory=2**30, pods=1)


def test_each_resource_has_its_own_maximum() -> None:
    start = container({"cpu": "100m", "memory": "2Gi"})
    assert requests(containers=[container({"cpu": "1", "memory": "1Gi"})], initContainers=[start]) == ResourceAmounts(
        cpu=1000, memory=2 * 2**30, pods=1
    )


def test_overhead_comes_on_top() -> None:
    made = requests(containers=[cpu("500m")], initContainers=[cpu("2")], overhead={"cpu": "250m", "memory": "120Mi"})
    assert made == ResourceAmounts(cpu=2250, memory=120 * MI, pods=1)


def test_pod_level_requests_take_the_place_of_the_containers() -> None:
    made = requests(
        containers=[container({"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": 1})],
        resources={"requests": {"cpu": "2"}},
        overhead={"cpu": "100m"},
    )
    assert made == ResourceAmounts(cpu=2100, memory=2**30, pods=1, extended=(("nvidia.com/gpu", 1),))


def test_a_pod_level_limit_counts_only_where_no_container_requests() -> None:
    made = requests(containers=[cpu("500m")], resources={"limits": {"cpu": "4", "memory": "2Gi"}})
    assert made == ResourceAmounts(cpu=500, memory=2 * 2**30, pods=1)


def test_a_pod_level_limit_of_huge_pages_is_their_request() -> None:
    pages = "hugepages-2Mi"
    made = requests(containers=[container({pages: "2Mi"})], resources={"limits": {pages: "8Mi"}})
    assert made == ResourceAmounts(pods=1, extended=((pages, 8 * MI),))


def test_parts_of_a_millicore_and_of_a_byte_are_rounded_up_once_in_the_sum() -> None:
    small = container({"cpu": "0.4m", "memory": "0.5"})
    assert requests(containers=[small, small]) == ResourceAmounts(cpu=1, memory=1, pods=1)


@pytest.mark.parametrize(
    ("resources", "path", "words"),
    [
        (
            {"requests": {"cpu": "1,5"}},
            "requests.cpu",
            "'1,5' is not a quantity. Write a number with a suffix, such as 500m or 2Gi.",
        ),
        ({"requests": {"memory": "-1Gi"}}, "requests.memory", "must not be negative: -1Gi."),
        (
            {"limits": {"memory": "2GB"}},
            "limits.memory",
            "'2GB' is not a quantity. Write a number with a suffix, such as 500m or 2Gi.",
        ),
        ({"requests": ["cpu"]}, "requests", "must be a mapping, not ['cpu']."),
        ({"requests": {1: "1"}}, "requests", "the key 1 must be a string. Put it in quotes."),
    ],
)
def test_a_broken_amount_names_document_object_and_path(resources: dict[str, Any], path: str, words: str) -> None:
    broken = {**container(), "resources": resources}
    documents = [None, workload("Deployment", "api", pod={"containers": [container(), broken]})]
    with pytest.raises(ManifestError) as caught:
        pods(*documents)
    assert str(caught.value) == (
        f"document 2, Deployment shop/api: spec.template.spec.containers[1].resources.{path}: {words}"
    )


AMOUNTS = st.integers(0, 4000)


@settings(deadline=None)
@given(st.lists(AMOUNTS, min_size=1, max_size=3), st.lists(st.tuples(AMOUNTS, st.booleans()), max_size=4))
def test_requests_are_the_most_that_ever_runs_at_one_time(running: list[int], starting: list[tuple[int, bool]]) -> None:
    made = requests(
        containers=[cpu(f"{amount}m") for amount in running],
        initContainers=[sidecar(f"{amount}m") if stays else cpu(f"{amount}m") for amount, stays in starting],
    )
    # Play the start: each init container in turn, what stays is there from then on, then the containers.
    there, most = Fraction(0), Fraction(0)
    for amount, stays in starting:
        most = max(most, there + amount)
        there += amount if stays else 0
    assert made.cpu == max(most, there + sum(running))


def amounts(least: int, pods: int) -> st.SearchStrategy[ResourceAmounts]:
    """Small amounts, so that boundaries are met; what is left of an over-committed node is negative."""
    number = st.integers(least, 6)
    return st.builds(
        lambda cpu, memory, gpus: ResourceAmounts(cpu, memory, 0, pods, (("nvidia.com/gpu", gpus),) if gpus else ()),
        number,
        number,
        st.integers(0, 3),
    )


@given(here=amounts(-2, 5), each=amounts(0, 1), wanted=amounts(0, 1))
def test_so_many_stay_beside_another(here: ResourceAmounts, each: ResourceAmounts, wanted: ResourceAmounts) -> None:
    stays = 0
    while here.less(each, stays + 1).covers(wanted):
        stays += 1
    assert here.count_beside(each, wanted) == stays
