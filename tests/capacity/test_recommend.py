"""Recommendations by the real evaluation: the cheapest ones by brute force on generated stacks, and single cases."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from multiarch.capacity.evaluation import Evaluation
from multiarch.capacity.failures import list_failures
from multiarch.capacity.model import CapacityFailure
from multiarch.capacity.recommendation.rates import get_rates
from multiarch.capacity.recommendation.recommend import Recommendation, find_recommendation
from multiarch.capacity.recommendation.search import compute_cost
from multiarch.capacity.recommendation.tunables import Cost, list_tunables, with_values
from multiarch.manifests.disruption_budgets import read_disruption_budgets
from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import build_simulation_context
from multiarch.stack.model import Plan
from tests.simulate.simulated import NONE, TOLERANT, grown, pods, pooled
from tests.stack.words import merged, plan

ZONES = ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
NETWORK = {"network": {"zones": ZONES}}
ZONE_A = CapacityFailure(zones=("eu-west-1a",))
CASES = 6
BESIDE_OPTIMUM = Decimal("1.05")


def short_in(evaluate: Evaluation, made: Plan, failures: Sequence[CapacityFailure]) -> set[tuple[CapacityFailure, str]]:
    """The workloads that do not keep their minimum."""
    report = evaluate(made, failures, explain=False)
    results = (report.without_failure, *report.failures)
    return {(result.failure, each.name) for result in results for each in result.short}


def recommended(
    made: Plan, documents: Sequence[Mapping[str, Any]], failures: Sequence[CapacityFailure]
) -> tuple[Recommendation, Evaluation]:
    pods, budgets = tuple(read_pods(documents)), tuple(read_disruption_budgets(documents))
    oracle = Evaluation(pods, budgets, build_simulation_context(made))
    return find_recommendation(made, failures, oracle), oracle


def changes(result: Recommendation) -> dict[str, object]:
    return {".".join(each.key): each.new for each in result.changes}


def generated_groups(generator: random.Random, sizes: tuple[str, str]) -> dict[str, Any]:
    types = {"amd64": ["m7i.large", "m7i.xlarge", "c7i.xlarge"], "arm64": ["m7g.large", "m7g.xlarge"]}
    groups: dict[str, Any] = {}
    where: list[dict[str, Any]] = [{}, {}, {"onePerZone": True}, {"zones": ZONES[: generator.randint(1, 2)]}]
    for index in range(generator.randint(2, 3)):
        kind = generator.choice(["amd64", "amd64", "arm64"]) if index else "amd64"
        groups[f"group-{index}"] = {
            "instanceTypes": [generator.choice(types[kind])],
            **dict.fromkeys(sizes, generator.randint(1, 3)),
            **generator.choice(where),
        }
    return groups


def generated_pods(generator: random.Random) -> list[dict[str, Any]]:
    return [
        pods(
            f"app-{index}",
            generator.randint(2, 7),
            cpu=generator.choice(["500m", "900m", "1500m"]),
            memory=generator.choice(["1Gi", "2Gi", "5Gi"]),
            **generator.choice([{}, TOLERANT]),
        )
        for index in range(generator.randint(2, 3))
    ]


def grown_groups(generator: random.Random) -> dict[str, Any]:
    """Node groups that the cluster autoscaler grows."""
    return grown(generated_groups(generator, ("maxSize", "maxSize")))


def fixed_groups(generator: random.Random) -> dict[str, Any]:
    """Node groups that nothing grows."""
    groups = generated_groups(generator, ("desiredSize", "maxSize"))
    return merged(NONE, {"nodeGroups": {name: {"minSize": 0, **group} for name, group in groups.items()}})


def limited_pools(generator: random.Random) -> dict[str, Any]:
    """Karpenter with limits, of vCPUs or of memory."""
    pool = {"capacityTypes": ["on-demand"], "sizes": ["large", "xlarge"], "families": ["m7i", "m7g"]}
    limits: list[dict[str, Any]] = [{"cpuLimit": generator.randint(4, 8)}, {"memoryLimit": "16Gi"}]
    return pooled({"general": {**pool, **generator.choice(limits)}})


@pytest.mark.exhaustive
@pytest.mark.parametrize("words_of", [grown_groups, fixed_groups, limited_pools])
@pytest.mark.parametrize("seed", range(CASES))
def test_no_cheaper_change_solves_as_much(seed: int, words_of: Callable[[random.Random], dict[str, Any]]) -> None:
    generator = random.Random(f"{seed} {words_of.__name__}")  # noqa: S311  (cases, not secrets)
    documents = generated_pods(generator)
    made = plan(merged(words_of(generator), NETWORK))
    failures = [each for each in list_failures(made, tuple(ZONES)) if not each.architectures][:4]
    result, oracle = recommended(made, documents, failures)
    unsolved = {(each.failure, each.workload.name) for each in result.unsolved}
    assert short_in(oracle, result.plan, failures) == unsolved
    tunables = list_tunables(made, get_rates(made, None))
    largest = {each.key: each.capped(each.present + 50 * each.step) for each in tunables}
    assert unsolved <= short_in(oracle, with_values(made, largest), failures)
    spans = [range(each.present, (each.most or each.present + 12 * each.step) + 1) for each in tunables]
    for values in product(*spans):
        candidate = dict(zip((each.key for each in tunables), values, strict=True))
        if cheaper(compute_cost(tunables, candidate), result.cost):
            assert short_in(oracle, with_values(made, candidate), failures) - unsolved, candidate


def cheaper(cost: Cost, than: Cost) -> bool:
    """Whether a cost is lower by more than a recommendation may be above the optimum."""
    if than.always:
        return cost.always * BESIDE_OPTIMUM < than.always
    return not cost.always and cost.at_most * BESIDE_OPTIMUM < than.at_most


def test_other_zones_come_before_more_nodes() -> None:
    words = grown({"api": {"instanceTypes": ["m7i.large"], "maxSize": 3, "zones": ZONES[:1]}})
    result, _ = recommended(plan(merged(words, NETWORK)), [pods("api", 3, cpu="1500m")], [ZONE_A])
    assert changes(result) == {"nodeGroups.api.zones": tuple(ZONES)}
    assert result.cost == Cost()


@pytest.mark.parametrize(
    "reason",
    [{"placementGroup": "near"}, {"capacityReservation": "cr-0123456789abcdef0"}],
    ids=["placement-group", "reservation"],
)
def test_a_group_that_is_in_its_zone_for_a_reason_stays_there(reason: dict[str, str]) -> None:
    words = grown({"api": {"instanceTypes": ["m7i.large"], "maxSize": 3, "zones": ZONES[:1], **reason}})
    result, _ = recommended(plan(merged(words, NETWORK)), [pods("api", 3, cpu="1500m")], [ZONE_A])
    assert not result.changes
    assert [each.workload.change for each in result.unsolved] == ["let nodeGroups.api.zones have another zone"]


def test_a_stack_that_needs_nothing_keeps_its_file() -> None:
    words = grown({"api": {"instanceTypes": ["m7i.large"], "maxSize": 9}})
    result, _ = recommended(plan(merged(words, NETWORK)), [pods("api", 3)], [ZONE_A])
    assert (result.changes, result.unsolved, result.cost) == ((), (), Cost())


def test_what_no_size_solves_is_named_and_the_rest_is_solved() -> None:
    words = grown({"api": {"instanceTypes": ["m7i.large"], "maxSize": 1, "onePerZone": True}})
    pinned = pods("pinned", 1, cpu="100m", nodeSelector={"topology.kubernetes.io/zone": ZONES[0]})
    made = plan(merged(words, NETWORK))
    result, _ = recommended(made, [pods("api", 3, cpu="1500m"), pinned], [ZONE_A])
    assert [(str(each.failure), each.workload.name) for each in result.unsolved] == [
        ("zone eu-west-1a", "Deployment/pinned")
    ]
    assert changes(result) == {"nodeGroups.api.maxSize": 2}


def test_pods_of_another_zone_than_the_groups_first_are_told_what_helps() -> None:
    words = grown({"api": {"instanceTypes": ["m7i.large"], "maxSize": 6}})
    pinned = pods("pinned", 1, cpu="100m", nodeSelector={"topology.kubernetes.io/zone": ZONES[1]})
    result, _ = recommended(plan(merged(words, NETWORK)), [pinned], [ZONE_A])
    assert not result.changes
    assert {each.workload.change for each in result.unsolved} == {
        "set onePerZone: true, so that the autoscaler chooses the zone"
    }


def test_what_only_larger_sizes_would_make_short_is_not_unsolved() -> None:
    """With a large controller group all pods are there, and Karpenter adds no nodes without it."""
    pool = {"sizes": ["2xlarge"], "architectures": ["amd64"], "capacityTypes": ["on-demand"]}
    pinned = pods("pinned", 1, cpu="100m", nodeSelector={"topology.kubernetes.io/zone": ZONES[0]})
    made = plan(merged(pooled({"general": pool}), NETWORK))
    lost = CapacityFailure(groups=("web",))
    result, oracle = recommended(made, [pods("api", 8, cpu="900m"), pinned], [ZONE_A, lost])
    assert not short_in(oracle, made, [lost])
    assert [(str(each.failure), each.workload.name) for each in result.unsolved] == [
        ("zone eu-west-1a", "Deployment/pinned")
    ]


def test_limits_of_node_pools_are_raised() -> None:
    pool = {"sizes": ["xlarge"], "architectures": ["amd64"], "capacityTypes": ["on-demand"], "cpuLimit": 4}
    result, oracle = recommended(plan(merged(pooled({"general": pool}), NETWORK)), [pods("api", 6, cpu="2")], [ZONE_A])
    (change,) = result.changes
    assert change.key[-1] == "cpuLimit"
    assert not short_in(oracle, result.plan, [ZONE_A])
    assert result.cost == result.bound


def test_a_failure_that_was_harmless_before_counts_too() -> None:
    """Larger sizes lead pods to other nodes: all failures are looked at again with the new sizes."""
    words = grown(
        {
            "small": {"instanceTypes": ["m7i.large"], "maxSize": 1, "zones": ZONES[:1]},
            "large": {"instanceTypes": ["m7i.2xlarge"], "maxSize": 1},
        }
    )
    made = plan(merged(words, NETWORK))
    failures = list_failures(made, tuple(ZONES))
    result, oracle = recommended(made, [pods("api", 8, cpu="900m")], failures)
    assert short_in(oracle, result.plan, failures) == {(each.failure, each.workload.name) for each in result.unsolved}
