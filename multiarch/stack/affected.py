"""Which stacks a change touches: by their own files, the organisation's defaults, and the program."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from multiarch.errors import StackError
from multiarch.stack.addon_schemas import SCHEMA_FOLDER
from multiarch.stack.engine_config import DEFAULTS, NAMESPACE, read_project_layer, read_stack_layer
from multiarch.stack.load import PROJECT_FILE, STACKS_FOLDER, merge_values
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


def list_affected(changes: Sequence[FileChange], stacks: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the stacks that the changes touch, sorted by name, and why: sentences without a full stop.

    ``stacks`` has the text of each stack file that is there now. A stack file or ``Pulumi.yaml`` counts if its
    values differ, not for comments or layout. ``Pulumi.yaml`` counts for the stacks whose values it changes. A file
    that is not known to be without effect counts for all stacks.
    """
    program = [change.path for change in changes if _is_program(change.path)]
    project = next((change for change in changes if change.path == PROJECT_FILE), None)
    own = {find_stack_name(change.path): change for change in changes}
    found: dict[str, tuple[str, ...]] = {}
    for stack in sorted(stacks):
        reasons = []
        if (change := own.get(stack)) and (reason := _own_reason(change)):
            reasons.append(reason)
        if project and (reason := _project_reason(project, stacks[stack])):
            reasons.append(reason)
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


def _project_reason(change: FileChange, stack: str) -> str:
    """Return why a change of ``Pulumi.yaml`` touches a stack with this string; empty if it does not."""
    reason = f"{PROJECT_FILE} changed"
    before, after = (_document(text or "", PROJECT_FILE) for text in (change.before, change.after))
    own = _document(stack, "")
    if before is None or after is None or own is None:
        return reason
    return reason if _seen(before, own) != _seen(after, own) else ""


def _seen(project: YamlFile, stack: YamlFile) -> str:
    """Return everything of ``Pulumi.yaml`` that reaches a stack."""
    of_project, of_stack_ = read_project_layer(project), read_stack_layer(stack)
    values = {key: value for key, value in of_project.values.items() if key not in of_stack_.values}
    defaults = values.pop(DEFAULTS, {})
    top = project.value if isinstance(project.value, dict) else {"": project.value}
    written = _config(stack)
    foreign = {key: value for key, value in _config(project).items() if key not in written and not _is_ours(key)}
    merged = merge_values(defaults, of_stack_.values) if isinstance(defaults, dict) else defaults
    return _canonical([{key: value for key, value in top.items() if key != "config"}, values, merged, foreign])


def _config(document: YamlFile) -> Mapping[Any, Any]:
    config = document.value.get("config") if isinstance(document.value, dict) else None
    return config if isinstance(config, dict) else {}


def _is_ours(key: str) -> bool:
    namespace, colon, _ = str(key).partition(":")
    return not colon or namespace == NAMESPACE


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
