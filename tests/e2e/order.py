"""In which order the engine did things, read from the events of a command that ran with ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.e2e.world import Said, what


@dataclass(frozen=True, slots=True)
class Times:
    """When each resource was begun and done, as numbers of events; keys are operation, type and logical name."""

    begun: Mapping[tuple[str, str], int]
    done: Mapping[tuple[str, str], int]

    def before(self, first: tuple[str, str], second: tuple[str, str]) -> bool:
        """Whether ``first`` was done when ``second`` was begun. A step that never happened is a KeyError."""
        return self.done[first] < self.begun[second]

    def of(self, operation: str, kind: str) -> list[tuple[str, str]]:
        """The steps of one operation on one type, sorted."""
        return sorted(step for step in self.done if step[0] == operation and step[1].startswith(f"{kind} "))


def times(said: Said) -> Times:
    """Read the events of a command."""
    begun: dict[tuple[str, str], int] = {}
    done: dict[tuple[str, str], int] = {}
    for number, event in enumerate(sorted(said.events(), key=lambda event: int(event["sequence"]))):
        for name, noted in (("resourcePreEvent", begun), ("resOutputsEvent", done)):
            if name in event:
                told = event[name]["metadata"]
                noted[told["op"], what(told["urn"])] = number
    return Times(begun, done)


def one_after_the_other(found: Times, stages: Sequence[Sequence[tuple[str, str]]]) -> None:
    """Insist that each stage is done, all of it, when anything of the next one begins."""
    for stage, following in pairwise(stages):
        assert stage
        assert following
        for first in stage:
            for second in following:
                assert found.before(first, second), f"{second} began before {first} was done"
