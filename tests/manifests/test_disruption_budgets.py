"""Reading PodDisruptionBudgets, and how many pods they request."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.manifests.disruption_budgets import DisruptionBudget, read_disruption_budgets
from multiarch.manifests.values import ManifestError


def read(**spec: Any) -> DisruptionBudget:
    (found,) = read_disruption_budgets([{"kind": "PodDisruptionBudget", "metadata": {"name": "api"}, "spec": spec}])
    return found


@pytest.mark.parametrize(
    ("spec", "pods", "least"),
    [
        ({"minAvailable": 2}, 3, 2),
        ({"minAvailable": "50%"}, 7, 4),
        ({"maxUnavailable": 1}, 3, 2),
        ({"maxUnavailable": "30%"}, 7, 4),
        ({}, 7, 0),
    ],
)
def test_percentages_are_rounded_up_for_both_limits(spec: dict[str, Any], pods: int, least: int) -> None:
    assert read(**spec).least(pods) == least


def test_lists_are_unpacked_and_other_kinds_skipped() -> None:
    item = {"metadata": {"name": "api", "namespace": "shop"}, "spec": {"minAvailable": 1}}
    documents = [{"kind": "Service", "metadata": {"name": "x"}}, {"kind": "PodDisruptionBudgetList", "items": [item]}]
    (found,) = read_disruption_budgets(documents)
    assert str(found) == "shop/api"
    assert found.limit == "minAvailable 1"


@pytest.mark.parametrize(
    ("selector", "labels", "selects"),
    [
        ({"matchLabels": {"app": "api"}}, {"app": "api", "tier": "web"}, True),
        ({"matchLabels": {"app": "api"}}, {"app": "web"}, False),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, {}, True),
        ({}, {"app": "api"}, True),
        (None, {"app": "api"}, False),
    ],
)
def test_an_empty_selector_selects_every_pod_and_no_selector_none(
    selector: object, labels: dict[str, str], *, selects: bool
) -> None:
    found = read(selector=selector, minAvailable=1)
    assert found.selects("default", tuple(labels.items())) is selects
    assert not found.selects("other", tuple(labels.items()))


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"minAvailable": 1, "maxUnavailable": 1}, "spec: minAvailable and maxUnavailable are both set."),
        ({"minAvailable": "101%"}, "spec.minAvailable: must be a number or a percentage up to 100%, not '101%'."),
        ({"maxUnavailable": -1}, "spec.maxUnavailable: must be 0 or more, not -1."),
        ({"maxUnavailable": 1.5}, "spec.maxUnavailable: must be an integer, not 1.5."),
        ({"selector": {"matchLabels": {"app": 1}}}, "spec.selector.matchLabels.app: must be a string, not 1."),
    ],
)
def test_what_the_api_server_rejects_is_rejected(spec: dict[str, Any], fault: str) -> None:
    with pytest.raises(ManifestError) as raised:
        read(**spec)
    assert fault in raised.value.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 200) | st.floats(allow_nan=False) | st.sampled_from(["50%", "x", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["matchLabels", "key"]), inner),
    max_leaves=4,
)


@given(minimum=JSON, maximum=JSON, selector=JSON)
def test_nothing_but_a_manifest_error_is_raised(minimum: object, maximum: object, selector: object) -> None:
    with contextlib.suppress(ManifestError):
        found = read(minAvailable=minimum, maxUnavailable=maximum, selector=selector)
        assert found.least(7) >= 0
        assert found.selects("other", ()) is False
