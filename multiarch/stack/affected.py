"""Which stacks a change touches: by their own files, the organisation's defaults, and the program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from multiarch.errors import StackError
from multiarch.stack.load import PROJECT_FILE, STACKS_FOLDER
from multiarch.stack.yaml_source import YamlFile, parse_yaml_file

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
        "requirements-dev.txt",
        "requirements-webhook.lock",
        "requirements-webhook.txt",
        "sandbox",
        "tests",
        "tools",
    ]
)
"""Files and folders at the top that the Pulumi program never reads."""
_COMMANDS_ONLY = frozenset(
    [
        "audit",
        "capacity",
        "cli",
        "comments.py",
        "cost",
        "git.py",
        "images",
        "kubernetes",
        "observed",
        "prices",
        "program.py",
        "registry",
        "report",
        "review",
        "simulate",
        "ssm",
        "verify",
        "webhook",
    ]
)
"""What of ``multiarch/`` only commands import, never the Pulumi program."""
_SCHEMA = PurePosixPath("config", "stack.schema.json")
_REBALANCE = PurePosixPath("multiarch", "rebalance")
"""Of this folder, the program reads only the folder ``install``."""


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
    """Return those of ``stacks`` that the changes touch, sorted by name, and why: sentences without a full stop.

    A stack file or ``Pulumi.yaml`` counts if its values differ, not for comments or layout. ``Pulumi.yaml``, and a file
    that is not known to be without effect, count for all stacks.
    """
    program = [change.path for change in changes if _is_program(change.path)]
    project = _file_reason(next((change for change in changes if change.path == PROJECT_FILE), None))
    own = {find_stack_name(change.path): change for change in changes}
    found: dict[str, tuple[str, ...]] = {}
    for stack in sorted(stacks):
        reasons = [reason for reason in (_file_reason(own.get(stack)), project) if reason]
        if program:
            more = f" and {len(program) - 1} more" if len(program) > 1 else ""
            reasons.append(f"{program[0]}{more} changed, which the program may read")
        if reasons:
            found[stack] = tuple(reasons)
    return found


def _is_program(path: str) -> bool:
    """Whether the Pulumi program may read the file. Stack files and ``Pulumi.yaml`` are looked at by themselves."""
    pure = PurePosixPath(path)
    top, second = pure.parts[0], pure.parts[1] if len(pure.parts) > 1 else ""
    if top in _WITHOUT_EFFECT or path == PROJECT_FILE or pure == _SCHEMA or find_stack_name(path) is not None:
        return False
    if (len(pure.parts) == 1 and pure.suffix == ".md") or "__pycache__" in pure.parts:
        return False
    if pure.is_relative_to(_REBALANCE):
        return pure.is_relative_to(_REBALANCE / "install") or pure == _REBALANCE / "__init__.py"
    return not (top == "multiarch" and second in _COMMANDS_ONLY)


def _file_reason(change: FileChange | None) -> str:
    """Return why a change of a stack file or of ``Pulumi.yaml`` counts; empty if it does not."""
    if change is None:
        return ""
    if change.before is None:
        return f"{change.path} is new"
    return "" if has_same_values(change.before, change.after or "") else f"{change.path} changed"


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
