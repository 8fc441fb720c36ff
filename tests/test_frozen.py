"""Frozen classes behave as those of ``dataclasses``: each case runs with both."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, replace
from typing import Any

import pytest

from multiarch import frozen

Maker = Callable[..., Callable[[type[Any]], type[Any]]]


@pytest.fixture(params=[dataclasses.dataclass, frozen.dataclass], ids=["library", "ours"])
def dataclass(request: pytest.FixtureRequest) -> Maker:
    made: Maker = request.param
    return made


@pytest.fixture
def node(dataclass: Maker) -> type[Any]:
    @dataclass(frozen=True, slots=True)
    class Node:
        name: str
        zone: str = "a"
        labels: dict[str, str] = field(default_factory=dict, compare=False)
        secret: str = field(default="hidden", repr=False)
        size: int = field(kw_only=True)
        title: str = field(init=False)
        kind: str = field(init=False, default="node")

        def __post_init__(self) -> None:
            object.__setattr__(self, "title", self.name.title())

    return Node


def test_arguments_and_defaults_are_those_of_the_fields(node: type[Any]) -> None:
    made = node("one", size=3)
    assert dataclasses.astuple(made) == ("one", "a", {}, "hidden", 3, "One", "node")
    assert node("one", "b", {"x": "y"}, size=3).labels == {"x": "y"}
    assert made.labels is not node("two", size=3).labels
    assert replace(made, name="two").title == "Two"
    with pytest.raises(TypeError, match=r"Node\.__init__\(\) missing 1 required keyword-only argument: 'size'"):
        node("one")


def test_values_are_compared_hashed_and_shown_by_their_fields(dataclass: Maker, node: type[Any]) -> None:
    @dataclass(frozen=True, slots=True)
    class Spot(node):  # type: ignore[misc]
        price: int = 0

    made, other = node("one", size=3), node("one", labels={"x": "y"}, size=3)
    assert made == other
    assert hash(made) == hash(other)
    assert made != node("two", size=3)
    assert node("one", size=3) != Spot("one", size=3)
    assert made != 1
    shown = "Node(name='one', zone='a', labels={}, size=3, title='One', kind='node')"
    assert repr(made).rpartition(".")[2] == shown
    assert Spot("one", price=5, size=3).price == 5


def test_values_can_be_copied_and_not_changed(node: type[Any]) -> None:
    made = node("one", size=3)
    assert copy.deepcopy(made) == made
    assert not hasattr(made, "__dict__")
    with pytest.raises(FrozenInstanceError, match="name"):
        made.name = "two"
    with pytest.raises(FrozenInstanceError, match="name"):
        del made.name


def test_methods_of_the_class_itself_stay(dataclass: Maker) -> None:
    @dataclass(frozen=True, slots=True)
    class Named:
        name: str

        def __hash__(self) -> int:
            return 1

        def __repr__(self) -> str:
            return self.name

        def __eq__(self, other: object) -> bool:
            return True

    assert (hash(Named("a")), repr(Named("a")), Named("a") == Named("b")) == (1, "a", True)


def test_classes_are_ordered_and_changed_as_their_options_say(dataclass: Maker) -> None:
    @dataclass(frozen=True, slots=True, order=True)
    class Version:
        number: int
        note: str = field(default="", compare=False)

    @dataclass(slots=True, eq=False)
    class Node:
        number: int

    assert sorted([Version(2), Version(1)]) == [Version(1), Version(2)]
    assert Version(1) <= Version(1, "x") < Version(2) > Version(1) >= Version(1)
    with pytest.raises(TypeError, match="not supported between instances of 'Version' and 'int'"):
        assert Version(1) < 2  # type: ignore[operator]
    draft, same = Node(1), Node(1)
    draft.number = 2
    assert (draft.number, draft == same, len({draft, same})) == (2, False, 2)
