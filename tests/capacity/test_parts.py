"""Parts of a stack that do not depend on each other: which there are, and that searching each by itself is exact."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import ceil
from typing import Any

import pytest

from multiarch.capacity.evaluation import Evaluation
from multiarch.capacity.failures import list_failures
from multiarch.capacity.recommendation.needs import NodeSources
from multiarch.capacity.recommendation.parts import list_parts
from multiarch.capacity.recommendation.rates import get_rates
from multiarch.capacity.recommendation.tunables import Cost, list_tunables
from multiarch.capacity.workloads import get_workload_name
from multiarch.manifests.disruption_budgets import read_disruption_budgets
from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import build_simulation_context
from tests.capacity.evaluated import budget
from tests.capacity.test_recommend import NETWORK, ZONES, recommended
from tests.simulate.simulated import grown, pods
from tests.stack.words import merged, plan

ALLOCATABLE = 7910
"""Millicores of m7i.2xlarge."""


def group(team: str, **words: Any) -> dict[str, Any]:
    """A node group that only the pods of one team can use."""
    return {"instanceTypes": ["m7i.2xlarge"], "labels": {"team": team}, "taints": [f"team={team}:NoSchedule"], **words}


def of_team(team: str) -> dict[str, Any]:
    toleration = {"key": "team", "operator": "Equal", "value": team, "effect": "NoSchedule"}
    return {"nodeSelector": {"team": team}, "tolerations": [toleration]}


def words_of(teams: Sequence[str], **words: Any) -> dict[str, Any]:
    base = {"base": {"instanceTypes": ["m7i.large"], "maxSize": 1, "onePerZone": True}}
    return merged(grown({**base, **{team: group(team, **words) for team in teams}}), NETWORK)


def parts(words: Mapping[str, Any], *documents: object) -> list[set[str]]:
    """The names of the workloads of each part."""
    made = plan(dict(words))
    tunables, context = list_tunables(made, get_rates(made, None)), build_simulation_context(made)
    given = Evaluation(tuple(read_pods(documents)), tuple(read_disruption_budgets(documents)), context)
    found = list_parts(made, tunables, given, NodeSources(made, tunables, given.pods, context))
    named = [{get_workload_name(pod)[1].partition("/")[2] for pod in part.pods if not pod.per_node} for part in found]
    return sorted(named, key=min)


def apart(app: str) -> dict[str, Any]:
    term = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_node_groups_of_teams_are_parts() -> None:
    documents = [pods("api", 2, **of_team("a")), pods("web", 2, **of_team("b")), pods("jobs", 2, **of_team("a"))]
    assert parts(words_of("ab"), *documents) == [{"api", "jobs"}, {"web"}]


def test_rules_and_budgets_about_pods_of_two_parts_make_them_one() -> None:
    api, web = pods("api", 2, **of_team("a")), pods("web", 2, **of_team("b"))
    assert parts(words_of("ab"), api, pods("web", 2, **of_team("b"), **apart("api"))) == [{"api", "web"}]
    both = budget("both", minAvailable=1)
    both["spec"]["selector"] = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["api", "web"]}]}
    assert parts(words_of("ab"), api, web, both) == [{"api", "web"}]
    either: dict[str, Any] = {"tolerations": [*of_team("a")["tolerations"], *of_team("b")["tolerations"]]}
    assert parts(words_of("ab"), api, web, pods("any", **either)) == [{"api", "web", "any"}]


def teams_of(seed: int, number: int, replicas: int) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """A stack with a node group for each team, its pods, and the vCPUs of the cheapest change: two zones hold all."""
    generator = random.Random(seed)  # noqa: S311  (cases, not secrets)
    documents, raises = [], 0
    teams = [f"team-{index}" for index in range(number)]
    for team in teams:
        # Pods that leave a part of each node empty.
        cpu = ALLOCATABLE // generator.choice([2, 3, 5, 7]) - generator.choice([5, 100])
        on_node = ALLOCATABLE // cpu
        documents.append(pods(team, replicas, cpu=f"{cpu}m", memory="64Mi", **of_team(team)))
        raises += max(0, ceil(ceil(replicas / on_node) / 2) - 1)
    return words_of(teams, maxSize=1, onePerZone=True), documents, raises * len(ZONES) * 8


@pytest.mark.exhaustive
@pytest.mark.parametrize(("seed", "number", "replicas"), [(0, 4, 24), (1, 3, 24)])
def test_the_change_of_separate_parts_costs_what_is_known_to_be_the_least(
    seed: int, number: int, replicas: int
) -> None:
    words, documents, vcpus = teams_of(seed, number, replicas)
    made = plan(words)
    zones = [each for each in list_failures(made, tuple(ZONES)) if each.zones or each.largest_nodes]
    result, _ = recommended(made, documents, zones)
    assert result.cost == result.bound == Cost(at_most=Decimal(vcpus))
    assert not result.unsolved
