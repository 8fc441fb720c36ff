"""Versions of the autoscalers, for every Kubernetes version that the calendar has."""

from __future__ import annotations

import pytest

from multiarch.errors import UnknownFactError
from multiarch.facts.autoscalers import KARPENTER_CHART, parse_chart_version
from multiarch.facts.kubernetes import get_release, list_versions


@pytest.mark.parametrize("version", list_versions())
def test_every_known_kubernetes_has_an_image_of_its_minor_and_a_karpenter_that_works(version: str) -> None:
    assert get_release(version).autoscaler_image.startswith(f"v{version}.")
    assert parse_chart_version(get_release(version).karpenter) <= parse_chart_version(KARPENTER_CHART)


@pytest.mark.parametrize(("version", "minimum"), [("1.34", "1.6"), ("1.35", "1.9"), ("1.36", "1.13")])
def test_newer_kubernetes_needs_newer_karpenter(version: str, minimum: str) -> None:
    assert get_release(version).karpenter == minimum


def test_chart_versions_are_compared_as_numbers() -> None:
    assert parse_chart_version("1.9") < parse_chart_version("1.13.0") < parse_chart_version("1.14.1")
    for text in ("v1.14.1", "1", "1.14.x", "1.14.1-rc.1"):
        with pytest.raises(UnknownFactError, match="chart version"):
            parse_chart_version(text)
