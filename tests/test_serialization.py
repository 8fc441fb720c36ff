"""The one way from a result to JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import NamedTuple

import pytest

from multiarch.prices.model import UnknownPrice
from multiarch.serialization import INLINED, OMITTED, JsonProperty, to_json


class Colour(StrEnum):
    RED = "dark red"


class Level(IntEnum):
    HIGH = 3


class Count(NamedTuple):
    instance_type: str
    nodes: int


@dataclass(frozen=True, slots=True)
class Inner:
    max_size: int
    secret: str = field(default="hidden", metadata=OMITTED)

    @JsonProperty
    def is_large(self) -> bool:
        """Whether it is large."""
        return self.max_size > 1


@dataclass(frozen=True, slots=True)
class Outer:
    name: str
    inner: Inner = field(metadata=INLINED)
    absent: Inner | None = field(default=None, metadata=INLINED)
    counts: tuple[Count, ...] = ()


def test_an_object_has_its_fields_in_camel_case_and_its_json_properties() -> None:
    assert to_json(Inner(2)) == {"maxSize": 2, "isLarge": True}
    assert Inner(2).is_large is True


def test_the_fields_of_an_inlined_field_stand_in_its_place() -> None:
    assert to_json(Outer("a", Inner(1), counts=(Count("m7g.large", 3),))) == {
        "name": "a",
        "maxSize": 1,
        "isLarge": False,
        "counts": [{"instanceType": "m7g.large", "nodes": 3}],
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Colour.RED, "dark red"),
        (Level.HIGH, "high"),
        (Decimal(100), "100"),
        (Decimal("0.00770"), "0.0077"),
        (Decimal(1) / 3, "0.333333"),
        (UnknownPrice("no price"), None),
        (datetime(2026, 1, 2, 4, 5, 6, tzinfo=timezone(timedelta(hours=1))), "2026-01-02T03:05:06Z"),
        (datetime(2026, 1, 2, tzinfo=UTC).date(), "2026-01-02"),
        (date(2026, 1, 2), "2026-01-02"),
        (Path("a/b"), "a/b"),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({Colour.RED: Decimal("1.50")}, {"dark red": "1.5"}),
        (iter([1, None, True]), [1, None, True]),
    ],
)
def test_a_value_has_one_json(value: object, expected: object) -> None:
    assert to_json(value) == expected
    assert json.loads(json.dumps(expected)) == expected


@pytest.mark.parametrize("value", [b"bytes", object()])
def test_a_value_without_json_is_an_error(value: object) -> None:
    with pytest.raises(TypeError, match="has no JSON"):
        to_json(value)
