"""Which stacks a command is about."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.stack.load import Stack
    from multiarch.stack.model import Plan


def files(names: Iterable[str]) -> list[Path]:
    """Stack files by name or path, in the order given; without any name all of the project's.

    Raises MultiarchError for a name that no stack has, and when there is no project or no stack at all.
    """
    from multiarch.stack.load import STACKS_FOLDER, project_root, stack_files

    wanted = list(names)
    if wanted:
        return [file(name) for name in wanted]
    root = project_root(Path.cwd())
    found = stack_files(root)
    if not found:
        raise MultiarchError(f"There is no stack in {root / STACKS_FOLDER}.", hint="Run `multiarch stack new`.")
    return found


def file(name: str) -> Path:
    """One stack's file by its name or path. Raises MultiarchError, naming the stacks there are."""
    from multiarch.stack.load import STACKS_FOLDER, project_root, stack_files
    from multiarch.stack.wording import nearest

    path = Path(name)
    if path.suffix in {".yaml", ".yml"} or len(path.parts) > 1:
        return path
    root = project_root(Path.cwd())
    named = root / STACKS_FOLDER / f"Pulumi.{name}.yaml"
    if os.path.lexists(named):  # also a link that leads nowhere: what is wrong with it is said on reading
        return named
    known = [path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in stack_files(root)]
    near = nearest(name, known)
    hint = f"Did you mean {near}?" if near else f"There are {', '.join(known)}." if known else ""
    raise MultiarchError(f"There is no stack {name} in {root / STACKS_FOLDER}.", hint=hint)


def planned(path: Path) -> tuple[Stack, Plan]:
    """Load and plan one stack file. Raises StackError with every problem of it."""
    from multiarch.stack.load import load_file
    from multiarch.stack.plan import make_plan
    from multiarch.today import today

    stack = load_file(path)
    return stack, make_plan(stack, today=today())
