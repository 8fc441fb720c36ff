"""G7 and EFA need drivers that EKS images have since a release."""

from __future__ import annotations

import pytest

from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.drivers import explain_missing_driver
from multiarch.facts.instance_types import get_instance_type

G7 = get_instance_type("g7.2xlarge")


def test_a_release_with_the_driver_passes() -> None:
    for release in ("1.35.2-20260917", "1.36.0-20261101", "v20260917"):
        assert explain_missing_driver(AmiFamily.AL2023, G7, release) is None


@pytest.mark.parametrize(
    ("family", "release", "reason"),
    [
        (AmiFamily.AL2023, "1.35.2-20260715", "since release 20260917, not in 1.35.2-20260715"),
        (AmiFamily.AL2023, None, "since release 20260917, and the image is not pinned"),
        (AmiFamily.BOTTLEROCKET, "v1.52.0", "which no Bottlerocket image is known to have"),
    ],
)
def test_an_image_that_may_lack_the_driver_is_named_with_the_reason(
    family: AmiFamily, release: str | None, reason: str
) -> None:
    told = explain_missing_driver(family, G7, release)
    assert told is not None
    assert told.startswith("g7.2xlarge needs NVIDIA driver 595, which ")
    assert told.endswith(reason)


def test_other_families_need_no_newer_driver() -> None:
    for name in ("g7e.2xlarge", "g6.xlarge", "p6-b200.48xlarge", "m7g.large"):
        assert explain_missing_driver(AmiFamily.AL2023, get_instance_type(name), None) is None


@pytest.mark.parametrize(
    ("family", "name", "release", "lacks"),
    [
        (AmiFamily.AL2023, "c7gn.16xlarge", "1.35.0-20260224", True),
        (AmiFamily.AL2023, "f2.48xlarge", "v20260423", True),  # FPGAs: on the ordinary image
        (AmiFamily.AL2023, "c7gn.16xlarge", "v20260505", False),
        (AmiFamily.AL2023, "c7gn.16xlarge", None, False),
        (AmiFamily.AL2023, "p5.48xlarge", "v20260224", False),
        (AmiFamily.AL2023, "m7g.large", "v20260224", False),
        (AmiFamily.BOTTLEROCKET, "c7gn.16xlarge", "v1.40.0", False),
    ],
)
def test_the_efa_driver_is_in_images_for_accelerators_and_since_a_release_in_others(
    family: AmiFamily, name: str, release: str | None, *, lacks: bool
) -> None:
    told = explain_missing_driver(family, get_instance_type(name), release, efa=True)
    assert bool(told) is lacks
    assert explain_missing_driver(family, get_instance_type(name), release) is None
