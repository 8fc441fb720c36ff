"""A preview without an engine: run the components against Pulumi's mocks, and write what they declare as files.

``recording`` stands in the engine's place, ``marked_values`` answers where only AWS knows, ``files`` says what is
written.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path

import pulumi
from pulumi.runtime.settings import Settings
from pulumi.runtime.stack import run_in_stack

from multiarch.observed.resources.declared import DeclaredResource
from multiarch.stack.model import ClusterPlan, Plan

from ..platform import Platform, PlatformArgs
from . import files
from .marked_values import Json, Where
from .recording import CLUSTER_TYPE, Recorder

__all__ = ["RenderedStack", "render"]

PROJECT = "multiarch-eks"


@dataclass(frozen=True, slots=True)
class Declared:
    """What the components declare for a plan: all resources, sorted by URN, and the stack's outputs by name."""

    resources: tuple[DeclaredResource, ...]
    outputs: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RenderedStack:
    """A rendering. ``directory`` is ``DIRECTORY/STACK``; ``files`` are paths in it, sorted."""

    declared: Declared
    directory: Path
    files: tuple[Path, ...]


def render(plan: Plan, directory: Path) -> RenderedStack:
    """Declare the plan against mocks and write the result to ``directory/STACK``, replacing an earlier one.

    Neither engine nor credentials are needed, and nothing is sent anywhere. The same plan gives the same bytes.
    Raises StackError for what only shows when the components run, MultiarchError when the folder can't be written or
    holds something else.
    """
    target = directory / plan.stack
    files.check(target)  # before the work, not only after it
    declared = declare(plan)
    texts = files.contents(declared.resources, declared.outputs)
    files.replace(target, texts)
    return RenderedStack(declared, target, tuple(Path(name) for name in sorted(texts)))


def declare(plan: Plan) -> Declared:
    """Run the components for a plan."""
    cluster, bare = plan.cluster, plan
    if isinstance(cluster, ClusterPlan):
        bare = replace(plan, cluster=replace(cluster, zonal_shift=None, tier=None))
    found = record(lambda: _program(bare), stack=plan.stack, region=plan.region)
    # A transform adds these to the cluster inside of the component, where no engine runs it.
    more = cluster.later_inputs if isinstance(cluster, ClusterPlan) else {}
    whole = [replace(it, inputs={**it.inputs, **more}) if it.type == CLUSTER_TYPE else it for it in found.resources]
    return replace(found, resources=tuple(whole))


def record(program: Callable[[], Coroutine[None, None, None]], *, stack: str, region: str | None) -> Declared:
    """Run a program in a separate context, so that a run does not affect the next, and return what it declares."""
    collects = gc.isenabled()
    # A run makes some hundred thousand objects that refer to one another and are soon done with. Collecting meanwhile
    # would go through the SDK's modules again and again, for a third of the time; one look at the young ones will do.
    gc.disable()
    try:
        with _short_stacks():
            return copy_context().run(_record, program, stack, region)
    finally:
        gc.collect(0)
        if collects:
            gc.enable()


@contextmanager
def _short_stacks() -> Iterator[None]:
    """Let the SDK read one line of the stack for each resource, instead of all, twice.

    It tells the engine where a resource is declared. A rendering does not need it, and it takes a quarter of the time.
    """
    before = getattr(sys, "tracebacklimit", None)
    sys.tracebacklimit = 1
    try:
        yield
    finally:
        if before is None:
            del sys.tracebacklimit
        else:
            sys.tracebacklimit = before


def _record(program: Callable[[], Coroutine[None, None, None]], stack: str, region: str | None) -> Declared:
    recorder = Recorder(Where.of(region))
    # Pulumi keeps its settings in context variables: these are set only in the copied context.
    Settings(
        project=PROJECT,
        stack=stack,
        monitor=recorder,
        # A preview: what only AWS knows stays unknown, and nothing is computed from it.
        dry_run=True,
        organization="organization",
        root_directory=".",
    )
    with asyncio.Runner() as runner:
        # The first fault is raised; asyncio would tell of it again for every resource that waited for it.
        runner.get_loop().set_exception_handler(lambda _loop, _context: None)
        runner.run(run_in_stack(program))
    return Declared(recorder.recorded(), recorder.outputs)


async def _program(plan: Plan) -> None:
    for name, value in Platform("platform", PlatformArgs(plan)).exports().items():
        pulumi.export(name, value)
    await _settle()


async def _settle() -> None:
    """Wait for all tasks, or for the first error, which the SDK then raises.

    The SDK waits for all that is open after each thing that is done, which takes time by the square of the resources.
    """
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        done, _ = await asyncio.wait(others, return_when=asyncio.FIRST_EXCEPTION)
        if any(task.cancelled() or task.exception() for task in done):
            return
