"""Regions and partitions are what botocore knows of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import botocore
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.partitions import PARTITIONS, is_region, partition_of

DATA = Path(botocore.__file__).parent / "data"


def rows(file: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DATA / file).read_text(encoding="utf-8"))["partitions"]
    return found


def regions() -> list[tuple[str, str, str]]:
    return [
        (region, row["partition"], row["dnsSuffix"])
        for row in rows("endpoints.json")
        for region in sorted(row["regions"])
    ]


@pytest.mark.parametrize(("region", "partition", "suffix"), regions())
def test_every_region_of_botocore_is_in_its_partition(region: str, partition: str, suffix: str) -> None:
    found = partition_of(region)
    assert found is not None
    assert (found.name, found.dns_suffix) == (partition, suffix)


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


@given(st.sampled_from([pattern["regionRegex"] for pattern in rows("partitions.json")]), st.data())
def test_what_botocore_takes_for_a_region_of_todays_alphabet_is_one(pattern: str, data: st.DataObject) -> None:
    # botocore's \w and \d take more than regions' names are made of.
    narrow = pattern.replace(r"\w", "[a-z]").replace(r"\d", "[0-9]")
    assert is_region(data.draw(st.from_regex(narrow, fullmatch=True)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "eu-west",
        "eu-west-1a",
        "EU-WEST-1",
        "ue-west-1",
        "eusc-fr-east-1",
        "us-isoz-east-1",
        "eu-west-1\n",
        "x" * 99,
    ],
)
def test_what_is_written_otherwise_is_not_a_region(text: str) -> None:
    assert not is_region(text)


def test_the_reverse_prefix_is_the_suffix_from_the_back() -> None:
    assert {partition.name: partition.reverse_dns_prefix for partition in PARTITIONS} == {
        "aws": "com.amazonaws",
        "aws-cn": "cn.com.amazonaws",
        "aws-eusc": "eu.amazonaws",
        "aws-iso": "gov.ic.c2s",
        "aws-iso-b": "gov.sgov.sc2s",
        "aws-iso-e": "uk.adc-e.cloud",
        "aws-iso-f": "gov.ic.hci.csp",
        "aws-us-gov": "com.amazonaws",
    }
