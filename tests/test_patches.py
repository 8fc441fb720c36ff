"""A patch that a test leaves in the project is found at the end of the run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from unittest import mock

import pytest

from multiarch.simulate.settled import NodeState
from multiarch.yaml_text import dump
from tests import patches


def _one() -> int:
    return 1


@pytest.mark.parametrize(
    "made",
    [
        _one,
        partial(_one),
        property(partial(_one)),
        property(lambda _self: 1),
        staticmethod(_one),
        mock.Mock(),
        lambda: 1,
        type("Other", (), {}),
    ],
)
def test_what_a_test_puts_in_the_place_of_the_projects_own_is_named(
    made: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump, "dump_yaml", made)
    assert patches.left() == ["multiarch.yaml_text.dump.dump_yaml"]
    monkeypatch.setattr(NodeState, "group", made, raising=False)
    assert patches.left() == ["multiarch.simulate.settled.NodeState.group", "multiarch.yaml_text.dump.dump_yaml"]


def test_nothing_is_left() -> None:
    assert patches.left() == []
