"""Manifest files, folders and standard input, read as kubectl would apply them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from multiarch.errors import MultiarchError
from multiarch.files import MANIFESTS, STANDARD_INPUT, STANDARD_INPUT_NAME, read_input
from multiarch.kubernetes.source import LoadedObject, Source
from multiarch.manifests.values import name_yaml_type
from multiarch.yaml_text.json_text import DuplicateKeyError, read_json_documents

SUFFIXES = (".yaml", ".yml", ".json")
_NOT_AN_OBJECT = (
    "A Kubernetes object has apiVersion and kind. Pass rendered manifests: `helm template` and "
    "`kubectl kustomize` render charts and kustomizations."
)
_RENDER = "This looks like a Helm template: render it first with `helm template`."
_TEMPLATE = re.compile(r"\{\{-?\s*(\.(Values|Release|Chart|Capabilities|Files)\b|(include|template|tpl|toYaml)\s)")
_HOLD_TEMPLATES = frozenset(("ConfigMap", "Secret", "CustomResourceDefinition"))


def read_manifests(paths: Iterable[str | Path], *, stdin: str | None = None) -> Iterator[LoadedObject]:
    """Yield the objects of files, in their order; ``List`` objects are unpacked, empty documents skipped.

    Of a folder all files below it are read that end in .yaml, .yml or .json, sorted by path, without hidden files and
    folders and links to folders. ``-`` is standard input (``stdin`` in its place, if given). A file may hold
    several YAML or JSON documents; a JSON array counts as its elements.

    Raises MultiarchError, naming file, document and line, for what can't be read, is neither YAML nor JSON, is not
    a Kubernetes object, or is a Helm template.
    """
    seen_stdin = False
    for path in paths:
        if str(path) == STANDARD_INPUT:
            if seen_stdin:
                raise MultiarchError("Standard input (-) can only be read once.")
            seen_stdin = True
            yield from read_objects(
                read_input(STANDARD_INPUT, MANIFESTS) if stdin is None else stdin, STANDARD_INPUT_NAME
            )
            continue
        for file in find_files(Path(path)):
            yield from read_objects(read_input(file, MANIFESTS), str(file))


def read_objects(text: str, where: str) -> Iterator[LoadedObject]:
    """Yield the objects of one string like :func:`read_manifests`; ``where`` names it in errors."""
    suspicious = "{{" in text
    for source, value, lines in _documents(text.removeprefix("\ufeff"), where):
        if value is None:
            continue
        for found in _unpacked(value, source, lines):
            if suspicious and found.value["kind"] not in _HOLD_TEMPLATES and _is_template(found.value):
                raise MultiarchError(f"{found.source}: {found.value['kind']} contains {{{{ … }}}}.", hint=_RENDER)
            yield found


def find_files(path: Path) -> Iterator[Path]:
    """Yield a file, or the manifests below a folder. Raises MultiarchError for a folder without any."""
    if not path.is_dir():
        yield path
        return
    found = False
    for folder, folders, names in os.walk(path, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                found = True
                yield Path(folder, name)
    if not found:
        raise MultiarchError(
            f"{path} contains no manifests.", hint=f"Files that end in {', '.join(SUFFIXES)} are read."
        )


def _unreadable(error: OSError) -> None:
    raise MultiarchError(f"{error.filename} can't be read: {error.strerror or error}.") from error


def _documents(text: str, where: str) -> Iterator[tuple[Source, object, tuple[int, ...]]]:
    """Yield each document, with its place and the lines of a list's items."""
    if text.lstrip().startswith(("{", "[")):
        try:
            found = [
                each for value in read_json_documents(text) for each in (value if isinstance(value, list) else [value])
            ]
        except DuplicateKeyError as error:
            raise MultiarchError(f"{where}: {error}.") from error
        except RecursionError as error:
            raise MultiarchError(f"{where}: nested too deeply.") from error
        except ValueError:
            # Flow-style YAML starts like JSON, and its reader says better what is wrong.
            pass
        else:
            for number, value in enumerate(found, start=1):
                yield Source(where, number), value, ()
            return
    yield from _yaml_documents(text, where)


def _yaml_documents(text: str, where: str) -> Iterator[tuple[Source, object, tuple[int, ...]]]:
    from multiarch.yaml_text.events import YamlError  # noqa: PLC0415 # JSON alone needs no libyaml
    from multiarch.yaml_text.reader import read_documents  # noqa: PLC0415 # as above

    number = 0
    try:
        for document in read_documents(text):
            number = document.number
            yield Source(where, number, document.line), document.value, document.items
    except YamlError as error:
        source = Source(where, number + 1, error.fault.line)
        hint = _RENDER if "{{" in text else error.fault.hint
        raise MultiarchError(f"{source}: {error.fault.message}.", hint=hint) from error


def _unpacked(
    value: object, source: Source, lines: tuple[int, ...] = (), parent: Mapping[str, Any] | None = None
) -> Iterator[LoadedObject]:
    if not isinstance(value, dict):
        fault = f"{source} is {name_yaml_type(value)}, not a Kubernetes object."
        raise MultiarchError(fault, hint=_NOT_AN_OBJECT)
    kind = value.get("kind")
    if kind is None and parent is not None and parent["kind"] != "List":
        # The items of a typed list, such as PodList, may omit their kind.
        value = {"apiVersion": parent.get("apiVersion"), "kind": parent["kind"].removesuffix("List"), **value}
        kind = value["kind"]
    if not isinstance(kind, str) or not kind:
        raise MultiarchError(f"{source}: has no kind.", hint=_NOT_AN_OBJECT)
    items = value.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        yield LoadedObject(value, source)
        return
    for index, item in enumerate(items):
        line = lines[index] if index < len(lines) else source.line
        yield from _unpacked(item, Source(source.where, source.document, line, index + 1), parent=value)


def _is_template(value: object) -> bool:
    try:
        return _TEMPLATE.search(re.sub(r"\\[nrt]", " ", repr(value))) is not None
    except RecursionError:
        return False
