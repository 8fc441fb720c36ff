"""kube-scheduler's scores, by hand."""

from __future__ import annotations

import math

import pytest

from multiarch.facts.labels import ZONE
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.scheduling.scores import (
    DEFAULT_SPREAD,
    Candidate,
    SoftSpread,
    score_balance,
    score_candidates,
    score_free,
)
from tests.scheduling.manifests import GI, container, pod

NODE = ResourceAmounts(cpu=4000, memory=16 * GI, pods=58)
NOTHING = ResourceAmounts()
MIB_200 = 200 * 2**20


def wanting(cpu: int, memory: int, *, assumed: ResourceAmounts = NOTHING) -> PodSpec:
    return PodSpec(requests=ResourceAmounts(cpu=cpu, memory=memory, pods=1), assumed=assumed)


@pytest.mark.parametrize(
    ("cpu", "memory", "free", "score"),
    [
        pytest.param(1000, 4 * GI, NODE, 75 + 75, id="balanced"),
        pytest.param(2000, 4 * GI, NODE, (50 + 75) // 2 + 50 + (50 - 13) // 2, id="more CPU than memory"),
        pytest.param(
            1000, 0, ResourceAmounts(cpu=4000, memory=8 * GI), (75 + 50) // 2 + 50 + (50 + 87 - 75) // 2, id="evens out"
        ),
        pytest.param(4000, 16 * GI, NODE, 0 + 75, id="filling"),
        pytest.param(0, 0, NODE, 100, id="no requests"),
    ],
)  # fmt: skip
def test_free_resources_and_their_balance(cpu: int, memory: int, free: ResourceAmounts, score: int) -> None:
    spec = wanting(cpu, memory)
    assert score_free(NODE, free, NOTHING, spec) + score_balance(NODE, free, spec.requests) == score


def test_a_node_without_resources_scores_nothing() -> None:
    assert score_free(NOTHING, NOTHING, NOTHING, wanting(0, 0)) == 0
    assert score_balance(NOTHING, NOTHING, wanting(1, 1).requests) == 0


def test_every_container_without_a_request_counts_by_itself() -> None:
    none, both = container(), container({"cpu": "1", "memory": "1Gi"})
    assert pod(containers=[none, none]).spec.assumed == ResourceAmounts(cpu=200, memory=2 * MIB_200)
    assert pod(containers=[both, container({"cpu": "1"})]).spec.assumed == ResourceAmounts(memory=MIB_200)
    assert pod(containers=[both]).spec.assumed == NOTHING
    assert pod(containers=[both], initContainers=[none]).spec.assumed == NOTHING
    assert pod(containers=[none], resources={"requests": {"cpu": "1"}}).spec.assumed == ResourceAmounts(memory=MIB_200)


def test_the_default_spread_counts_hosts_and_zones() -> None:
    nodes = [
        Candidate(0, 0, 0, spread=(("n1", 2), ("a", 2))),
        Candidate(0, 0, 0, spread=(("n2", 0), ("a", 2))),
        Candidate(0, 0, 0, spread=(("n3", 0), ("b", 0))),
    ]
    host, zone = math.log(3 + 2), math.log(2 + 2)
    counts = [round(2 * host + 2 * zone + 6), round(2 * zone + 6), 6]
    expected = [2 * (100 * (counts[0] + 6 - count) // counts[0]) for count in counts]
    assert score_candidates(nodes, DEFAULT_SPREAD, 3) == expected
    assert expected == sorted(expected)


def test_a_soft_spread_without_pods_prefers_no_domain() -> None:
    nodes = [Candidate(0, 0, 5, spread=(("a", 0),)), Candidate(0, 0, 7, spread=(("b", 0),))]
    assert score_candidates(nodes, (SoftSpread(ZONE, 1),), 2) == [205, 207]


@pytest.mark.parametrize("count", [0, 4])
def test_nodes_without_the_label_of_a_soft_spread_come_last(count: int) -> None:
    nodes = [Candidate(0, 0, 5, spread=(("a", count),)), Candidate(0, 0, 7, spread=((None, 0),))]
    assert score_candidates(nodes, (SoftSpread("rack", 1),), 2) == [205, 7]
    assert score_candidates(nodes[1:], (SoftSpread("rack", 1),), 1) == [7]


def test_nodes_without_a_zone_have_the_default_spread_over_hosts() -> None:
    nodes = [Candidate(0, 0, 0, spread=((name, count), (None, 0))) for name, count in (("n1", 3), ("n2", 0))]
    less, more = score_candidates(nodes, DEFAULT_SPREAD, 2)
    assert 0 < less < more


def test_attraction_is_a_share_between_the_least_and_the_most() -> None:
    nodes = [Candidate(0, 0, 0, attraction=each) for each in (-100, 0, 50)]
    assert score_candidates(nodes, (), 3) == [0, 2 * 66, 200]
