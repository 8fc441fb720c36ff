"""Arguments and options that name stacks, and the taint of arm64 nodes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.options import project
from multiarch.cli.options.completion import stack_names
from multiarch.errors import MultiarchError, Problem, StackError

if TYPE_CHECKING:
    from multiarch.facts.taints import Taint
    from multiarch.stack.load import Stack
    from multiarch.stack.model import Plan

StackArgument = Annotated[
    str, typer.Argument(metavar="STACK|FILE", autocompletion=stack_names, help="A stack's name or file.")
]
StacksArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="STACK|FILE", autocompletion=stack_names, help="Names or files. Default: all stacks of the project."
    ),
]


@dataclass(frozen=True, slots=True)
class TaintOptions:
    """Which taint nodes of an architecture have."""

    taint: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUE:EFFECT", help="The nodes' taint. Default for arm64: arch=arm64:NoSchedule."),
    ] = None
    stack: Annotated[
        str | None,
        typer.Option(metavar="STACK|FILE", autocompletion=stack_names, help="Take the taint from this stack."),
    ] = None

    def arm64(self) -> Taint | None:
        """The taint of arm64 nodes; ``None`` for a stack whose arm64 nodes have none.

        Raises MultiarchError for an invalid taint or stack, and if both options are given.
        """
        from multiarch.facts.taints import parse_taint

        if self.taint and self.stack:
            raise MultiarchError("--taint and --stack exclude each other.", hint="Both set the taint.")
        if self.taint:
            return parse_taint(self.taint)
        if self.stack:
            return plan_of(self.stack).arm64_taint
        from multiarch.schema.stack import StackSpec

        return parse_taint(str(StackSpec.model_fields["arm64_taint"].default))


def files(names: Iterable[str]) -> list[Path]:
    """Stack files by name or path, each once, in the order given; all of the project's if no name is given.

    Raises MultiarchError for an unknown name, and outside a project or in one without stacks.
    """
    from multiarch.stack.load import STACKS_FOLDER, stack_files

    wanted = list(names)
    if wanted:
        named: dict[str, Path] = {}
        for path in map(file, wanted):
            # Unlike Path.resolve, it leaves a loop of links to what opens the file.
            named.setdefault(os.path.realpath(path), path)
        return list(named.values())
    root = project.root()
    found = stack_files(root)
    if not found:
        raise MultiarchError(f"There is no stack in {root / STACKS_FOLDER}.", hint="Run `multiarch stack new`.")
    return found


def file(name: str) -> Path:
    """One stack's file by its name or path. Raises MultiarchError for an unknown name."""
    from multiarch.stack.load import STACKS_FOLDER, stack_files
    from multiarch.stack.schema_paths import nearest

    path = Path(name)
    if path.suffix in {".yaml", ".yml"} or len(path.parts) > 1:
        return path
    root = project.root()
    named = root / STACKS_FOLDER / f"Pulumi.{name}.yaml"
    if os.path.lexists(named):  # also a broken link: reading it says what is wrong
        return named
    known = [path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in stack_files(root)]
    near = nearest(name, known)
    hint = f"Did you mean {near}?" if near else f"There are {', '.join(known)}." if known else ""
    raise MultiarchError(f"There is no stack {name} in {root / STACKS_FOLDER}.", hint=hint)


def planned(path: Path) -> tuple[Stack, Plan]:
    """Load and plan one stack file. Raises StackError with all problems of it."""
    from multiarch.stack.load import load_file
    from multiarch.stack.plan import make_plan
    from multiarch.today import today

    stack = load_file(path)
    return stack, make_plan(stack, today=today())


def plans_of(names: Iterable[str]) -> list[Plan]:
    """The plans of :func:`files`. Raises MultiarchError, and StackError with the problems of all that are refused."""
    found: list[Plan] = []
    problems: list[Problem] = []
    for path in files(names):
        try:
            found.append(planned(path)[1])
        except StackError as error:
            problems += error.problems
    if problems:
        raise StackError(problems)
    return found


def plan_of(name: str) -> Plan:
    """The plan of a stack, by name or file. Raises MultiarchError and StackError."""
    return planned(file(name))[1]


def plan_or_problems(path: Path) -> tuple[Plan | None, tuple[Problem, ...]]:
    """The plan and its warnings, or ``None`` and what is wrong with the stack."""
    from multiarch.stack.yaml_source import shown

    try:
        plan = planned(path)[1]
    except StackError as error:
        return None, error.problems
    except MultiarchError as error:
        return None, (Problem("refused", error.message, error.hint, file=shown(path)),)
    return plan, plan.warnings
