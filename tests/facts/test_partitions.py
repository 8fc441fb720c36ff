"""Regions and partitions are what botocore knows of them; any other region is rejected with the nearest known one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import botocore
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.partitions import PARTITIONS, explain_unknown_region, find_partition, list_regions

DATA = Path(botocore.__file__).parent / "data"


def rows(file: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DATA / file).read_text(encoding="utf-8"))["partitions"]
    return found


def regions() -> list[tuple[str, str, str]]:
    """Each region that has EKS, with its partition and the DNS suffix."""
    return [
        (region, row["partition"], row["dnsSuffix"])
        for row in rows("endpoints.json")
        for region in sorted(row["services"]["eks"]["endpoints"])
        if not region.startswith("fips-")
    ]


def test_every_region_of_botocore_is_known_in_its_partition() -> None:
    known = list_regions()
    assert list(known) == sorted(set(known))
    by_name = {region: find_partition(region) for region in known}
    assert all(by_name.values())
    for region, partition, suffix in regions():
        found = by_name[region]
        assert found is not None
        assert (found.name, found.dns_suffix) == (partition, suffix)
        assert explain_unknown_region(region) is None


def geographies(pattern: str) -> list[str]:
    """What a pattern has before the word and the number, spelt out: ``us|eu`` in brackets is ``us`` and ``eu``."""
    before = pattern.removeprefix("^").removesuffix(r"\-\w+\-\d+$").replace("\\", "")
    head, _, words = before.partition("(")
    return sorted(head + word for word in words.removesuffix(")").split("|"))


def test_the_table_has_botocores_partitions_and_no_other() -> None:
    known = sorted(
        (row["id"], row["outputs"]["dnsSuffix"], geographies(row["regionRegex"])) for row in rows("partitions.json")
    )
    assert [(row.name, row.dns_suffix, list(row.geographies)) for row in PARTITIONS] == known


@given(st.sampled_from(list_regions()), st.data())
def test_a_letter_omitted_or_two_swapped_is_rejected_with_the_region_that_was_meant(
    region: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(region) - 2))
    omitted = region[:at] + region[at + 1 :]
    swapped = region[:at] + region[at + 1] + region[at] + region[at + 2 :]
    for written in {omitted, swapped} - set(list_regions()):
        hint = explain_unknown_region(written)
        assert hint is not None
        assert hint.startswith("Did you mean ")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "us-esat-1",
            "Did you mean us-east-1? If AWS has just added us-esat-1, run `multiarch facts refresh`.",
        ),
        ("eu-west-1a", "Did you mean eu-west-1?"),
        ("EU-WEST-1", "Did you mean eu-west-1?"),
        ("", "Write a region such as eu-west-1."),
        ("europe", "Write a region such as eu-west-1."),
    ],
)
def test_what_is_not_a_region_is_rejected_with_the_nearest(text: str, hint: str) -> None:
    assert explain_unknown_region(text) == hint


@pytest.mark.parametrize("text", ["ue-west-1", "eusc-fr-east-1", "us-isoz-east-1", "eu-west-1\n", "eu-west-1a"])
def test_what_has_another_form_has_no_partition(text: str) -> None:
    assert find_partition(text) is None
