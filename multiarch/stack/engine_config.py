"""What the Pulumi engine makes of a stack file and ``Pulumi.yaml``, without the engine.

Seen with the engine itself (``pulumi config --json``): keys without a namespace belong to the project's; scalars at
the top arrive as text (``true`` as ``"true"``, ``1.30`` as ``"1.3"``), an empty value as ``""``; values inside
mappings and lists keep their types; ``config`` in ``Pulumi.yaml`` counts key by key, where the stack file has no such
key. Writing a stack file, the engine sorts bare keys under the namespace and loses the comments between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from multiarch.errors import KeyPath, Problem
from multiarch.frozen import dataclass
from multiarch.schema.stack import StackSpec
from multiarch.stack.origin import Place, format_key
from multiarch.stack.schema_paths import find_nearest, list_fields
from multiarch.stack.yaml_source import YamlFile

NAMESPACE = "multiarch-eks"
DEFAULTS = "defaults"
"""The key of ``Pulumi.yaml`` that holds organisation-wide defaults; see :mod:`multiarch.stack.load`."""
AWS = "aws"
"""The namespace of the AWS provider's settings."""
REGION = f"{AWS}:region"

# https://www.pulumi.com/docs/iac/concepts/projects/stack-settings-reference/
_STACK_FILE_KEYS = ("config", "encryptedkey", "encryptionsalt", "environment", "secretsprovider")
_DECLARATION_KEYS = {"type", "description", "items", "default", "value", "secret"}
_DEFAULTS_DEPTH = 3  # config, multiarch-eks:defaults, value


_NEARLY = 0.75


@dataclass(slots=True)
class ConfigLayer:
    """What one file, or both say: values by key of our namespace, as they were ``written``.

    ``places`` counts from the stack's top; ``aws`` are the AWS provider's settings, without the namespace; ``top`` is
    the place of ``config``; ``misplaced`` says that there are keys, but no ``config``.
    """

    file: str | None
    written: dict[str, Any] = field(default_factory=dict)
    places: dict[KeyPath, Place] = field(default_factory=dict)
    aws: dict[str, Any] = field(default_factory=dict)
    top: Place | None = None
    misplaced: bool = False
    problems: list[Problem] = field(default_factory=list)

    @property
    def values(self) -> dict[str, Any]:
        """The values as the engine hands them over."""
        return {key: format_scalar(value) for key, value in self.written.items()}


def read_stack_layer(document: YamlFile) -> ConfigLayer:
    """Read a stack file's ``config``. What is wrong goes to the layer's problems, an ``environment`` as a warning."""
    layer = ConfigLayer(document.file)
    _take_faults(document, layer)
    if not isinstance(document.value, dict):
        what = "is empty" if document.value is None else "has no keys at the top"
        hint = f"It begins with `config:`, and below it {NAMESPACE}:team and so on; `multiarch stack new` writes one."
        layer.problems.append(Problem("not-a-stack-file", f"The file {what}.", hint, file=document.file))
        return layer
    unknown = [key for key in document.value if key not in _STACK_FILE_KEYS]
    layer.misplaced = bool(unknown) and "config" not in document.value
    for key in unknown:
        near = find_nearest(key, _STACK_FILE_KEYS)
        hint = f"Did you mean {near}?" if near else "Put it below `config:`."
        layer.problems.append(_at(document, (key,), "unknown-key", f"{key} is not a key of a stack file.", hint))
    if document.value.get("environment"):
        message = "Values that Pulumi imports from an ESC environment are not seen without the engine."
        hint = "This check knows this file and Pulumi.yaml only."
        layer.problems.append(_at(document, ("environment",), "esc-environment", message, hint))
    _take_config(document, layer, _stack_entries(document.value.get("config")))
    return layer


def read_project_layer(document: YamlFile) -> ConfigLayer:
    """Read ``config`` of ``Pulumi.yaml``: ``{value: …}``, ``{default: …}`` and plain scalars or lists."""
    layer = ConfigLayer(document.file)
    _take_faults(document, layer)
    if not isinstance(document.value, dict):
        layer.problems.append(Problem("not-a-project", "The file has no keys at the top.", file=document.file))
        return layer
    if (name := document.value.get("name")) != NAMESPACE:
        message = f"The project is called {name}, and keys without a namespace belong to it."
        hint = f"Call it {NAMESPACE}: that is where this program looks."
        layer.problems.append(_at(document, ("name",), "project-name", message, hint))
    _take_config(document, layer, _project_entries(document.value.get("config")))
    return layer


def format_scalar(value: Any) -> Any:  # noqa: ANN401  (any YAML value)
    """Return a top-level value as the engine hands it over: scalars as text, mappings and lists as they are."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else value


Entry = tuple[str, Any, KeyPath]
"""One key of ``config``, its value, and what leads from the key to the value inside of the file."""


def _stack_entries(config: Any) -> Iterator[Entry]:  # noqa: ANN401
    if isinstance(config, dict):
        yield from ((key, value, ()) for key, value in config.items())


def _project_entries(config: Any) -> Iterator[Entry]:  # noqa: ANN401
    for key, declared, _ in _stack_entries(config):
        if not isinstance(declared, dict) or not declared.keys() <= _DECLARATION_KEYS:
            yield key, declared, ()
        elif found := [each for each in ("value", "default") if each in declared]:
            yield key, declared[found[0]], (found[0],)


def _take_faults(document: YamlFile, layer: ConfigLayer) -> None:
    for fault in document.faults:
        file, line = document.file, fault.line
        layer.problems.append(
            Problem(fault.rule, fault.sentence, fault.hint, file=file, line=line, key=_shown_key(fault.path) or None)
        )


def _take_config(document: YamlFile, layer: ConfigLayer, entries: Iterator[Entry]) -> None:
    config = document.value.get("config")
    if "config" in document.value:
        layer.top = Place(document.file, document.lines["config",])
    if config is not None and not isinstance(config, dict):
        message, hint = "config holds no keys.", "Write keys with their values below it."
        layer.problems.append(_at(document, ("config",), "wrong-type", message, hint))
    for key, value, inner in entries:
        written = ("config", key)
        namespace, name = _split(key)
        if namespace != NAMESPACE:
            if namespace == AWS:
                layer.aws[name] = value
                _take_places(document, layer, f"{AWS}:{name}", (*written, *inner))
            if f"{namespace}:{name}" != REGION and (meant := _meant(namespace, name)):
                message = f"{key} is read by nothing."
                layer.problems.append(_at(document, written, "misspelled-key", message, f"Did you mean {meant}?"))
            continue
        if name in layer.written:
            message = f"{name} is there twice, with and without the prefix {NAMESPACE}:."
            layer.problems.append(_at(document, written, "duplicate-key", message, "Keep one of the two."))
            continue
        layer.written[name] = value
        _take_places(document, layer, name, (*written, *inner))
        _reject_secrets(document, layer, value, written)


def _take_places(document: YamlFile, layer: ConfigLayer, key: str, start: KeyPath) -> None:
    """Keep the places of ``key`` and of everything in its value, which begins at ``start``."""
    layer.places[key,] = Place(document.file, document.lines[start[:2]])
    for path, line in document.lines.items():
        if path[: len(start)] == start and len(path) > len(start):
            layer.places[(key, *path[len(start) :])] = Place(document.file, line)


def _meant(namespace: str, name: str) -> str | None:
    """Return the key that was probably meant where a namespace, or ``region`` in AWS's, is nearly right.

    Pulumi passes keys of any namespace through, so that a misspelled key would be ignored silently.
    """
    from difflib import get_close_matches  # noqa: PLC0415  (few keys are of another namespace)

    if get_close_matches(namespace.lower().replace("_", "-"), [NAMESPACE], cutoff=_NEARLY):
        known = [*list_fields(StackSpec), DEFAULTS]
        return f"{NAMESPACE}:{name if name in known else find_nearest(name, known) or name}"
    if namespace.lower() == AWS and get_close_matches(name.lower(), ["region"], cutoff=_NEARLY):
        return REGION
    return None


def _split(key: str) -> tuple[str, str]:
    """Take ``namespace:name`` apart; the engine also takes ``namespace:config:name``."""
    namespace, colon, name = key.partition(":")
    return (namespace, name.removeprefix("config:")) if colon else (NAMESPACE, key)


def _reject_secrets(document: YamlFile, layer: ConfigLayer, value: Any, path: KeyPath) -> None:  # noqa: ANN401
    if isinstance(value, Mapping):
        if value.keys() == {"secure"}:
            message = "The value is encrypted; nothing in a stack is a secret."
            layer.problems.append(_at(document, path, "secure-value", message, "Write the value itself."))
        for key, inner in value.items():
            _reject_secrets(document, layer, inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _reject_secrets(document, layer, inner, (*path, index))


def _at(document: YamlFile, path: KeyPath, rule: str, message: str, hint: str) -> Problem:
    line = next((document.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in document.lines), None)
    return Problem(rule, message, hint, file=document.file, line=line, key=_shown_key(path))


def _shown_key(path: KeyPath) -> str:
    """Name a value as teams know it: ``nodeGroups.api`` for ``config``, ``multiarch-eks:nodeGroups``, ``api``."""
    if path[:1] != ("config",) or len(path) == 1:
        return format_key(path)
    namespace, name = _split(str(path[1]))
    if (namespace, name) == (NAMESPACE, DEFAULTS) and len(path) > _DEFAULTS_DEPTH:
        return format_key(path[_DEFAULTS_DEPTH:])
    return format_key((name if namespace == NAMESPACE else str(path[1]), *path[2:]))
