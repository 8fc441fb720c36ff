"""Pydantic's errors as problems in plain words, one per fault, with what was written and the fix."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pydantic_core import ErrorDetails

from multiarch.errors import KeyPath, Problem
from multiarch.facts.addons import add_on, add_ons
from multiarch.facts.auto_mode import NOT_GIVEN
from multiarch.frozen import dataclass
from multiarch.schema.addons import Addons
from multiarch.schema.autoscaling import AutoMode, AutoModeNodePool
from multiarch.schema.base import FORMS, Section
from multiarch.schema.stack import StackSpec
from multiarch.stack.origin import Origin
from multiarch.stack.schema_paths import (
    find_elsewhere,
    find_model,
    find_nearest,
    is_required,
    list_fields,
    read_descriptions,
)

_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping: keys with values below it",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a mapping: keys with values below it",
    "string_too_short": "a string",
    "string_type": "a string",
}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_UNQUOTED = {"bool_type": re.compile("true|false"), "float_type": _NUMBER, "int_type": re.compile(r"-?\d+")}
_FLAGS = {"on": "true", "yes": "true", "off": "false", "no": "false"}
"""What other YAML takes for true and false."""
_QUOTED = re.compile(r"'([^']*)'")
_SHOWN_TEXT_LIMIT = 60
_BELONGS = {
    "arch": "It follows from instanceTypes; omit it.",
    "architecture": "It follows from instanceTypes; omit it.",
    "aws": "Write aws:region: the region is a key of the AWS provider.",
    "policies": "IAM policies of nodes are iam.nodePolicies, those of an add-on addons.extra.NAME.policies; "
    "EKS access policies are access.entries.NAME.policies.",
    "region": "Write aws:region: the region is a key of the AWS provider.",
    "subnets": "Those of an existing VPC are network.privateSubnets, those of an existing cluster's new nodes "
    "cluster.subnets; a group of nodes has zones.",
}
"""What to do about keys of a stack that people bring from elsewhere."""
_NO_EVENTS = "Remove it: the webhook's log and metrics say why a pod is left alone, and with annotate the pod itself."
_REASON = "Write the name of a warning's rule with your reason, such as ami-not-pinned: a test cluster."


@dataclass(frozen=True, slots=True)
class _Document:
    """What was written: where each value stands, and the model that it should be."""

    origin: Origin
    root: type[Section]


def describe_problems(errors: Sequence[ErrorDetails], origin: Origin, root: type[Section] = StackSpec) -> list[Problem]:
    """Turn the errors of validating the values of ``origin`` as a ``root`` into problems, in no particular order."""
    document = _Document(origin, root)
    by_path: dict[KeyPath, list[ErrorDetails]] = {}
    for error in errors:
        by_path.setdefault(_union(error["loc"], origin.values), []).append(error)
    return [problem for path, group in by_path.items() for problem in _of_group(path, group, document)]


def describe_value(value: Any) -> str:  # noqa: ANN401  (any YAML value)
    """Describe a value: ``the string 'a'``, ``the number 3``, ``a list``."""
    match value:
        case None | "":
            return "empty"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            short = value if len(value) <= _SHOWN_TEXT_LIMIT else f"{value[:_SHOWN_TEXT_LIMIT]}…"
            return f"the string {short!r}"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _union(location: tuple[int | str, ...], value: Any) -> KeyPath:  # noqa: ANN401
    """Return the path up to which ``location`` follows what was written.

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


def _of_group(path: KeyPath, group: list[ErrorDetails], document: _Document) -> Iterator[Problem]:
    """Word what stops at one path: missing keys below it, faults of the value, complaints of a union's members."""
    for error in group:
        if error["type"] == "missing":
            yield _missing((*path, str(error["loc"][-1])), document)
    others = [error for error in group if error["type"] != "missing"]
    members = [error for error in others if len(error["loc"]) > len(path)]
    if not members:
        yield from (_of_value(path, error, document) for error in others)
        return
    # A member that takes this kind of value knows better what is wrong than one that takes another kind.
    fitting = [error for error in members if error["type"] not in _EXPECTED or len(error["loc"]) > len(path) + 1]
    if fitting:
        for error in fitting:
            yield _of_value((*path, *error["loc"][len(path) + 1 :]), error, document)
        return
    expected = " or ".join(dict.fromkeys(_EXPECTED[error["type"]] for error in members))
    yield _wrong_type(path, expected, members[0]["type"], document)


def _of_value(path: KeyPath, error: ErrorDetails, document: _Document) -> Problem:
    kind, written = error["type"], document.origin.value(path)
    if kind in _EXPECTED:
        return _wrong_type(path, _EXPECTED[kind], kind, document)
    if error["loc"][-1] == "[key]":
        rule, message, hint = _wrong_name(str(path[-1]), error["ctx"])
    elif kind == "extra_forbidden":
        rule, message, hint = "unknown-key", f"{path[-1]} is unknown here.", _unknown_key(path, document)
    elif special := _SPECIAL.get(kind):
        rule, message, hint = special(path, written, error.get("ctx", {}))
    else:
        rule, message, hint = "not-valid", f"{describe_value(written)} is not valid: {error['msg']}.", ""
    return document.origin.problem(rule, path, message, hint=hint)


def _wrong_name(name: str, context: Any) -> tuple[str, str, str]:  # noqa: ANN401
    """Word a key of a mapping: one that is not in a list, or has another form."""
    if "pattern" in context:
        return "not-valid", f"{name!r} is not a valid key.", f"Write {FORMS[context['pattern']]}."
    known = _QUOTED.findall(str(context["expected"]))
    near = find_nearest(name, known)
    return "unknown-key", f"{name} is unknown here.", f"Did you mean {near}?" if near else f"Known: {', '.join(known)}."


def _missing(path: KeyPath, document: _Document) -> Problem:
    model = find_model(path[:-1], document.root)
    meaning = read_descriptions(model).get(str(path[-1]), "") if model else ""
    meaning = " ".join(meaning.replace("``", "").split())
    if meaning:
        meaning = f"Add it: {meaning if meaning[:2].isupper() else meaning[0].lower() + meaning[1:]}"
    return document.origin.problem("missing-key", path, f"{path[-1]} is missing.", hint=meaning)


def _wrong_type(path: KeyPath, expected: str, kind: str, document: _Document) -> Problem:
    key, written = _key(path), document.origin.value(path)
    reason = _REASON if document.root is StackSpec and path[:1] == ("acknowledge",) else ""
    if written is None or written == "":
        hint = (
            reason or f"It takes {expected}; give it one{'' if is_required(path, document.root) else ', or omit it'}."
        )
        return document.origin.problem("empty-value", path, f"{key} is empty.", hint=hint)
    message = f"{key} is {describe_value(written)}; it takes {expected}."
    return document.origin.problem("wrong-type", path, message, hint=reason or _type_hint(path, kind, document))


def _type_hint(path: KeyPath, kind: str, document: _Document) -> str:
    match kind, document.origin.value(path):
        case "bool_type", str() as written if written.lower() in _FLAGS:
            return f"Write {_FLAGS[written.lower()]}."
        case "model_type", written if model := find_model(path, document.root):
            if isinstance(written, bool) and "enabled" in list_fields(model):
                return f"Write {{enabled: {describe_value(written)}}}."
            return f"Write a mapping of its keys: {', '.join(list_fields(model))}."
        case "dict_type", _:
            return "Write a mapping: {KEY: VALUE}."
        case "list_type", (str() | dict()) as written:
            return f"Write it as a list: [{written if isinstance(written, str) else '{…}'}]."
    return _scalar_hint(document.origin.value(path), kind)


def _scalar_hint(written: Any, kind: str) -> str:  # noqa: ANN401
    match kind, written:
        case "string_type", bool() | int() | float():
            return f'Write it in quotes: "{json.dumps(written)}".'
        case "int_type" | "bool_type" | "float_type", str() if _UNQUOTED[kind].fullmatch(written.lower()):
            return "Write it without quotes."
        case "int_type" | "float_type", _:
            return "Write a number, without a unit."
        case "string_type", [str() as item, *_]:
            return f"Write one string, without brackets: {item}."
        case "string_type", dict():
            return 'Write a string in quotes; a taint is KEY=VALUE:EFFECT, as in "dedicated=batch:NoSchedule".'
    return ""


def _unknown_key(path: KeyPath, document: _Document) -> str:
    """Return the hint for an unknown key: what was meant, or which keys are known."""
    key, model = str(path[-1]), find_model(path[:-1], document.root)
    if document.root is StackSpec and key in _BELONGS:
        return _BELONGS[key]
    if model and model.__name__ == "WebhookConfiguration" and key == "events":
        return _NO_EVENTS
    if model in (AutoMode, AutoModeNodePool) and key in NOT_GIVEN:
        return NOT_GIVEN[key]
    known = list(list_fields(model)) if model else []
    found = find_elsewhere(key, document.root)
    own = add_on(key).key if model is Addons and key in add_ons() else None
    if near := own or (find_nearest(key, known, 1) if found else find_nearest(key, known)):
        return f"Did you mean {near}?"
    if found:
        below = " or ".join(each for each in found if each != key)
        return f"It belongs {' or '.join([f'to {below}'] * bool(below) + ['at the top level'] * (key in found))}."
    more = f" Other EKS add-ons belong to addons.extra: {{extra: {{{key}: {{}}}}}}." if model is Addons else ""
    return f"Known here: {', '.join(known)}.{more}"


def _not_allowed(path: KeyPath, written: Any, context: Any) -> tuple[str, str, str]:  # noqa: ANN401
    expected = str(context["expected"])
    words = _QUOTED.findall(expected) or re.findall(r"\d+", expected)
    near = find_nearest(written, words) if isinstance(written, str) else None
    hint = f"Did you mean {near}? Allowed: " if near else "Allowed: "
    state = "is empty" if written in (None, "") else f"can't be {describe_value(written)}"
    return "not-allowed", f"{_key(path)} {state}.", f"{hint}{', '.join(sorted(words, key=lambda word: word != near))}."


def _out_of_range(path: KeyPath, written: Any, context: Any) -> tuple[str, str, str]:  # noqa: ANN401
    word, way, limit = ("least", "more", context["ge"]) if "ge" in context else ("most", "less", context["le"])
    message = f"{_key(path)} is {written}; it must be at {word} {limit}."
    return "out-of-range", message, f"Write {limit} or {way}."


def _wrong_form(path: KeyPath, written: Any, context: Any) -> tuple[str, str, str]:  # noqa: ANN401
    return "not-valid", f"{_key(path)} is {describe_value(written)}; it takes {FORMS[context['pattern']]}.", ""


def _wrong_length(path: KeyPath, written: Any, context: Any) -> tuple[str, str, str]:  # noqa: ANN401
    word, limit = ("least", context["min_length"]) if "min_length" in context else ("most", context["max_length"])
    state = f"has {len(written)} items" if written else "is an empty list"
    return "wrong-length", f"{_key(path)} {state}.", f"Name at {word} {limit}."


def _wrong_value(path: KeyPath, written: Any, context: Any) -> tuple[str, str, str]:  # noqa: ANN401, ARG001
    fault = str(context["error"])
    return "not-valid", f"{fault}.", "Remove one of them." if fault.endswith("is named twice") else ""


_SPECIAL: dict[str, Callable[[KeyPath, Any, Any], tuple[str, str, str]]] = {
    "greater_than_equal": _out_of_range,
    "less_than_equal": _out_of_range,
    "literal_error": _not_allowed,
    "string_pattern_mismatch": _wrong_form,
    "too_long": _wrong_length,
    "too_short": _wrong_length,
    "value_error": _wrong_value,
}


def _key(path: KeyPath) -> str:
    """Return the last key of a path with the indices behind it: ``instanceTypes[0]``."""
    keys = [index for index, part in enumerate(path) if isinstance(part, str)]
    start = keys[-1] if keys else 0
    return "".join(f"[{part}]" if isinstance(part, int) else str(part) for part in path[start:])
