"""PodDisruptionBudgets: what protects fewer pods than before is found, what protects as many is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from multiarch.observed.resources.paths import UNKNOWN
from multiarch.review.model import Step
from multiarch.review.nodes import disruption_budgets
from tests.review.by_hand import change, made

BUDGET = "kubernetes:policy/v1:PodDisruptionBudget"


def budget(*, app: object = "api", name: str = "api", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop"}
    return {"metadata": metadata, "spec": {"selector": {"matchLabels": {"app": app}}, **spec}}


def found(*steps: Step) -> list[str]:
    return [f"{each.subject}: {each.text}" for each in disruption_budgets.find_weaker_budgets(change(*steps))]


def test_a_deleted_budget_is_found_unless_another_takes_its_place() -> None:
    gone = made(BUDGET, "old", budget(minAvailable=2), None)
    assert found(gone) == [
        "PodDisruptionBudget shop/api: It is deleted (minAvailable 2): drains stop all its pods at once."
    ]
    assert found(gone, made(BUDGET, "new", None, budget(name="api2", minAvailable=2))) == []
    assert len(found(gone, made(BUDGET, "new", None, budget(name="api2", minAvailable=1)))) == 1
    assert len(found(gone, made(BUDGET, "new", None, budget(app="web", minAvailable=2)))) == 1


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ({"minAvailable": 2}, {"minAvailable": 1}, "minAvailable 2 → minAvailable 1: drains may stop more"),
        ({"minAvailable": 1}, {"minAvailable": 2}, None),
        ({"minAvailable": "80%"}, {"minAvailable": "50%"}, "drains may stop more pods"),
        ({"maxUnavailable": "10%"}, {"maxUnavailable": "9%"}, None),
        ({"maxUnavailable": 1}, {"maxUnavailable": 2.0}, "drains may stop more pods"),
        ({"maxUnavailable": 1}, {"maxUnavailable": "1"}, None),
        ({"maxUnavailable": 1}, {"maxUnavailable": "10%"}, "depends on the number of pods"),
        ({"minAvailable": 1}, {"maxUnavailable": 1}, "depends on the number of pods"),
        ({"minAvailable": 1}, {"minAvailable": UNKNOWN}, "known only during the update"),
        ({"minAvailable": 1}, {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}, "other pods"),
    ],
)
def test_a_changed_budget(old: Mapping[str, Any], new: Mapping[str, Any], text: str | None) -> None:
    texts = found(made(BUDGET, "api", budget(**old), budget(**new)))
    assert texts == [] if text is None else text in texts[0]
