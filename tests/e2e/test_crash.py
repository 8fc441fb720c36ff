"""An engine that is killed in the middle of its work: the next command starts from nothing, or removes everything."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.conftest import watched
from tests.e2e.world import World

pytestmark = pytest.mark.e2e
STACK = "checkout-dev"


@dataclass(frozen=True)
class Crashing:
    """A world in which nothing is up when a test begins; ``undisturbed``: how much of each kind an `up` makes."""

    world: World
    undisturbed: dict[str, int]

    def counts(self) -> dict[str, int]:
        return counts(self.world)

    def kill_during(self, verb: str, finished: int) -> None:
        """Start a Pulumi command and kill its engine when it has finished that many resources and is at others."""
        with self.world.running(STACK, verb, "--yes", "--skip-preview", "--json") as (process, _):
            assert process.stdout is not None
            begun = seen = 0
            for line in process.stdout:
                event = json.loads(line) if line.startswith("{") else {}
                begun += "resourcePreEvent" in event
                seen += "resOutputsEvent" in event
                if seen >= finished and begun > seen:
                    os.kill(process.pid, signal.SIGKILL)
                    break
            assert process.wait() == -signal.SIGKILL, f"it ended before it had finished {finished}"


def counts(world: World) -> dict[str, int]:
    return {kind: len(found) for kind, found in world.held(STACK).items()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crashing]:
    with watched(tmp_path_factory.mktemp("crashing") / "clone") as world:
        world.sandbox("up", STACK)
        yield Crashing(world, counts(world))


@pytest.fixture
def crashing(made: Crashing) -> Crashing:
    world = made.world
    if world.processes():
        world.pulumi(STACK, "cancel", "--yes")
        world.pulumi(STACK, "destroy", "--yes", "--skip-preview")
    else:  # a test has taken everything down
        world.sandbox("preview", STACK)
    assert world.held(STACK) == {}
    return made


def test_after_an_up_was_killed_the_next_one_in_the_sandbox_starts_from_nothing(crashing: Crashing) -> None:
    crashing.kill_during("up", 30)
    # What the engine was at may have ended before the signal came: then nothing was cut off.
    cut_off = crashing.world.pending(STACK) != ()
    said = crashing.world.sandbox("up", STACK).stderr
    assert ("Starting from an empty AWS" in said) == cut_off
    assert crashing.counts() == crashing.undisturbed
    crashing.world.sandbox("preview", STACK, "--expect-no-changes")
    assert crashing.world.pending(STACK) == ()


def test_after_a_command_was_killed_down_leaves_nothing(crashing: Crashing) -> None:
    for verb, finished in (("up", 45), ("destroy", 20)):
        crashing.world.sandbox("preview" if verb == "up" else "up", STACK)
        crashing.kill_during(verb, finished)
        said = crashing.world.sandbox("down").stderr
        assert "nothing is left: no resource in AWS, no process, no file" in said
        assert crashing.world.processes() == {}
