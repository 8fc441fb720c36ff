"""Broken stacks, made from the shipped ones: each mutation is sure to be wrong, and knows the key it broke."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multiarch.errors import KeyPath
from multiarch.stack.origin import dotted
from multiarch.stack.schema_paths import fields, model_at
from multiarch.stack.yaml_source import read

PREFIX = "multiarch-eks:"
# Whatever the schema takes somewhere, it does not take this.
_JUNK: tuple[tuple[str, Any], ...] = (
    ("a-mapping", {"no-such-key": {"nor-this": {}}}),
    ("a-list-in-a-list", [["x"]]),
    ("a-fraction", -0.5),
)


@dataclass(frozen=True)
class Broken:
    """One broken stack: ``key`` is named among its problems; a text that is no YAML at all has none."""

    name: str
    stack: str
    text: str
    key: str = ""


def all_broken(folder: Path) -> list[Broken]:
    """Every mutation of every stack in ``folder``, in the same order each time."""
    broken = []
    for file in sorted(folder.glob("Pulumi.*.yaml")):
        stack, text = file.name.removeprefix("Pulumi.").removesuffix(".yaml"), file.read_text()
        words = {key.removeprefix(PREFIX): value for key, value in read(file).value["config"].items()}
        broken += [Broken(f"{stack}:{name}", stack, _text(mutant), key) for name, mutant, key in _of_values(words)]
        broken += [Broken(f"{stack}:{name}", stack, mutant) for name, mutant in _of_text(text)]
    return broken


def _text(words: dict[str, Any]) -> str:
    """JSON is YAML; one top-level key per line, so that lines mean something."""
    pairs = [
        f"  {json.dumps(key if ':' in key else PREFIX + key)}: {json.dumps(value)}" for key, value in words.items()
    ]
    return "\n".join(["config:", *pairs, ""])


def _of_values(words: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    for path in _paths(words, ()):
        model, key = model_at(path[:-1]), path[-1]
        if ":" in str(path[0]):
            continue
        if model is not None:
            renamed = (*path[:-1], f"{key}Zz")
            yield f"rename {dotted(path)}", _moved(words, path, renamed), dotted(renamed)
            if fields(model)[str(key)].is_required():
                yield f"delete {dotted(path)}", _moved(words, path, None), dotted(path)
        for name, junk in _JUNK:
            if (len(path), junk) != (1, -0.5) or isinstance(_at(words, path), dict | list):
                yield f"{name} as {dotted(path)}", _set(words, path, junk), dotted(path)
        if model_at(path) is not None:
            yield f"add to {dotted(path)}", _set(words, (*path, "colour"), "red"), dotted((*path, "colour"))


def _of_text(text: str) -> Iterator[tuple[str, str]]:
    lines = text.splitlines()
    yield "empty", ""
    yield "a list", "- a\n"
    yield "a word", "stack\n"
    yield "two documents", f"{text}---\n{text}"
    yield "twice the same", text + text
    yield "a tab", text.replace("\n    ", "\n\t", 1)
    yield "a brace", f"{text}\n  x: {{"
    yield "a quote", text.replace(': "', ": '", 1)
    yield "an unknown alias", f"{text}\n  multiarch-eks:tags: *nowhere\n"
    yield "a control character", f"{text}\x07"
    yield "a tag", text.replace("zones: ", "zones: !!python/object:os.system ", 1)
    yield "another top", text.replace("config:", "configuration:", 1)
    for number in range(len(lines) // 3, len(lines), len(lines) // 4):
        yield f"line {number} outdented", "\n".join([*lines[:number], "x y", *lines[number:]])


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:  # noqa: ANN401
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in pairs:
        yield from _paths(inner, (*path, part))


def _at(value: Any, path: KeyPath) -> Any:  # noqa: ANN401
    for part in path:
        value = value[part]
    return value


def _set(words: dict[str, Any], path: KeyPath, new: Any) -> dict[str, Any]:  # noqa: ANN401
    mutant = copy.deepcopy(words)
    _at(mutant, path[:-1])[path[-1]] = new
    return mutant


def _moved(words: dict[str, Any], path: KeyPath, to: KeyPath | None) -> dict[str, Any]:
    mutant = copy.deepcopy(words)
    value = _at(mutant, path[:-1]).pop(path[-1])
    if to is not None:
        _at(mutant, to[:-1])[to[-1]] = value
    return mutant
