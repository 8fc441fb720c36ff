"""The generated parts of the documents.

A part stands between ``<!-- NAME -->`` and ``<!-- end -->``; ``GENERATED`` maps the names to what they hold.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from typer.core import TyperGroup

from multiarch.cli import main
from multiarch.cli.application import build_application
from multiarch.review.noise import FILTERS, OF_WARNINGS
from multiarch.rules import REVIEW_TOPICS, SECTIONS
from multiarch.schema.nodes import InstanceTypesByArchitecture, MultiArchitectureGroup, NodeGroup
from multiarch.schema.stack import StackSpec
from multiarch.stack.json_schema import build_stack_file_schema
from multiarch.stack.schema_paths import list_fields
from multiarch.verify.nodes.rules import RULES
from tools.generate import ROOT
from tools.generate.metrics import metric_families

_PACKAGES = 4
"""Packages that a contract's row names; the others are counted."""
WORKFLOWS = ROOT / ".github" / "workflows"
REUSABLE = ("audits", "drift", "image", "review", "up")
"""Workflows that other repositories call."""


def list_documents() -> list[Path]:
    """Return every document of the project."""
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").rglob("*.md")),
        ROOT / "sandbox" / "README.md",
        ROOT / "tests" / "README.md",
    ]


def load_workflow(name: str) -> dict[str, Any]:
    """Read a workflow by its file's name. The key ``on`` is a string: YAML 1.1 has it as a truth value."""
    content: dict[Any, Any] = yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in content.items()}


@functools.cache
def help_text(command: str) -> str:
    """Return what a command prints with ``--help`` in a plain terminal of 80 columns."""
    printed = io.StringIO()
    plain = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    with mock.patch.dict(os.environ, plain), contextlib.redirect_stdout(printed):
        main([*command.split()[1:], "--help"])
    return printed.getvalue()


def help_texts() -> str:
    """Return a section for each command with its help text, in the order of ``multiarch --help``."""
    parts = []
    for words, _ in _commands():
        command = " ".join(words)
        parts.append(f"### {command}\n\n```text\n$ {command} --help\n{help_text(command).rstrip()}\n```\n")
    return "\n" + "\n".join(parts) + "\n"


def command_table() -> str:
    """Return a row for each command: what it does, which is the first paragraph of its help text."""
    rows = []
    for words, text in _commands():
        if text is not None:
            summary = " ".join(text.split("\n\n")[0].split())
            rows.append((f"[`{' '.join(words)}`](#{'-'.join(words)})", summary))
    return _table(("Command", "What it does"), rows)


def _commands() -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield each command and group of commands, with its help text; None for a group."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str | None]]:  # noqa: ANN401
        group = isinstance(command, TyperGroup)
        yield words, None if group else str(command.help)
        for name, inner in command.commands.items() if group else ():
            yield from walk(inner, (*words, name))

    yield from walk(build_application(), ("multiarch",))


def all_keys() -> str:
    """Return every key of a stack file, a table for each mapping."""
    parts = []
    for title, name in _sections("StackSpec", ""):
        rows = [
            (f"`{key}`", _meaning(key, schema), _takes(schema), _default(name, key, schema))
            for key, schema in _definition(name)["properties"].items()
            if name != _PAIR or schema != _definition(_SINGLE)["properties"].get(key)
        ]
        note = "The keys of `nodeGroups.NAME` without `amiType`, except for these:\n\n" if name == _PAIR else ""
        parts.append(f"## {title}\n\n{note}{_table(('Key', 'Meaning', 'Takes', 'Default'), rows)}")
    return "\n" + "\n".join(parts) + "\n"


def rules() -> str:
    """Return the rules of ``stack check``, a table for each section."""
    parts = []
    for title, rows in SECTIONS.items():
        cells = [(f"`{row.name}`", str(row.severity), row.finds, row.fix) for row in rows]
        parts.append(f"## {title}\n\n{_table(('Rule', 'Severity', 'Rejects', 'Fix'), cells)}")
    return "\n" + "\n".join(parts) + "\n"


def node_rules() -> str:
    """Return the rules of ``verify nodes``."""
    rows = [(f"`{row.name}`", str(row.severity), row.finds, row.fix) for row in RULES.values()]
    return "\n" + _table(("Rule", "Severity", "Finds", "Fix"), rows) + "\n"


def review_rules() -> str:
    """Return the rules of ``review``, by topic."""
    rows = [
        (f"`{rule.name}`", topic.lower(), rule.risk.name.lower(), rule.finds, rule.fix)
        for topic, rules in REVIEW_TOPICS.items()
        for rule in rules
    ]
    return "\n" + _table(("Rule", "Topic", "Risk", "Finds", "Check"), rows) + "\n"


def noise_filters() -> str:
    """Return what ``review`` omits."""
    rows = [(f"`{each.name}`", each.reason) for each in (*FILTERS, *OF_WARNINGS)]
    return "\n" + _table(("Filter", "What it omits"), rows) + "\n"


def webhook_metrics() -> str:
    """Return the metrics of the webhook."""
    rows = []
    for family in sorted(metric_families(), key=lambda family: family.name):
        if family.name.startswith("multiarch_webhook"):  # without those of every Python process
            labels = dict.fromkeys(f"`{label}`" for each in family.samples for label in each.labels if label != "le")
            name = f"{family.name}_total" if family.type == "counter" else family.name
            rows.append((f"`{name}`", family.type, ", ".join(labels), family.documentation))
    return "\n" + _table(("Metric", "Type", "Labels", "Meaning"), rows) + "\n"


def import_contracts() -> str:
    """Return a row for each contract of import-linter: what it holds for, and its layers or what it forbids."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    rows = []
    for each in tables:
        packages = each.get("containers") or each["source_modules"]
        below = each.get("layers") or [f"not {name}" for name in each["forbidden_modules"]]
        named = ", ".join(f"`{name}`" for name in packages[:_PACKAGES])
        more = f" and {len(packages) - _PACKAGES} more" if len(packages) > _PACKAGES else ""
        rows.append((each["name"], named + more, "; ".join(below).replace(" | ", ", ")))
    return "\n" + _table(("Contract", "Packages", "Layers from the top, or what is not imported"), rows) + "\n"


def workflow_inputs(name: str) -> str:
    """Return the inputs and secrets of a reusable workflow of GitHub."""
    call = load_workflow(f"{name}.yml")["on"]["workflow_call"]
    rows = [(f"`{key}`", row["description"], row["type"], _value(row)) for key, row in call["inputs"].items()]
    rows += [(f"`{key}`", row["description"], "secret", "–") for key, row in call.get("secrets", {}).items()]
    return "\n" + _table((f"Input of `{name}.yml`", "Meaning", "Type", "Default"), rows) + "\n"


def template_inputs(name: str) -> str:
    """Return the inputs of a template of GitLab."""
    header = next(yaml.safe_load_all((ROOT / "ci" / "gitlab" / f"{name}.yml").read_text(encoding="utf-8")))
    rows = [
        (f"`{key}`", row["description"].strip(), row.get("type", "string"), _template_default(row))
        for key, row in header["spec"]["inputs"].items()
    ]
    return "\n" + _table((f"Input of `{name}.yml`", "Meaning", "Type", "Default"), rows) + "\n"


def _template_default(row: Mapping[str, Any]) -> str:
    if isinstance(row["default"], str) and "@sha256:" in row["default"]:
        return f"`{row['default'].partition('@')[0]}`, by digest"
    if isinstance(row["default"], list):
        return ", ".join(_template_default({"default": each}) for each in row["default"])
    if isinstance(row["default"], dict):
        return " on ".join(f"`{each}`" for each in row["default"].values())
    return _value({"type": row.get("type", "string"), **row})


def _value(row: Mapping[str, Any]) -> str:
    if row.get("required"):
        return "required"
    text = str(row["default"]).lower() if row["type"] == "boolean" else str(row["default"])
    return f"`{text}`" if text else "–"


_SINGLE, _PAIR = "NodeGroup", "MultiArchitectureGroup"
_MODELS = {
    model.__name__: model for model in (StackSpec, NodeGroup, MultiArchitectureGroup, InstanceTypesByArchitecture)
}
_DEFAULT = re.compile(r" ?Default: (?P<value>.+?)\.(?= [A-Z]|$)")
GENERATED: Mapping[str, Callable[[], str]] = {
    "commands": command_table,
    "contracts": import_contracts,
    **{f"github-inputs {name}": functools.partial(workflow_inputs, name) for name in REUSABLE},
    **{f"gitlab-inputs {name}": functools.partial(template_inputs, name) for name in ("stacks", "audits", "image")},
    "help": help_texts,
    "keys": all_keys,
    "node-rules": node_rules,
    "noise-filters": noise_filters,
    "review-rules": review_rules,
    "rules": rules,
    "webhook-metrics": webhook_metrics,
}
_NAMES = "|".join(map(re.escape, GENERATED))
_GENERATED = re.compile(rf"(?P<begin><!-- (?P<name>{_NAMES}) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


def _definition(name: str) -> dict[str, Any]:
    definition: dict[str, Any] = _definitions()[name]
    return definition


@functools.cache
def _definitions() -> dict[str, Any]:
    definitions: dict[str, Any] = build_stack_file_schema()["$defs"]
    return definitions


def _reference(schema: Any) -> str | None:  # noqa: ANN401  (JSON Schema: a mapping or a flag)
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    return str(reference).rpartition("/")[2] if reference else None


def _sections(name: str, title: str) -> Iterator[tuple[str, str]]:
    """Yield title and definition of each mapping, depth first; one that stands in two places comes once."""
    done: set[str] = set()

    def walk(name: str, path: str) -> Iterator[tuple[str, str]]:
        if name in done:
            return
        done.add(name)
        yield f"`{path}`" if path else "At the top", name
        for key, schema in _definition(name)["properties"].items():
            below = f"{path}.{key}" if path else key
            if inner := _reference(schema):
                yield from walk(inner, below)
            elif inner := _reference(_values(schema)):
                yield from walk(inner, f"{below}.NAME")
            elif inner := _reference(schema.get("items")):
                yield from walk(inner, f"{below}[]")

    yield from walk(name, title)


def _values(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401  (JSON Schema: a mapping or a flag)
    """Return the schema of a mapping's values, whatever its keys may be called."""
    return next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties") or {})


def _takes(schema: Mapping[str, Any]) -> str:
    if options := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(_takes(option) for option in options if option != {"enum": ["true", "false"]}))
    if words := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return ", ".join(f"`{value}`" if isinstance(value, str) else str(value) for value in words)
    kind = schema.get("type")
    if kind == "array":
        inner = schema.get("items", {})
        return f"list of {_takes(inner)}" if "enum" in inner else "list"
    more = _values(schema)
    if kind == "object" and more is not True and not _reference(more) and more.get("type") != "object":
        what = "lists" if more.get("type") == "array" else "strings"
        names = schema.get("propertyNames", {}).get("enum", ())
        return f"map of {what}{' by ' if names else ''}{', '.join(f'`{name}`' for name in names)}"
    if kind in ("integer", "number"):
        low, high = schema.get("minimum"), schema.get("maximum")
        return f"{low} to {high}" if high is not None else f"number, {low} or more" if low is not None else "number"
    return {"boolean": "true, false", "string": "text"}.get(str(kind), "mapping")


def _default(name: str, key: str, schema: Mapping[str, Any]) -> str:
    model = _MODELS.get(name)
    if model and list_fields(model)[key].is_required():
        return "must be given"
    value = schema.get("default")
    if value is None and (told := _DEFAULT.search(str(schema.get("description") or ""))):
        return told["value"]
    if value is None or value in ({}, []):
        return ""
    if isinstance(value, list):
        return ", ".join(f"`{item}`" for item in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _meaning(key: str, schema: Mapping[str, Any]) -> str:
    text = str(schema.get("description") or "")
    if not text and (inner := _reference(schema)):
        text = str(_definition(inner).get("description") or "")
    if not text:
        raise ValueError(f"{key} has no description")
    return _DEFAULT.sub("", text).replace("|", "\\|")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def renewed(text: str) -> str:
    """Return a document's text with the parts that are made from the code as they are now."""

    def part(match: re.Match[str]) -> str:
        return f"{match['begin']}{GENERATED[match['name']]()}{match['end']}"

    return _GENERATED.sub(part, text)


def files() -> dict[Path, str]:
    """Return the text of each document, with its generated parts as they are now."""
    return {document: renewed(document.read_text(encoding="utf-8")) for document in list_documents()}
