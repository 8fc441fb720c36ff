"""PodDisruptionBudgets that contradict each other or the workloads they are for."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.manifests.disruption_budgets import PodCount
from tests.capacity.evaluated import budget, in_failure, of, report
from tests.scheduling.manifests import pod_manifest
from tests.simulate.simulated import NONE, grown, pods
from tests.stack.words import merged

WORDS = grown({"amd": {"instanceTypes": ["m7i.large"]}})


def warnings(*documents: object) -> tuple[str, ...]:
    return report(WORDS, *documents, failures=[]).warnings


def test_budgets_that_can_be_kept_need_no_warning() -> None:
    assert warnings(pods(count=3), budget(minAvailable=2)) == ()


def test_pods_of_several_budgets_can_not_be_evicted() -> None:
    found = report(WORDS, pods(count=3), budget(minAvailable=1), budget("other", app="api", minAvailable=2))
    assert found.warnings == (
        (
            "shop Deployment/api: its pods have 2 PodDisruptionBudgets (shop/api, shop/other). The eviction API "
            "does not evict such pods; the largest minimum counts here."
        ),
    )
    assert of(found.without_failure).minimum.pods == 2


@pytest.mark.parametrize(
    ("limits", "warning"),
    [
        ({"minAvailable": 4}, "(minAvailable 4) can't be met: it selects 3 pods. It also blocks every eviction."),
        ({"minAvailable": 3}, "(minAvailable 3) allows no eviction: nodes with its 3 pods can't be drained."),
        ({"maxUnavailable": 0}, "(maxUnavailable 0) allows no eviction: nodes with its 3 pods can't be drained."),
        ({"minAvailable": "67%"}, "(minAvailable 67%) allows no eviction: nodes with its 3 pods can't be drained."),
        ({}, "sets neither minAvailable nor maxUnavailable: it requires no pods."),
    ],
)
def test_a_budget_that_blocks_or_asks_for_nothing_is_named(limits: dict[str, Any], warning: str) -> None:
    assert warnings(pods(count=3), budget(**limits)) == (f"PodDisruptionBudget shop/api {warning}",)


def test_a_minimum_of_more_pods_than_there_are_is_never_kept() -> None:
    found = report(WORDS, pods(count=3), budget(minAvailable=4))
    assert found.without_failure.short == (of(found.without_failure),)


def test_a_minimum_for_all_workloads_asks_no_more_of_one_than_its_pods() -> None:
    found = report(WORDS, pods(count=3), failures=[], without_budget=PodCount(5, percent=False))
    assert of(found.without_failure).minimum.pods == 3
    assert not found.without_failure.short


def test_a_budget_selects_pods_of_its_namespace_only() -> None:
    (warning,) = warnings(pods(count=3), budget(namespace="other", minAvailable=1))
    assert warning == "PodDisruptionBudget other/api (minAvailable 1) selects none of these pods."


def test_pods_without_a_controller_need_a_number() -> None:
    bare = pod_manifest(labels={"app": "api"})
    (warning,) = warnings(bare, budget(maxUnavailable=1))
    assert warning.endswith("selects pods without a controller, for which only a number as minAvailable has an effect.")


def test_pods_that_a_budget_keeps_are_not_displaced_where_others_would_do() -> None:
    rest = {"instanceTypes": ["m7i.large"], "minSize": 2, "maxSize": 2}
    words = merged(NONE, {"nodeGroups": {"amd": {**rest, "minSize": 1, "maxSize": 1}, "rest": rest}})
    full = [pods("important", cpu="1800m", priority=1000), pods("low", cpu="1800m"), pods("kept", cpu="1800m")]

    def displaced(*more: object) -> list[str]:
        found = in_failure(report(words, *full, *more), "group amd")
        return [each.name for each in found.workloads if each.pending]

    kept = displaced(budget("kept", maxUnavailable=0))
    assert (kept, displaced(budget("low", maxUnavailable=0))) == (["Deployment/low"], ["Deployment/kept"])
