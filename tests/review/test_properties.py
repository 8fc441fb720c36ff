"""Values by the paths that the engine writes, in one way for all parts of a review."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.observed.resources.paths import MISSING, SECRET, UNKNOWN, get_value_at, is_below, split_path
from multiarch.observed.resources.properties import get_value, is_unknown
from multiarch.review.values import format_difference
from tests.review.by_hand import GROUP, MANAGED, made

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"

PROPERTIES: dict[str, Any] = {
    "scalingConfig": {"maxSize": 4, "labels": None},
    "tags": {"k8s.io/role": "web", 'a"b': 1},
    "ingress": [{"cidrBlocks": ["10.0.0.0/8", UNKNOWN]}],
    "later": UNKNOWN,
    "hidden": {"token": SECRET},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("scalingConfig.maxSize", 4),
        ("scalingConfig.labels", None),
        ("scalingConfig.minSize", MISSING),
        ("scalingConfig.maxSize.more", MISSING),
        ('tags["k8s.io/role"]', "web"),
        ('tags["a\\"b"]', 1),
        ("ingress[0].cidrBlocks[0]", "10.0.0.0/8"),
        ("ingress[3].cidrBlocks", MISSING),
        ("later.maxSize", UNKNOWN),
        ("later[0].name", UNKNOWN),
        ("hidden.token.value", SECRET),
        ("not.[a path", MISSING),
    ],
)
def test_a_value_below_an_unknown_one_is_unknown_and_others_are_there_or_missing(path: str, value: object) -> None:
    assert get_value_at(PROPERTIES, path) == value


def test_a_value_that_is_unknown_in_part_does_not_count_as_known() -> None:
    assert get_value(PROPERTIES, "ingress[0].cidrBlocks[0]") == "10.0.0.0/8"
    for path in ("ingress", "ingress[0].cidrBlocks", "later", "later.maxSize", "hidden"):
        assert (get_value(PROPERTIES, path), is_unknown(PROPERTIES, path)) == (None, True)
    assert (get_value(PROPERTIES, "scalingConfig.minSize"), is_unknown(PROPERTIES, "scalingConfig.minSize")) == (
        None,
        False,
    )


def test_a_size_that_becomes_unknown_is_not_shown_as_removed() -> None:
    step = made(GROUP, "web", MANAGED, {**MANAGED, "scalingConfig": UNKNOWN})
    assert format_difference(step, "scalingConfig.maxSize") == "scalingConfig.maxSize: 4 → known after the update"


def test_roots_of_paths_end_where_a_key_ends() -> None:
    assert is_below("tags", ["tags"])
    assert is_below('tags["a"]', ["tags"])
    assert not is_below("tagsAll.a", ["tags"])
    assert split_path('tags["a.b"][0].c') == ("tags", "a.b", 0, "c")


def test_values_of_a_config_map_are_shown_and_those_of_a_secret_are_not() -> None:
    path, new = 'data["config.yaml"]', {"data": {"config.yaml": "oci://x"}}
    assert format_difference(made(CONFIG_MAP, "x", None, new), path) == f"{path}: oci://x"
    long = made(CONFIG_MAP, "x", new, {"data": {"config.yaml": "x" * 99}})
    assert format_difference(long, path) == path
    hidden = made("kubernetes:core/v1:Secret", "x", None, new)
    assert format_difference(hidden, path) == f"{path}: [secret]"
