"""Stack files by name, their plans and problems."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from multiarch.errors import MultiarchError, Problem, StackError
from multiarch.frozen import dataclass
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
    plans: list[Plan] = []
    problems: list[Problem] = []
    for path in find_files(names, project):
        try:
            plans.append(load_plan(path)[1])
        except StackError as error:
            problems += error.problems
    if problems:
        raise StackError(problems)
    return plans


@dataclass(frozen=True, slots=True)
class CheckedStack:
    """A stack file with its problems. ``plan`` is None for an invalid stack."""

    file: str
    problems: tuple[Problem, ...]
    plan: Plan | None

    @property
    def name(self) -> str:
        """The name of the stack that the file is named after."""
        return get_stack_name(Path(self.file))

    @property
    def ok(self) -> bool:
        """Whether the stack is valid."""
        return self.plan is not None

    def to_json(self) -> dict[str, object]:
        """Return the file and its problems; of a valid stack also what a list says of it."""
        plan = self.plan
        summary: dict[str, object] = (
            {}
            if plan is None
            else {
                "stack": plan.stack,
                "team": plan.team,
                "environment": plan.environment,
                "region": plan.region,
                "kubernetesVersion": plan.cluster.version,
                "nodeGroups": [{"name": each.name, "architecture": each.architecture} for each in plan.node_groups],
            }
        )
        return {"file": self.file, "problems": self.problems, **summary, "ok": self.ok}


def check_stacks(names: Iterable[str], project: Path | None = None) -> list[CheckedStack]:
    """Check stack files, by default all of the project. Raises MultiarchError as :func:`find_files` does."""
    return [_check(path) for path in find_files(names, project)]


def _check(path: Path) -> CheckedStack:
    file = format_path(path)
    try:
        plan = load_plan(path)[1]
    except StackError as error:
        return CheckedStack(file, error.problems, None)
    except MultiarchError as error:
        return CheckedStack(file, (Problem("refused", error.message, error.hint, file=file),), None)
    return CheckedStack(file, plan.warnings, plan)
