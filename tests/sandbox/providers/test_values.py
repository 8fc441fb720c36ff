"""Property values as Python and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.providers import StandInError, diffs, loopback_url
from sandbox.providers.values import (
    INPUTS,
    UNKNOWN,
    merged,
    plain,
    secret_keys,
    unknown_at,
    wrap,
    wrap_map,
)

scalars = st.one_of(st.booleans(), st.integers(-(2**53), 2**53), st.text())
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)


@given(values)
def test_what_is_wrapped_comes_back(value: Any) -> None:  # noqa: ANN401 (of any type)
    assert plain(wrap(value)) == value
    assert type(plain(wrap(value))) is type(value)


@given(st.dictionaries(st.text(min_size=1).filter(lambda key: key != "__inputs"), values), st.data())
def test_secrets_stay_secret(found: dict[str, Any], data: st.DataObject) -> None:
    secrets = frozenset(data.draw(st.sets(st.sampled_from(sorted(found))))) if found else frozenset()
    assert secret_keys(wrap_map(found, secrets)) == secrets


def test_secrets_stay_secret_among_the_kept_inputs() -> None:
    wrapped = wrap_map({"a": "1", "b": "2", INPUTS: {"a": "1", "b": "2"}}, frozenset({"a"}))
    kept = wrapped[INPUTS].value
    assert isinstance(kept, dict | type(type.__dict__))
    assert {key: item.is_secret for key, item in kept.items()} == {"a": True, "b": False}


def test_state_shows_live_values_under_the_wanted_ones() -> None:
    live = {"config": {"group": "sg", "private": False}, "arn": "arn"}
    assert merged(live, {"config": {"private": True}}) == {"config": {"group": "sg", "private": True}, "arn": "arn"}


def test_unknown_is_set_where_nothing_stands() -> None:
    found: dict[str, Any] = {"vpcConfig": {"subnetIds": ["a"]}, "arn": "given"}
    for path in ("arn", "vpcConfig.vpcId", "status"):
        unknown_at(found, path)
    assert found == {"vpcConfig": {"subnetIds": ["a"], "vpcId": UNKNOWN}, "arn": "given", "status": UNKNOWN}


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:5000", "http://localhost:5000", "https://[::1]:1", "http://127.1.2.3"]
)
def test_addresses_of_this_machine_are_taken(url: str) -> None:
    assert loopback_url(url, "it") == url


@pytest.mark.parametrize(
    "url",
    [
        "https://ec2.us-east-1.amazonaws.com",
        "http://localhost.example.org",
        "127.0.0.1",
    ],
)
def test_other_addresses_are_rejected(url: str) -> None:
    with pytest.raises(StandInError, match="not an address of this machine"):
        loopback_url(url, "it")


def test_a_diff_names_the_exact_path() -> None:
    old = {"sizes": {"min": 1, "max": 2}, "tags": {"a.b": "1"}, "list": ["a", "b"], "gone": 1}
    new = {"sizes": {"min": 1, "max": 3}, "tags": {"a.b": "2"}, "list": ["a", "c"], "new": 1}
    answer = diffs.respond(old, new, lambda path: path.startswith("list"), delete_first=False)
    assert sorted(answer.detailed_diff) == ["gone", "list[1]", "new", "sizes.max", 'tags["a.b"]']
    assert answer.replaces == ["list"]
    assert answer.diffs == ["gone", "list", "new", "sizes", "tags"]
