"""The Pulumi program, from the engine's configuration to the exports, with Pulumi's mocks in the engine's place."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import Mapping
from contextvars import copy_context
from pathlib import Path

import pulumi
import pytest
from pulumi.runtime import config
from pulumi.runtime.settings import Settings
from pulumi.runtime.stack import run_in_stack

from components.rendering.marked_values import Where
from components.rendering.recording import Recorder

PROGRAM = Path(__file__).parents[2] / "__main__.py"
WORDS: Mapping[str, str] = {
    "aws:region": "eu-west-1",
    "multiarch-eks:team": "shop",
    "multiarch-eks:environment": "dev",
    "multiarch-eks:owner": "shop@example.com",
    "multiarch-eks:costCenter": "4711",
    "multiarch-eks:nodeGroups": json.dumps({"web": {"instanceTypes": ["m7i.large"]}}),
}


def program() -> None:
    runpy.run_path(str(PROGRAM))


def run(words: Mapping[str, str]) -> Recorder:
    """Run ``__main__.py`` as the language host does."""

    def inside() -> Recorder:
        recorder = Recorder(Where.of("eu-west-1"))
        Settings(project="multiarch-eks", stack="shop-dev", monitor=recorder, dry_run=True)
        config.set_all_config(dict(words))
        asyncio.run(run_in_stack(program))
        return recorder

    return copy_context().run(inside)


def test_the_program_exports_what_people_need(capsys: pytest.CaptureFixture[str]) -> None:
    recorder = run(WORDS)
    assert set(recorder.outputs) == {"cluster", "kubeconfig", "nodeGroups", "sessions", "warnings"}
    assert "warning: " in capsys.readouterr().err


def test_a_refused_stack_ends_with_every_problem_and_nothing_declared(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {"web": {"instanceTypes": ["m7i.large", "m7g.large"]}, "b": {"instanceTypes": ["m7i.lrage"]}}
    with pytest.raises(pulumi.RunError, match="shop-dev is refused"):
        run({**WORDS, "multiarch-eks:nodeGroups": json.dumps(groups)})
    said = capsys.readouterr().err
    assert "nodeGroups.web.instanceTypes" in said
    assert "m7i.lrage" in said


@pytest.mark.parametrize("epoch", ["soon", "9" * 30])
def test_a_day_that_is_none_is_said_without_a_traceback(monkeypatch: pytest.MonkeyPatch, epoch: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(pulumi.RunError, match=r"Invalid SOURCE_DATE_EPOCH '.*Set it to seconds"):
        run(WORDS)


def test_the_program_is_short() -> None:
    code = [
        line
        for line in PROGRAM.read_text().splitlines()
        if line.strip() and not line.strip().startswith(("import", "from"))
    ]
    assert len(code) <= 30
