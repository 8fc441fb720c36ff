"""A preview without an engine: run the components against Pulumi's mocks, and write what they declare as files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path

import pulumi
from pulumi.runtime.mocks import MockEngine
from pulumi.runtime.settings import Settings
from pulumi.runtime.stack import run_in_stack

from components import rendered_files
from components.marked_values import Json, Where
from components.platform import Platform, PlatformArgs
from components.recording import Recorded, Recorder
from multiarch.stack.model import Plan

PROJECT = "multiarch-eks"


@dataclass(frozen=True, slots=True)
class Declared:
    """What the components declare for a plan: resources sorted by URN, and the stack's outputs by name."""

    resources: tuple[Recorded, ...]
    outputs: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RenderedStack:
    """A rendering. ``directory`` is ``DIRECTORY/STACK``; ``files`` are paths in it, sorted.

    ``resources`` are the whole tree: a resource's ``parent`` is the URN of another, the stack's own is empty.
    """

    stack: str
    directory: Path
    resources: tuple[Recorded, ...]
    outputs: Mapping[str, Json]
    files: tuple[Path, ...]


def render(plan: Plan, directory: Path) -> RenderedStack:
    """Declare the plan against mocks and write the result to ``directory/STACK``, in place of an earlier one.

    Neither engine nor credentials are needed, and nothing is sent anywhere. The same plan gives the same bytes.
    Raises StackError for what only shows when the components run, OutsideError when the folder can't be written or
    holds something else.
    """
    declared = declare(plan)
    files = rendered_files.contents(declared.resources, declared.outputs)
    target = directory / plan.stack
    rendered_files.replace(target, files)
    return RenderedStack(
        stack=plan.stack,
        directory=target,
        resources=declared.resources,
        outputs=declared.outputs,
        files=tuple(Path(name) for name in sorted(files)),
    )


def declare(plan: Plan) -> Declared:
    """Run the components for a plan in a context of their own, so that one run leaves nothing to the next."""
    return copy_context().run(_declare, plan)


def _declare(plan: Plan) -> Declared:
    recorder = Recorder(Where.of(plan.region))
    # Pulumi keeps its settings in context variables: these are set in the copied context alone.
    Settings(
        project=PROJECT,
        stack=plan.stack,
        monitor=recorder,
        engine=MockEngine(logging.getLogger("multiarch.render")),
        # A preview: what AWS alone knows stays unknown, and nothing is computed from it.
        dry_run=True,
        organization="organization",
        root_directory=".",
    )
    asyncio.run(run_in_stack(lambda: _program(plan)))
    return Declared(recorder.recorded(), recorder.outputs)


def _program(plan: Plan) -> None:
    for name, value in Platform("platform", PlatformArgs(plan)).exports().items():
        pulumi.export(name, value)
