"""The documents: their fenced blocks, links and tables, and those parts that are made from the code.

Markers are HTML comments, so that a reader does not see them:

- ``<!-- edit: FILE: OLD => NEW -->`` changes a file for the block that follows, and for that block alone. ``…`` in OLD
  stands for whatever lies between: the text behind the last ``…`` is what NEW replaces.
- ``<!-- engine: COMMAND -->`` before a block: what the sandbox prints for that command.
- ``<!-- NAME -->`` … ``<!-- end -->``: a part made from the code. ``python -m tests.documents`` writes all of them.

In quoted output a line ``…`` stands for any lines, and ``…`` within a line for any text.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multiarch.stack.json_schema import stack_file_schema
from multiarch.stack.schema.nodes import InstanceTypesByArchitecture, MultiArchitectureGroup, NodeGroup
from multiarch.stack.schema.stack import StackWords
from multiarch.stack.schema_paths import fields

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DAY = "1795219200"
"""2026-11-21, in seconds: support dates count as of that day, whenever the tests run."""
HELP_FOR = (
    (),
    ("stack",),
    ("stack", "new"),
    ("stack", "list"),
    ("stack", "check"),
    ("stack", "explain"),
    ("stack", "render"),
    ("stack", "pin"),
    ("stack", "schema"),
    ("simulate",),
    ("facts", "refresh"),
    ("image", "inspect"),
    ("image", "verify"),
    ("audit", "images"),
    ("audit", "daemonsets"),
    ("audit", "workloads"),
    ("workload", "patch"),
)

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_MARKER = re.compile(r"<!-- (?P<text>.*?) -->")
_GENERATED = re.compile(r"(?P<begin><!-- (?P<name>help|keys: \w+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, the line it begins in, and the markers directly before it."""

    language: str
    text: str
    line: int
    markers: tuple[str, ...]

    def marked(self, name: str) -> list[str]:
        """What stands behind ``name:`` in the block's markers."""
        return [marker.removeprefix(f"{name}: ") for marker in self.markers if marker.startswith(f"{name}: ")]


def documents() -> list[Path]:
    """Every document of the project."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "sandbox" / "README.md"]


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        lines = text[: match.start()].rstrip("\n").split("\n")
        markers: list[str] = []
        while lines and (marker := _MARKER.fullmatch(lines[-1])):
            markers.insert(0, marker["text"])
            lines.pop()
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match["language"], match["text"], line, tuple(markers)))
    return found


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and the output quoted below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def matches(quoted: str, real: str) -> bool:
    """Whether ``real`` is what is quoted. Spaces at lines' ends don't count, and neither do empty lines."""
    pattern = ""
    for line in filter(str.strip, quoted.splitlines()):
        pattern += "(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + "\n"
    text = "".join(f"{line.rstrip()}\n" for line in real.splitlines() if line.strip())
    return re.fullmatch(pattern, text) is not None


def edited(text: str, change: str) -> str:
    """Return ``text`` with one change made, ``OLD => NEW``."""
    old, arrow, new = change.partition(" => ")
    assert arrow, change
    *before, last = old.split(" … ")
    start = 0
    for part in before:
        start = text.index(part, start)
    at = text.index(last, start)
    return text[:at] + new + text[at + len(last) :]


def environment() -> dict[str, str]:
    """As in a plain terminal of 80 columns, on a fixed day, with the virtual environment's programs first."""
    here = str(Path(sys.executable).parent)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PULUMI_"))}
    path = os.pathsep.join([here, os.environ.get("PATH", os.defpath)])
    return kept | {"COLUMNS": "80", "NO_COLOR": "1", "PATH": path, "SOURCE_DATE_EPOCH": DAY, "TERM": "dumb"}


def ran(command: str, folder: Path) -> str:
    """What a command prints in ``folder``, standard output and error as they come."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


# -- parts that are made from the code ---------------------------------------------------------------------------------


def help_texts() -> str:
    """The commands' help texts, as fenced blocks."""
    parts = []
    for words in HELP_FOR:
        command = " ".join(("multiarch", *words, "--help"))
        parts.append(f"```text\n$ {command}\n{ran(command, ROOT).rstrip()}\n```\n")
    return "\n" + "\n".join(parts) + "\n"


def top_keys() -> str:
    """The stack's keys, one line each."""
    rows = [
        (f"`{name}`", _meaning(name, schema), _default("StackWords", name, schema))
        for name, schema in _definition("StackWords")["properties"].items()
    ]
    return _table(("Key", "Meaning", "Default"), rows)


def all_keys() -> str:
    """Every key of a stack file, a table for each mapping."""
    parts = []
    for title, name in _sections("StackWords", ""):
        rows = [
            (f"`{key}`", _takes(schema), _default(name, key, schema), _meaning(key, schema))
            for key, schema in _definition(name)["properties"].items()
            if name != _PAIR or schema != _definition(_SINGLE)["properties"].get(key)
        ]
        note = "The keys of `nodeGroups.NAME` without `amiType`; these two are others.\n\n" if name == _PAIR else ""
        parts.append(f"### {title}\n\n{note}{_table(('Key', 'Takes', 'Default', 'Meaning'), rows)}")
    return "\n" + "\n".join(parts) + "\n"


_SINGLE, _PAIR = "NodeGroup", "MultiArchitectureGroup"
_MODELS = {
    model.__name__: model for model in (StackWords, NodeGroup, MultiArchitectureGroup, InstanceTypesByArchitecture)
}
_DEFAULT = re.compile(r" ?Default: (?P<value>.+?)\.(?= [A-Z]|$)")
GENERATED: Mapping[str, Callable[[], str]] = {"help": help_texts, "keys: top": top_keys, "keys: all": all_keys}


def _definition(name: str) -> dict[str, Any]:
    definition: dict[str, Any] = stack_file_schema()["$defs"][name]
    return definition


def _reference(schema: Mapping[str, Any]) -> str | None:
    reference = schema.get("$ref")
    return str(reference).rpartition("/")[2] if reference else None


def _sections(name: str, title: str) -> Iterator[tuple[str, str]]:
    """Title and definition of each mapping, depth first; one that stands in two places comes once."""
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
            elif inner := _reference(schema.get("additionalProperties") or {}):
                yield from walk(inner, f"{below}.NAME")

    yield from walk(name, title)


def _takes(schema: Mapping[str, Any]) -> str:
    if options := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(_takes(option) for option in options if option != {"enum": ["true", "false"]}))
    if "enum" in schema:
        return ", ".join(f"`{value}`" if isinstance(value, str) else str(value) for value in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        inner = schema.get("items", {})
        return f"list of {_takes(inner)}" if "enum" in inner else "list"
    if kind == "object" and not _reference(schema.get("additionalProperties") or {}):
        return "texts by name"
    if kind == "integer":
        low, high = schema.get("minimum"), schema.get("maximum")
        return f"{low} to {high}" if high is not None else f"number, {low} or more" if low is not None else "number"
    return {"boolean": "true, false", "string": "text"}.get(str(kind), "mapping")


def _default(name: str, key: str, schema: Mapping[str, Any]) -> str:
    model = _MODELS.get(name)
    if model and fields(model)[key].is_required():
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
    assert text, key
    return _DEFAULT.sub("", text).replace("|", "\\|")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def renewed(text: str) -> str:
    """A document's text with the parts that are made from the code as they are now."""

    def part(match: re.Match[str]) -> str:
        return f"{match['begin']}{GENERATED[match['name']]()}{match['end']}"

    return _GENERATED.sub(part, text)


def main() -> None:
    """Write all documents anew."""
    for document in documents():
        text = document.read_text(encoding="utf-8")
        if (new := renewed(text)) != text:
            document.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
