"""Files to a Stack: read, merged with the organisation's defaults, validated, with the place of every value.

``config/stacks/Pulumi.TEAM-ENV.yaml`` is a team's. ``Pulumi.yaml`` holds the organisation's, in one key,
because the engine merges project-level configuration key by key and no deeper:

    config:
      multiarch-eks:defaults:
        value:
          owner: platform@example.com

The mapping is merged under the team's configuration as RFC 7386 says: mappings merge, anything else is replaced, and
a null inside of a mapping takes a default back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from multiarch.errors import KeyPath, MultiarchError, Problem, StackError
from multiarch.facts.partitions import explain_unknown_region, find_partition
from multiarch.files import read_bytes
from multiarch.frozen import dataclass
from multiarch.rules import Severity
from multiarch.schema.cluster import NEW_CLUSTER_KEYS
from multiarch.schema.stack import StackSpec
from multiarch.stack import schema_paths, wording, yaml_source
from multiarch.stack.engine_config import (
    AWS,
    DEFAULTS,
    NAMESPACE,
    REGION,
    ConfigLayer,
    format_scalar,
    read_project_layer,
    read_stack_layer,
)
from multiarch.stack.identity import OF_THE_ENVIRONMENT, AwsIdentity, read_identity
from multiarch.stack.origin import Origin, Place
from multiarch.stack.yaml_source import YamlFile

__all__ = ["Stack", "load_file", "merge_values"]

PROJECT_FILE = "Pulumi.yaml"
STACKS_FOLDER = Path("config", "stacks")
NAME_LIMIT = 40

_FILE_NAME = re.compile(r"Pulumi\.(?P<stack>.+)\.yaml")
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_FREE_TEXT = frozenset({"acknowledge", "configurationValues", "labels", "tags"})
_ARN = re.compile(r"arn:([a-z][a-z-]*):")
_OWN_NAME = re.compile(rb"^name:\s*[\"']?" + NAMESPACE.encode() + rb"[\"']?\s*(#|$)", re.MULTILINE)
# With one of these the value itself is already known to be wrong; what the schema says of it is noise.
_VALUE_FAULTS = {"date", "not-a-number", "octal-number", "secure-value", "template", "unknown-tag"}


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack as its team wrote it, validated, with the defaults merged in.

    ``name`` is ``TEAM-ENV``; ``region`` is ``aws:region``, or None where neither file says it (then it is the
    environment's business); ``identity`` is whose Pulumi uses for AWS; ``warnings`` did not reject the stack.
    ``addon_schemas`` are AWS's schemas of configuration values, by add-on, of those that were fetched.
    """

    name: str
    spec: StackSpec
    region: str | None
    origin: Origin
    warnings: tuple[Problem, ...] = ()
    identity: AwsIdentity = OF_THE_ENVIRONMENT
    addon_schemas: Mapping[str, Any] = field(default_factory=dict)


def name_fault(value: str) -> str | None:
    """Say why ``value`` can't be a team or an environment, or return None when it can."""
    if _NAME.fullmatch(value) and len(value) <= NAME_LIMIT:
        return None
    return f"Use lower-case letters, digits and hyphens, a letter first, no hyphen last, at most {NAME_LIMIT}."


def find_project_root(start: Path) -> Path:
    """Return the nearest folder at or above ``start`` that holds this project's ``Pulumi.yaml``.

    Raises MultiarchError when there is none, or when a file of that name can't be read.
    """
    folder = start.absolute()
    for candidate in (folder, *folder.parents):
        if _is_project(candidate / PROJECT_FILE):
            return candidate
    raise MultiarchError(
        f"There is no {PROJECT_FILE} of the project {NAMESPACE} in {folder} or above it.",
        hint="Run this in a clone of the project.",
    )


def _is_project(file: Path) -> bool:
    try:
        return file.is_file() and _OWN_NAME.search(read_bytes(file)) is not None
    except OSError as error:
        raise MultiarchError(f"{file} can't be read: {error.strerror or error}.") from error


def list_stack_files(root: Path) -> list[Path]:
    """Return every stack file of the project at ``root``, sorted.

    Also ``.yml``, and anything else with such a name (a folder, a pipe, a broken link): :func:`load_file` rejects them
    with an error.
    """
    folder = root / STACKS_FOLDER
    return sorted(path for path in folder.glob("Pulumi.*") if path.suffix in {".yaml", ".yml"})


def load_file(path: Path, *, project_file: Path | None = None, text: str | None = None) -> Stack:
    """Read a stack file as the engine would, without the engine.

    ``project_file`` is the ``Pulumi.yaml`` whose defaults count; by default the nearest one above ``path``, if any.
    ``text`` is the content of a file that need not exist yet. Raises StackError with every problem of the files.
    """
    named = _FILE_NAME.fullmatch(path.name)
    if project_file is None:
        project_file = next((p for folder in path.absolute().parents if (p := folder / PROJECT_FILE).is_file()), None)
    files = _read(path, project_file, text)
    if not named and not any(problem.rule == "unreadable-file" for problem in files.problems):
        message = f"{path.name} is not a stack file's name."
        files.problems.append(
            Problem("file-name", message, "They are called Pulumi.TEAM-ENV.yaml.", file=yaml_source.format_path(path))
        )
    return _validated(named["stack"] if named else path.stem, files.values, files.aws, files, path.parent)


def load_from_engine(name: str, config: Mapping[str, str], *, file: Path | None, project_file: Path | None) -> Stack:
    """Validate what the engine hands to the program: ``pulumi.runtime.config``'s strings, by full key.

    ``name`` is the stack's, without its organisation. The files only give the places of values; a value that is in
    neither has no place. Raises StackError as :func:`load_file` does.
    """
    files = _read(file, project_file)
    values = {key: _from_text(text) for key, text in _of_namespace(NAMESPACE, config)}
    return _validated(name, values, dict(_of_namespace(AWS, config)), files, file and file.parent)


def load_from_program(values: Mapping[str, Any], config: Mapping[str, str]) -> Stack:
    """Validate a stack that a program passes on as values, with the keys of a stack file; its name is ``TEAM-ENV``.

    ``config`` is the engine's, of which only what the AWS provider reads counts. Raises StackError; no problem has a
    file.
    """
    name = f"{values.get('team')}-{values.get('environment')}"
    return _validated(name, values, dict(_of_namespace(AWS, config)), _read(None, None))


def _of_namespace(namespace: str, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the texts of one namespace, by key without it."""
    for key, text in config.items():
        if key.startswith(f"{namespace}:"):
            yield key.removeprefix(f"{namespace}:"), text


def _from_text(text: str) -> Any:  # noqa: ANN401  (a mapping, a list or a string)
    """Undo the engine's encoding: mappings and lists are JSON, everything else is text."""
    if text.startswith(("{", "[")):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return value if isinstance(value, dict | list) else text
    return text


def _read(file: Path | None, project_file: Path | None, text: str | None = None) -> ConfigLayer:
    """Read what both files say together, as far as they are there; what is wrong with them is kept for later.

    ``text`` is the stack file's content, if it is not to be read from ``file``.
    """
    project, stack = _layer(project_file, read_project_layer), _layer(file, read_stack_layer, text)
    problems = [*project.problems, *stack.problems]
    if DEFAULTS in stack.written:
        message = f"{DEFAULTS} belongs to {PROJECT_FILE}, not to a stack file."
        problems.append(Origin(stack.file, stack.places).problem("defaults-in-stack", (DEFAULTS,), message))
    return replace(
        stack,
        written=project.written | stack.written,
        places={path: place for path, place in project.places.items() if path[0] not in stack.written} | stack.places,
        aws=project.aws | {key: value for key, value in stack.aws.items() if value not in (None, "")},
        problems=problems,
    )


def _layer(file: Path | None, make: Callable[[YamlFile], ConfigLayer], text: str | None = None) -> ConfigLayer:
    if file is None:
        return ConfigLayer(None)
    shown = yaml_source.format_path(file)
    try:
        return make(yaml_source.read_yaml_file(file) if text is None else yaml_source.parse_yaml_file(text, shown))
    except StackError as error:
        return ConfigLayer(shown, problems=list(error.problems))


def _validated(
    name: str, values: Mapping[str, Any], aws: Mapping[str, Any], files: ConfigLayer, folder: Path | None = None
) -> Stack:
    """Validate ``values``; ``folder`` is that of the stack's file, which may hold schemas of add-ons."""
    top = {key: value for key, value in values.items() if key != DEFAULTS}
    defaults = values.get(DEFAULTS, {})
    problems = list(files.problems)
    if not isinstance(defaults, dict):
        message = f"{DEFAULTS} is {wording.describe_value(defaults)}; it takes a mapping."
        hint = "Write the keys below `value:`."
        problems.append(Origin(files.file, files.places).problem("wrong-type", (DEFAULTS,), message, hint=hint))
        defaults = {}
    if isinstance(top.get("cluster"), dict):
        # The organisation's defaults for new clusters. The version is the cluster's own.
        defaults = {key: each for key, each in defaults.items() if key not in (*NEW_CLUSTER_KEYS, "kubernetesVersion")}
    merged = merge_values(defaults, top)
    # The engine may bring another value than the file holds (`pulumi up --config`), and makes text of every scalar.
    written = merged | {key: value for key, value in files.written.items() if format_scalar(value) == merged.get(key)}
    of_aws = {path: place for path, place in files.places.items() if str(path[0]).startswith(f"{AWS}:")}
    origin = Origin(files.file, dict(_places(merged, (), files.places)) | of_aws, written)
    region = str(format_scalar(aws["region"])) if "region" in aws else None
    identity = read_identity(aws, origin, problems)
    known = {problem.key for problem in problems if problem.rule in _VALUE_FAULTS}
    if region is not None and REGION not in known and (fault := explain_unknown_region(region)):
        message = f"{region!r} is not an AWS region."
        problems.append(origin.problem("region", (REGION,), message, hint=fault))
    problems.extend(_partition_problems(region, origin))
    spec = None
    if not files.misplaced and not any(problem.rule in {"not-a-stack-file", *_UNREAD} for problem in problems):
        spec = _spec(merged, origin, files, problems)
    if spec is not None:
        problems.extend(_name_problems(name, spec, origin))
        schemas = _read_schemas(folder, spec, origin, problems)
    if spec is None or any(problem.severity is Severity.ERROR for problem in problems):
        raise StackError(_in_order(problems))
    return Stack(name, spec, region, origin, tuple(_in_order(problems)), identity, schemas)


def _read_schemas(folder: Path | None, spec: StackSpec, origin: Origin, problems: list[Problem]) -> Mapping[str, Any]:
    if folder is None or not spec.addons.extra:
        return {}
    from multiarch.stack.addon_schemas import read_schemas  # noqa: PLC0415  (only the stacks that have some load it)

    try:
        return read_schemas(folder, spec.addons)
    except MultiarchError as error:
        problems.append(origin.problem("addon-schema", ("addons", "extra"), error.message, hint=error.hint))
        return {}


_UNREAD = ("endless-alias", "not-utf-8", "not-yaml", "several-documents", "too-many-values", "unreadable-file")


def _spec(merged: dict[str, Any], origin: Origin, files: ConfigLayer, problems: list[Problem]) -> StackSpec | None:
    """Validate; on failure add to ``problems`` and return None."""
    network = merged["network"] if isinstance(merged.get("network"), dict) else {}
    empty: dict[str, KeyPath] = {key: (key,) for key, value in merged.items() if value == ""}
    # Programs pass null for what they omit.
    nothing = ("", None) if files.file else ("",)
    empty |= {f"network.{key}": ("network", key) for key, value in network.items() if value in nothing}
    for path in empty.values():
        hint = "Give it a value." if schema_paths.is_required(path) else "Give it a value, or omit it."
        problems.append(origin.problem("empty-value", path, f"{path[-1]} is empty.", hint=hint))
    try:
        spec = StackSpec.model_validate(merged, by_alias=True, by_name=False)
    except ValidationError as error:
        known = {problem.key for problem in problems if problem.rule in _VALUE_FAULTS and problem.key}
        if files.top:  # the parent that a top-level key is missing from
            origin = replace(origin, places={**origin.places, (): files.top})
        for problem in wording.describe_problems(error.errors(include_url=False), origin):
            key = problem.key or ""
            if key not in empty and not _is_inside(key, known):
                problems.append(problem)
        return None
    return spec


def _is_inside(key: str, known: AbstractSet[str]) -> bool:
    """Return whether ``key``, or a key around it, is in ``known``: ``a``, ``a.b`` and ``a.b[0]`` are around itself."""
    ends = (end for end, character in enumerate(key) if character in ".[")
    return key in known or any(key[:end] in known for end in ends)


def merge_values(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge as RFC 7386 does, but keep a null that takes nothing back: the schema says what is wrong with it."""
    merged = dict(under)
    for key, value in over.items():
        if value is None and key in merged:
            del merged[key]
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = merge_values(merged[key], value)
        else:
            merged[key] = value
    return merged


def _places(value: Any, path: KeyPath, places: Mapping[KeyPath, Place]) -> Iterator[tuple[KeyPath, Place]]:  # noqa: ANN401
    """Yield the place of everything in ``value``: the team's if they wrote it, else the default's."""
    place = places.get(path) or places.get((DEFAULTS, *path))
    if path and place:
        yield path, place
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in pairs:
        yield from _places(inner, (*path, part), places)


def _name_problems(name: str, spec: StackSpec, origin: Origin) -> Iterator[Problem]:
    faulty = False
    for key, value in (("team", spec.team), ("environment", spec.environment)):
        if hint := name_fault(value):
            faulty = True
            message = f"{value!r} can't be part of names."
            yield origin.problem("name", (key,), message, hint=hint)
    named = f"{spec.team}-{spec.environment}"
    if named != name and not faulty:
        message = f"The stack is called {name}, but team and environment make {named}."
        hint = f"Call the file Pulumi.{named}.yaml, or change team or environment."
        yield origin.problem("stack-name", ("team",), message, hint=hint)


def _partition_problems(region: str | None, origin: Origin) -> Iterator[Problem]:
    """Yield a problem for each ARN of another partition than the region's, free text aside: no service takes it."""
    if (partition := find_partition(region or "")) is None:
        return
    for path in origin.places:
        value = origin.value(path) if _FREE_TEXT.isdisjoint(path) else None
        if isinstance(value, str) and (found := _ARN.match(value)) and found[1] != partition.name:
            message = f"{value} is of the partition {found[1]}; {region} is in {partition.name}."
            yield origin.problem("arn-partition", path, message)


def _in_order(problems: list[Problem]) -> list[Problem]:
    once = {(problem.rule, problem.file, problem.line, problem.key, problem.message): problem for problem in problems}
    return sorted(once.values(), key=lambda p: (p.file or "", p.line or 0, p.key or "", p.rule))
