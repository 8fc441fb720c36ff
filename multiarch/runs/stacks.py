"""Stack files by name, their plans and problems."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from multiarch.errors import MultiarchError, Problem, StackError
from multiarch.facts.architectures import Architecture
from multiarch.frozen import dataclass
from multiarch.serialization import INLINED, OMITTED, JsonProperty
from multiarch.stack.load import STACKS_FOLDER, Stack, find_project_root, list_stack_files, load_file
from multiarch.stack.model import Plan
from multiarch.stack.plan import make_plan
from multiarch.stack.schema_paths import find_nearest
from multiarch.stack.yaml_source import format_path
from multiarch.today import get_today


def find_root(project: Path | None) -> Path:
    """Return the folder of the project that ``project``, or else the working folder, is in. Raises MultiarchError."""
    return find_project_root(project or Path.cwd())


def find_files(names: Iterable[str], project: Path | None = None) -> list[Path]:
    """Return stack files by name or path, each once, in the order given; all of the project's without names.

    Raises MultiarchError for an unknown name, and outside a project or in one without stacks.
    """
    if wanted := list(names):
        named: dict[str, Path] = {}
        for path in (find_file(name, project) for name in wanted):
            # Unlike Path.resolve, it leaves a loop of links to what opens the file.
            named.setdefault(os.path.realpath(path), path)
        return list(named.values())
    root = find_root(project)
    found = list_stack_files(root)
    if not found:
        raise MultiarchError(f"There is no stack in {root / STACKS_FOLDER}.", hint="Run `multiarch stack new`.")
    return found


def find_file(name: str, project: Path | None = None) -> Path:
    """Return the file of a stack by its name or path. Raises MultiarchError for an unknown name."""
    path = Path(name)
    if path.suffix in {".yaml", ".yml"} or len(path.parts) > 1:
        return path
    root = find_root(project)
    named = root / STACKS_FOLDER / f"Pulumi.{name}.yaml"
    if os.path.lexists(named):  # also a broken link: reading it says what is wrong
        return named
    known = [get_stack_name(path) for path in list_stack_files(root)]
    near = find_nearest(name, known)
    hint = f"Did you mean {near}?" if near else f"There are {', '.join(known)}." if known else ""
    raise MultiarchError(f"There is no stack {name} in {root / STACKS_FOLDER}.", hint=hint)


def get_stack_name(path: Path) -> str:
    """Return the name of the stack that a file is named after."""
    return path.name.removeprefix("Pulumi.").removesuffix(path.suffix)


def load_plan(path: Path) -> tuple[Stack, Plan]:
    """Load and plan a stack file. Raises StackError with all problems of it."""
    stack = load_file(path)
    return stack, make_plan(stack, today=get_today())


def load_plans(names: Iterable[str], project: Path | None = None) -> list[Plan]:
    """Return the plans of :func:`find_files`. Raises MultiarchError, and StackError with the problems of all files."""
    checked = [plan_or_problems(path, named=False) for path in find_files(names, project)]
    if problems := [problem for plan, found in checked if plan is None for problem in found]:
        raise StackError(problems)
    return [plan for plan, _ in checked if plan is not None]


def plan_or_problems(path: Path, *, named: bool = True) -> tuple[Plan | None, tuple[Problem, ...]]:
    """Return the plan and its warnings, or None and what is wrong with the stack.

    ``named``: a file that can't be read is a problem too; otherwise it raises MultiarchError.
    """
    try:
        plan = load_plan(path)[1]
    except StackError as error:
        return None, error.problems
    except MultiarchError as error:
        if not named:
            raise
        return None, (Problem("refused", error.message, error.hint, file=format_path(path)),)
    return plan, plan.warnings


class GroupName(NamedTuple):
    """A node group in a list of stacks."""

    name: str
    architecture: Architecture


@dataclass(frozen=True, slots=True)
class StackSummary:
    """What a list says of a valid stack."""

    stack: str
    team: str
    environment: str
    region: str | None
    kubernetes_version: str
    node_groups: tuple[GroupName, ...]


@dataclass(frozen=True, slots=True)
class CheckedStack:
    """A stack file with its problems. ``plan`` is None for an invalid stack."""

    file: str
    problems: tuple[Problem, ...]
    plan: Plan | None = field(metadata=OMITTED)
    summary: StackSummary | None = field(metadata=INLINED)

    @property
    def name(self) -> str:
        """The name of the stack that the file is named after."""
        return get_stack_name(Path(self.file))

    @JsonProperty
    def ok(self) -> bool:
        """Return whether the stack is valid."""
        return self.plan is not None


def check_stacks(names: Iterable[str], project: Path | None = None) -> list[CheckedStack]:
    """Check stack files, by default all of the project. Raises MultiarchError as :func:`find_files` does."""
    return [_checked(path) for path in find_files(names, project)]


def _checked(path: Path) -> CheckedStack:
    plan, problems = plan_or_problems(path)
    if plan is None:
        return CheckedStack(format_path(path), problems, None, None)
    groups = tuple(GroupName(group.name, group.architecture) for group in plan.node_groups)
    summary = StackSummary(plan.stack, plan.team, plan.environment, plan.region, plan.cluster.version, groups)
    return CheckedStack(format_path(path), problems, plan, summary)
