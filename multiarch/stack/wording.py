"""Pydantic's errors as problems in plain words, one per fault, with what was written and the way out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic_core import ErrorDetails

from multiarch.errors import KeyPath, Problem
from multiarch.facts.autoscalers import KARPENTER_CHART
from multiarch.schema.base import Section
from multiarch.schema.stack import StackSpec
from multiarch.stack.origin import Origin
from multiarch.stack.schema_paths import descriptions, elsewhere, fields, model_at, nearest

_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping: keys with values below it",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a mapping: keys with values below it",
    "string_type": "a text",
}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_UNQUOTED = {"bool_type": re.compile("true|false"), "float_type": _NUMBER, "int_type": re.compile(r"-?\d+")}
_NO_COLON = re.compile(r"([\w.-]+):?\s*(\S.*)")
_QUOTED = re.compile(r"'([^']*)'")
_DID_YOU_MEAN = re.compile(r"Did you mean (\S+)\?")
_SHOWN_TEXT_LIMIT = 60
_TOO_DEEP = "It is indented one level too deep"
_REGIONS = ("region", "awsregion", "awsdefaultregion")
_MOST_SUGGESTIONS = 100
"""Of more unknown keys than these, the meant ones are not searched: that takes most of the time of a check."""
_AUTOSCALING: KeyPath = ("autoscaling",)
EXAMPLES: Mapping[KeyPath, str] = MappingProxyType(
    {
        _AUTOSCALING: "Write {use: karpenter} or {use: cluster-autoscaler}",
        (*_AUTOSCALING, "karpenter", "version"): f"Write MAJOR.MINOR.PATCH, such as {KARPENTER_CHART}",
    }
)
"""The way out where a value of the right type, made of what was written, would be refused as well."""


@dataclass(frozen=True, slots=True)
class _Document:
    """What was written: where each value stands, and the model that it should be."""

    origin: Origin
    root: type[Section]

    @property
    def is_stack(self) -> bool:
        return self.root is StackSpec

    def model_at(self, path: KeyPath) -> type[Section] | None:
        return model_at(path, self.root)


def problems(
    errors: Sequence[ErrorDetails],
    value: Any,  # noqa: ANN401  (any YAML value)
    origin: Origin,
    written: Mapping[str, Any],
    root: type[Section] = StackSpec,
) -> list[Problem]:
    """Turn the errors of validating ``value`` as a ``root`` into problems, in no particular order.

    ``written`` holds top-level values as they stand in the file, before the engine made text of them.
    """
    document = _Document(origin, root)
    by_path: dict[KeyPath, list[ErrorDetails]] = {}
    unknown = [error for error in errors if error["type"] == "extra_forbidden"]
    for error in unknown[_MOST_SUGGESTIONS:]:
        error["ctx"] = {"suggest": False}
    for error in errors:
        path = _union(error["loc"], value)
        if len(path) == 1 and path[0] in written:
            error["input"] = written[str(path[0])]
        by_path.setdefault(path, []).append(error)
    found = [problem for path, group in by_path.items() for problem in _of_group(path, group, value, document)]
    # A key that is only misspelled is not missing too, nor is one that is a level too deep.
    meant = {_sibling(problem.key, near) for problem in found if (near := _DID_YOU_MEAN.fullmatch(problem.hint))}
    around = {_parent(problem.key) for problem in found if problem.hint.startswith(_TOO_DEEP)}
    return [
        problem
        for problem in found
        if problem.rule != "missing-key" or (problem.key not in meant and _parent(problem.key) not in around)
    ]


def _parent(key: str | None) -> str:
    return (key or "").rpartition(".")[0]


def _sibling(key: str | None, near: re.Match[str]) -> str:
    return f"{head}.{near[1]}" if (head := _parent(key)) else near[1]


def described(value: Any) -> str:  # noqa: ANN401  (any YAML value)
    """Describe a value: ``the text 'a'``, ``the number 3``, ``a list``."""
    match value:
        case None | "":
            return "empty"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            short = value if len(value) <= _SHOWN_TEXT_LIMIT else f"{value[:_SHOWN_TEXT_LIMIT]}…"
            return f"the text {short!r}"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _union(location: tuple[int | str, ...], value: Any) -> KeyPath:  # noqa: ANN401
    """The path up to which ``location`` follows what was written.

    Behind it stand the names of a union's members, or a key that is missing.
    """
    path: list[int | str] = []
    for part in location:
        inside = isinstance(value, dict) and part in value
        if not inside and not (isinstance(value, list) and isinstance(part, int) and part < len(value)):
            break
        value = value[part]
        path.append(part)
    return tuple(path)


def _of_group(path: KeyPath, group: list[ErrorDetails], value: Any, document: _Document) -> Iterator[Problem]:  # noqa: ANN401
    """Word what stops at one path: missing keys below it, faults of the value, complaints of a union's members."""
    for error in group:
        if error["type"] == "missing":
            yield _missing((*path, str(error["loc"][-1])), document)
    others = [error for error in group if error["type"] != "missing"]
    members = [error for error in others if len(error["loc"]) > len(path)]
    if not members:
        yield from (_of_value(path, error["type"], error, document) for error in others)
        return
    # A member that takes this kind of value knows better what is wrong than one that takes another kind.
    fitting = [error for error in members if error["type"] not in _EXPECTED or len(error["loc"]) > len(path) + 1]
    if fitting:
        for error in fitting:
            yield _of_value((*path, *error["loc"][len(path) + 1 :]), error["type"], error, document)
        return
    expected = " or ".join(dict.fromkeys(_EXPECTED[error["type"]] for error in members))
    yield _wrong_type(path, _at(path, value), expected, members[0]["type"], document)


def _at(path: KeyPath, value: Any) -> Any:  # noqa: ANN401
    for part in path:
        value = value[part]
    return value


def _of_value(path: KeyPath, kind: str, error: ErrorDetails, document: _Document) -> Problem:
    written, context = error["input"], error.get("ctx", {})
    if kind in _EXPECTED:
        return _wrong_type(path, written, _EXPECTED[kind], kind, document)
    if kind == "extra_forbidden":
        message, hint = _unknown_key(path, written, document, suggest=context.get("suggest", True))
        return document.origin.problem("unknown-key", path, message, hint=hint, value=written)
    if special := _SPECIAL.get(kind):
        rule, message, hint = special(path, written, context)
        return document.origin.problem(rule, path, message, hint=hint, value=written)
    return document.origin.problem(
        "not-valid", path, f"{described(written)} is not valid: {error['msg']}.", value=written
    )


def _missing(path: KeyPath, document: _Document) -> Problem:
    model = document.model_at(path[:-1])
    meaning = descriptions(model).get(str(path[-1]), "") if model else ""
    meaning = " ".join(meaning.replace("``", "").split())
    return document.origin.problem("missing-key", path, f"{path[-1]} is missing.", hint=meaning)


def _wrong_type(path: KeyPath, written: Any, expected: str, kind: str, document: _Document) -> Problem:  # noqa: ANN401
    key = _key(path)
    if written is None or written == "":
        message, hint = f"{key} is empty.", f"It takes {expected}; give it one, or leave the line out."
        return document.origin.problem("empty-value", path, message, hint=hint, value=written)
    message = f"{key} is {described(written)}; it takes {expected}."
    if path in EXAMPLES:
        hint = f"{EXAMPLES[path]}."
    else:
        hint = (
            _mapping_hint(path, written, document) if kind in {"dict_type", "model_type"} else _type_hint(written, kind)
        )
    return document.origin.problem("wrong-type", path, message, hint=hint, value=written)


def _mapping_hint(path: KeyPath, written: Any, document: _Document) -> str:  # noqa: ANN401
    """For a key of a node group or a pool where its name belongs, and for a line without a colon."""
    model = document.model_at(path)
    if model is not None and document.model_at(path[:-1]) is None and path[-1] in fields(model):
        return f"{path[-1]} belongs below a name: {path[-2]}: {{NAME: {{{path[-1]}: …}}}}."
    found = _NO_COLON.fullmatch(written) if isinstance(written, str) else None
    return f"Is a colon missing? Write `{found[1]}: {found[2]}`." if found else ""


def _type_hint(written: Any, kind: str) -> str:  # noqa: ANN401
    match kind, written:
        case "string_type", bool() | int() | float():
            return f'Write it in quotes: "{json.dumps(written)}".'
        case "int_type" | "bool_type" | "float_type", str() if _UNQUOTED[kind].fullmatch(written.lower()):
            return "Write it without quotes."
        case "int_type" | "float_type", _:
            return "Write a number, such as 4."
        case "list_type", str():
            dashed = written.startswith("-")
            return "Write a space after each dash." if dashed else f"Write it as a list: [{written}]."
        case "string_type", dict():
            return _taint_hint(written)
    return ""


def _taint_hint(written: dict[str, Any]) -> str:
    """For a taint as Kubernetes' manifests spell it, and for one that a space after the colon made a mapping."""
    if {"key", "effect"} <= written.keys():
        value = f"={written['value']}" if written.get("value") else ""
        return f'Write "{written["key"]}{value}:{written["effect"]}".'
    if len(written) == 1:
        ((key, value),) = written.items()
        return f'Write "{key}:{value}", in quotes and without a space.'
    return ""


def _unknown_key(path: KeyPath, written: Any, document: _Document, *, suggest: bool) -> tuple[str, str]:  # noqa: ANN401
    """The message and the hint for an unknown key."""
    key = str(path[-1])
    if document.is_stack and _is_region(key, written):
        return f"{key} is unknown here: the region is a key of the AWS provider.", "Write aws:region."
    message = f"{key} is unknown here."
    if document.is_stack and key in {"arch", "architecture"}:
        return message, "It follows from instanceTypes; leave the line out."
    return message, _key_hint(path, written, document, suggest=suggest)


def _key_hint(path: KeyPath, written: Any, document: _Document, *, suggest: bool) -> str:  # noqa: ANN401
    """What was meant by an unknown key, or which keys are known."""
    key, model = str(path[-1]), document.model_at(path[:-1])
    known = list(fields(model)) if model else []
    if isinstance(written, dict) and len(path) > 1 and sum(each in known for each in written) * 2 > len(written):
        return f"{_TOO_DEEP}: its keys are those of {path[-2]}. Begin it in the column of {path[-2]}."
    if suggest and len(path) == 1 and (home := _home(written, document)):
        return f"Its keys are those of an entry of {home}. Indent it below {home}."
    if suggest and (near := nearest(key, known)):
        return f"Did you mean {near}?"
    if found := elsewhere(key, document.root):
        return f"It belongs to {' or '.join(found)}."
    if written in (None, "") and path[:-2] and document.model_at(path[:-2]) is None:
        return f"If it is a name such as {path[-2]}, begin it in the column of {path[-2]}."
    return f"Known here: {', '.join(known)}."


def _is_region(key: str, written: Any) -> bool:  # noqa: ANN401
    """Whether a key is the region in another spelling, or holds it as ``aws: {region: …}`` does."""
    if key.lower() == "aws":
        return isinstance(written, dict) and "region" in written
    return re.sub(r"[-_. ]", "", key).lower() in _REGIONS


def _home(written: Any, document: _Document) -> str | None:  # noqa: ANN401
    """The section whose entries have most of the keys that were written at the top, if any has more than half."""
    if not isinstance(written, dict):
        return None
    counts = {
        section: sum(key in fields(entry) for key in written)
        for section in fields(document.root)
        if document.model_at((section,)) is None and (entry := document.model_at((section, "NAME")))
    }
    if not counts:
        return None
    best = max(counts, key=lambda section: counts[section])
    return best if counts[best] * 2 > len(written) else None


def _not_allowed(path: KeyPath, written: Any, context: Any) -> tuple[str, str, str]:  # noqa: ANN401
    expected = str(context["expected"])
    words = _QUOTED.findall(expected)
    if not words:
        return _not_allowed_number(path, written, expected)
    near = nearest(written, words) if isinstance(written, str) else None
    ordered = sorted(words, key=lambda word: word != near)
    hint = f"Did you mean {near}? Allowed: " if near else "Allowed: "
    state = "is empty" if written in (None, "") else f"can't be {described(written)}"
    return "not-allowed", f"{_key(path)} {state}.", f"{hint}{', '.join(ordered)}."


def _not_allowed_number(path: KeyPath, written: Any, expected: str) -> tuple[str, str, str]:  # noqa: ANN401
    numbers = [int(number) for number in re.findall(r"\d+", expected)]
    state = "is empty" if written in (None, "") else f"can't be {described(written)}"
    is_number = isinstance(written, int | float) and not isinstance(written, bool)
    near = min(numbers, key=lambda number: abs(number - written)) if is_number else None
    hint = "" if near is None else f"The nearest allowed number is {near}. "
    return "not-allowed", f"{_key(path)} {state}.", f"{hint}Allowed: {', '.join(map(str, numbers))}."


def _bound(word: str, name: str) -> Callable[[KeyPath, Any, Any], tuple[str, str, str]]:
    def worded(path: KeyPath, written: Any, context: Any) -> tuple[str, str, str]:  # noqa: ANN401
        limit = context[name]
        message = f"{_key(path)} is {written}; it must be at {word} {limit}."
        return "out-of-range", message, f"Write {limit} or {'more' if word == 'least' else 'less'}."

    return worded


def _length(word: str, name: str) -> Callable[[KeyPath, Any, Any], tuple[str, str, str]]:
    def worded(path: KeyPath, written: Any, context: Any) -> tuple[str, str, str]:  # noqa: ANN401
        count = len(written)
        state = "is an empty list" if count == 0 else f"has {count} items"
        return "wrong-length", f"{_key(path)} {state}.", f"Name at {word} {context[name]}."

    return worded


_SPECIAL: dict[str, Callable[[KeyPath, Any, Any], tuple[str, str, str]]] = {
    "greater_than_equal": _bound("least", "ge"),
    "less_than_equal": _bound("most", "le"),
    "literal_error": _not_allowed,
    "too_long": _length("most", "max_length"),
    "too_short": _length("least", "min_length"),
    "value_error": lambda path, written, context: ("not-valid", f"{context['error']}.", ""),  # noqa: ARG005
}


def _key(path: KeyPath) -> str:
    """The last key of a path with the indices behind it: ``instanceTypes[0]``."""
    keys = [index for index, part in enumerate(path) if isinstance(part, str)]
    start = keys[-1] if keys else 0
    return "".join(f"[{part}]" if isinstance(part, int) else str(part) for part in path[start:])
