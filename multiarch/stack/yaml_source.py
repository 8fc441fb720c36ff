"""A YAML file as plain values, with the line of every key and list item.

Pulumi reads these files with Go's yaml.v3, this project with YAML 1.2. Where the two disagree about a value, or YAML
makes of it something nobody means (a date, an octal number), that is a fault here and not a surprise later.
"""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from multiarch.errors import KeyPath, Problem, StackError

_TAG = "tag:yaml.org,2002:"
_BYTES_LIMIT = 1_000_000
_VALUES_LIMIT = 50_000
_JSON_EXPONENT = 1e21
"""From here on Go writes a number into JSON with an exponent, and it stays a float."""
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with one value; ``path`` counts from the file's top, ``line`` from 1."""

    rule: str
    path: KeyPath
    line: int
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Document:
    """One file. ``lines`` has every key and list item by its path; ``faults`` are in the order of the file."""

    file: str
    value: Any
    lines: dict[KeyPath, int]
    faults: tuple[Fault, ...]


def shown(path: Path) -> str:
    """Spell a path as its user would type it: relative to the working folder when it lies below, else absolute."""
    absolute = path.absolute()
    here = Path.cwd()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else absolute.as_posix()


def read(path: Path) -> Document:
    """Read the one document in ``path``.

    Raises StackError with one problem when :func:`read_text` does, when it is not YAML, or holds several documents.
    An empty file is a document whose value is None.
    """
    return parse(read_text(path), shown(path))


def read_text(path: Path) -> str:
    """Read a file of UTF-8, without the mark that some editors put first.

    Raises StackError with one problem when it can't be read, is no regular file, is larger than a million bytes, or is
    not UTF-8.
    """
    file = shown(path)
    try:
        # Asked first: to open a pipe can wait for ever, and a device may never end.
        if not stat.S_ISREG(path.stat().st_mode):
            message = "The file can't be read: it is a folder, a pipe or a device."
            raise _refuse("unreadable-file", file, None, message)
        with path.open("rb") as opened:
            data = opened.read(_BYTES_LIMIT + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise _refuse("unreadable-file", file, None, f"The file can't be read: {reason}.") from error
    if len(data) > _BYTES_LIMIT:
        message = f"The file is larger than {_BYTES_LIMIT // 1_000_000} MB, which no file of a stack is."
        raise _refuse("unreadable-file", file, None, message)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refuse("not-utf-8", file, line, "The file is not UTF-8.", "Save it as UTF-8.") from error


def parse(text: str, file: str) -> Document:
    """Read the one document in ``text``; ``file`` is what problems call it. Raises as :func:`read`."""
    builder = _Builder(file)
    try:
        root = YAML(typ="safe", pure=True).compose(text)
        value = None if root is None else builder.build(root, ())
    except MarkedYAMLError as error:
        raise _not_yaml(error, text, file) from error
    except YAMLError as error:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else None
        raise _refuse("not-yaml", file, line, "The file is not YAML: it holds a control character.") from error
    except RecursionError as error:
        raise _refuse("not-yaml", file, None, "The file is nested too deeply.") from error
    return Document(file, value, builder.lines, tuple(sorted(builder.faults, key=lambda fault: fault.line)))


def _refuse(rule: str, file: str, line: int | None, message: str, hint: str = "") -> StackError:
    return StackError([Problem(rule=rule, message=message, hint=hint, file=file, line=line)])


def _not_yaml(error: MarkedYAMLError, text: str, file: str) -> StackError:
    mark = error.problem_mark or error.context_mark
    line = None if mark is None else int(mark.line) + 1
    what = " ".join(str(error.problem or error.context or "it can't be read").split())
    if "single document" in str(error.context):
        return _refuse("several-documents", file, line, "The file holds several YAML documents.", "Keep one.")
    lines = text.splitlines()
    written = lines[line - 1] if line is not None and line <= len(lines) else ""
    if "\t" in written[: len(written) - len(written.lstrip())]:
        return _refuse("not-yaml", file, line, "The line is indented with a tab.", "YAML indents with spaces.")
    return _refuse("not-yaml", file, line, f"The file is not YAML: {what}.")


@dataclass(slots=True)
class _Builder:
    """Turns composed nodes into values; aliases are expanded, merge keys (``<<``) applied."""

    file: str
    lines: dict[KeyPath, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    _open: list[int] = field(default_factory=list)
    _values: int = 0

    def build(self, node: Node, path: KeyPath) -> Any:  # noqa: ANN401  (whatever the file holds)
        line = _line(node)
        self._values += 1
        if self._values > _VALUES_LIMIT:
            message = f"The file's aliases make more than {_VALUES_LIMIT:,} values of it."
            raise _refuse("too-many-values", self.file, line, message)
        if id(node) in self._open:
            raise _refuse("endless-alias", self.file, line, "An alias stands inside of what it names.")
        if isinstance(node, ScalarNode):
            return self._scalar(node, path)
        if _tag(node) != ("seq" if isinstance(node, SequenceNode) else "map"):
            self._unknown_tag(node, path)
        self._open.append(id(node))
        try:
            if isinstance(node, SequenceNode):
                return [self._item(item, (*path, index)) for index, item in enumerate(node.value)]
            return self._mapping(node, path)
        finally:
            self._open.pop()

    def _item(self, node: Node, path: KeyPath) -> Any:  # noqa: ANN401
        self.lines[path] = _line(node)
        return self.build(node, path)

    def _mapping(self, node: Node, path: KeyPath) -> dict[str, Any]:
        own: dict[str, tuple[Node, Node]] = {}
        merged: dict[str, tuple[Node, Node]] = {}
        for key, value in node.value:
            if _tag(key) == "merge":
                for merged_key, merged_value in self._merge(value, path):
                    merged.setdefault(merged_key.value, (merged_key, merged_value))
            elif self._is_text(key, path):
                if key.value in own:
                    first = _line(own[key.value][0])
                    message = f"{key.value} stands here twice, first in line {first}."
                    self._fault("duplicate-key", (*path, key.value), key, message, "Keep one of the two.")
                    continue
                own[key.value] = (key, value)
        result: dict[str, Any] = {}
        for name, (key, value) in (merged | own).items():
            self.lines[(*path, name)] = _line(key)
            result[name] = self.build(value, (*path, name))
        return result

    def _merge(self, node: Node, path: KeyPath) -> Iterator[tuple[ScalarNode, Node]]:
        """Yield the pairs that ``<<: *alias`` or ``<<: [*one, *two]`` brings; earlier ones win, as YAML says."""
        for source in node.value if isinstance(node, SequenceNode) else [node]:
            if not isinstance(source, MappingNode):
                self._fault("wrong-merge", (*path, "<<"), source, "<< takes the alias of a mapping.", "")
            elif id(source) in self._open:
                raise _refuse("endless-alias", self.file, _line(source), "An alias stands inside of what it names.")
            else:
                self._open.append(id(source))
                for key, value in source.value:
                    if _tag(key) == "merge":
                        yield from self._merge(value, path)
                    elif self._is_text(key, path):
                        yield key, value
                self._open.pop()

    def _is_text(self, key: Node, path: KeyPath) -> bool:
        if isinstance(key, ScalarNode) and _tag(key) in {"str", "value"}:
            return True
        if isinstance(key, ScalarNode):
            written = key.value or "An empty key"
            self._fault("key-not-text", path, key, f"{written} is no text, and keys are.", "Write the key in quotes.")
        else:
            self._fault("key-not-text", path, key, "A list or mapping stands where a key belongs.", "")
        return False

    def _scalar(self, node: ScalarNode, path: KeyPath) -> Any:  # noqa: ANN401
        text, tag = str(node.value), _tag(node)
        quotes = f'Write it in quotes: "{text}".'
        match tag:
            case "str" | "value":
                return text
            case "null":
                return None
            case "bool" if text.lower() in {"true", "false"}:
                return text.lower() == "true"
            case "int" if _LEADING_ZERO.fullmatch(text):
                message = f"{text} begins with a zero, which makes it an octal number to Pulumi."
                self._fault("octal-number", path, node, message, quotes)
            case "int" | "float":
                number = _number(text)
                if number is not None:
                    return number
                self._fault("not-a-number", path, node, f"{text} is no number that Pulumi takes.", quotes)
            case "timestamp":
                self._fault("date", path, node, f"{text} is a date to YAML, and Pulumi rewrites dates.", quotes)
            case _:
                self._unknown_tag(node, path)
        return text

    def _unknown_tag(self, node: Node, path: KeyPath) -> None:
        self._fault("unknown-tag", path, node, f"The tag {node.tag} means nothing here.", "Leave the tag out.")

    def _fault(self, rule: str, path: KeyPath, node: Node, message: str, hint: str) -> None:
        self.faults.append(Fault(rule, path, _line(node), message, hint))


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _tag(node: Node) -> str:
    return str(node.tag).removeprefix(_TAG)


def _number(text: str) -> int | float | None:
    """Read a number as the engine hands it on: as JSON, where 1.0 is 1 and there is no infinity."""
    plain = text.replace("_", "")
    try:
        return int(plain, 0)
    except ValueError:
        pass
    try:
        number = float(plain)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < _JSON_EXPONENT else number
