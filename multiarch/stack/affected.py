"""Which stacks a change touches: by their own files, the organisation's defaults, and the program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from multiarch.errors import StackError
from multiarch.stack.addon_schemas import SCHEMA_FOLDER
from multiarch.stack.load import PROJECT_FILE, STACKS_FOLDER
from multiarch.stack.yaml_source import YamlFile, parse_yaml_file, read_text

_WITHOUT_EFFECT = frozenset(
    [
        ".ci",
        ".dockerignore",
        ".editorconfig",
        ".github",
        ".gitignore",
        ".gitlab",
        ".gitlab-ci.yml",
        ".pre-commit-config.yaml",
        ".pre-commit-hooks.yaml",
        "Containerfile",
        "LICENSE",
        "Makefile",
        "benchmarks",
        "ci",
        "docs",
        "examples",
        "mkdocs.yml",
        "observability",
        "requirements-dev.lock",
        "requirements-dev.txt",
        "requirements-cli.lock",
        "requirements-cli.txt",
        "sandbox",
        "tests",
        "tools",
    ]
)
"""Files and folders at the top that the Pulumi program never reads."""
_UNREADABLE = "\0"
_SCHEMA = PurePosixPath("config", "stack.schema.json")
_ADDON_SCHEMAS = PurePosixPath(STACKS_FOLDER.as_posix(), SCHEMA_FOLDER)
"""They check what the stack files say, and change nothing of it."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that differs. ``path`` is relative to the project's folder. Strings are None where there is no such file.

    The strings are needed only of stack files and of ``Pulumi.yaml``.
    """

    path: str
    before: str | None = None
    after: str | None = None


def find_stack_name(path: str) -> str | None:
    """Return the name of the stack whose file this is, or None for any other file."""
    pure = PurePosixPath(path)
    is_stack = pure.parent == PurePosixPath(STACKS_FOLDER.as_posix()) and pure.suffix in {".yaml", ".yml"}
    return pure.stem.removeprefix("Pulumi.") if is_stack and pure.name.startswith("Pulumi.") else None


def list_affected(changes: Sequence[FileChange], stacks: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the stacks that the changes touch, sorted by name, and why: sentences without a full stop.

    ``stacks`` are those that are there now. A stack file or ``Pulumi.yaml`` counts if its values differ, not for
    comments or layout. What is not known to be without effect, ``Pulumi.yaml`` too, counts for all stacks.
    """
    program = [change.path for change in changes if _is_program(change.path)]
    project = any(
        change.path == PROJECT_FILE and not has_same_values(change.before or "", change.after or "")
        for change in changes
    )
    own = {find_stack_name(change.path): change for change in changes}
    found: dict[str, tuple[str, ...]] = {}
    for stack in sorted(stacks):
        reasons = []
        if (change := own.get(stack)) and (reason := _own_reason(change)):
            reasons.append(reason)
        if project:
            reasons.append(f"{PROJECT_FILE} changed")
        if program:
            more = f" and {len(program) - 1} more" if len(program) > 1 else ""
            reasons.append(f"{program[0]}{more} changed, which the program may read")
        if reasons:
            found[stack] = tuple(reasons)
    return found


def _is_program(path: str) -> bool:
    """Whether the Pulumi program may read the file. Stack files and ``Pulumi.yaml`` are looked at by themselves."""
    pure = PurePosixPath(path)
    if pure.parts[0] in _WITHOUT_EFFECT or path == PROJECT_FILE or find_stack_name(path) is not None:
        return False
    if pure == _SCHEMA or pure.is_relative_to(_ADDON_SCHEMAS) or "__pycache__" in pure.parts:
        return False
    return len(pure.parts) > 1 or pure.suffix != ".md"


def _own_reason(change: FileChange) -> str:
    if change.before is None:
        return f"{change.path} is new"
    return "" if has_same_values(change.before, change.after or "") else f"{change.path} changed"


def read_values(path: Path) -> str:
    """Return a stack file's text; where it can't be read, a string without values, because whoever loads it says why.

    It is a regular file of a bounded size, whatever a merge request links to.
    """
    try:
        return read_text(path)
    except StackError:
        return _UNREADABLE


def has_same_values(before: str, after: str) -> bool:
    """Return whether two texts of a YAML file have the same values, whatever their comments and layout.

    A string that is not readable is like no other, because whoever loads it says why.
    """
    old, new = _document(before, ""), _document(after, "")
    return old is not None and new is not None and _canonical(old.value) == _canonical(new.value)


def _document(text: str, file: str) -> YamlFile | None:
    """Return the file's values, or None if it is not readable; whoever loads it then says why."""
    try:
        return parse_yaml_file(text, file)
    except StackError:
        return None


def _canonical(value: Any) -> str:  # noqa: ANN401  (any YAML value)
    """Return the same text for the same values; 1, 1.0, true and "1" stay different."""
    return json.dumps(value, sort_keys=True, default=repr)
