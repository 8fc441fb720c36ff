"""Which instance types satisfy requirements; the names that are hard to read are all here."""

from __future__ import annotations

import pytest

from multiarch.autoscaling import selection
from multiarch.autoscaling.model import Requirement
from multiarch.autoscaling.selection import find_excluding_requirement, list_type_labels, select_types
from multiarch.facts.instance_types import get_instance_type, list_instance_types
from multiarch.facts.labels import ARCHITECTURE, KARPENTER_CAPACITY_TYPE


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("c6gn.16xlarge", ("c", "6", "c6gn", "16xlarge")),
        ("inf2.xlarge", ("inf", "2", "inf2", "xlarge")),
        ("u-6tb1.56xlarge", ("u", "1", "u-6tb1", "56xlarge")),
        ("u7i-12tb.224xlarge", ("u", "7", "u7i-12tb", "224xlarge")),
        ("m8g.metal-24xl", ("m", "8", "m8g", "metal-24xl")),
        ("p6-b200.48xlarge", ("p", "6", "p6-b200", "48xlarge")),
    ],
)
def test_a_name_is_taken_apart_as_karpenter_does(name: str, labels: tuple[str, ...]) -> None:
    found = list_type_labels(get_instance_type(name))
    keys = (selection.CATEGORY, selection.GENERATION, selection.FAMILY, selection.SIZE)
    assert [found[key] for key in keys] == [{label} for label in labels]


def test_every_type_that_eks_takes_has_category_and_generation() -> None:
    without = [
        t.name for t in list_instance_types().values() if t.eks and selection.CATEGORY not in list_type_labels(t)
    ]
    assert without == []


def test_bare_metal_has_no_hypervisor_and_a_type_that_is_not_sold_as_spot_is_on_demand_alone() -> None:
    assert list_type_labels(get_instance_type("m7g.metal"))[selection.HYPERVISOR] == {""}
    assert list_type_labels(get_instance_type("m4.large"))[selection.HYPERVISOR] == {"xen"}
    assert list_type_labels(get_instance_type("u7i-12tb.224xlarge"))[KARPENTER_CAPACITY_TYPE] == {
        "on-demand",
        "reserved",
    }


def test_selection_is_sorted_and_says_what_excluded_the_last_type() -> None:
    family = Requirement(selection.FAMILY, "In", ("m7g",))
    virtual = Requirement(selection.HYPERVISOR, "In", selection.VIRTUAL)
    amd64 = Requirement(ARCHITECTURE, "In", ("amd64",))
    chosen = [each.name for each in select_types(list_instance_types().values(), [family, virtual])]
    assert chosen == sorted(chosen)
    assert "m7g.large" in chosen
    assert "m7g.metal" not in chosen
    assert select_types(list_instance_types().values(), [amd64, family]) == ()
    assert find_excluding_requirement(list_instance_types().values(), [amd64, family]) == family
    assert find_excluding_requirement(list_instance_types().values(), [family, virtual]) is None
