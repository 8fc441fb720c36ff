"""A file of a stack as plain values, with the line of every key and list item."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path
from typing import Any

from multiarch.errors import KeyPath, Problem, StackError
from multiarch.files import read_bytes
from multiarch.frozen import dataclass
from multiarch.yaml_text.events import YamlError, YamlFault
from multiarch.yaml_text.nodes import MappingNode, ScalarNode, SequenceNode, YamlNode, get_target
from multiarch.yaml_text.reader import read_nodes
from multiarch.yaml_text.scalars import read_pulumi_scalar

_BYTES_LIMIT = 1_000_000
_VALUES_LIMIT = 50_000


@dataclass(slots=True)
class YamlFile:
    """One file. ``lines`` has every key and list item by its path; ``faults`` are in the order of the file."""

    file: str
    value: Any = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    faults: list[YamlFault] = field(default_factory=list)


def format_path(path: Path) -> str:
    """Return a path as a user would type it: relative to the working folder if it is below it, else absolute."""
    absolute = path.absolute()
    here = Path.cwd()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else absolute.as_posix()


def read_yaml_file(path: Path) -> YamlFile:
    """Read the one document in ``path``.

    Raises StackError with one problem when :func:`read_text` does, when it is not YAML, or holds several documents.
    The value of an empty file is None.
    """
    return parse_yaml_file(read_text(path), format_path(path))


def read_text(path: Path) -> str:
    """Read a UTF-8 file, without a byte order mark in front.

    Raises StackError with one problem when it can't be read, is a pipe or a device, is larger than a million bytes, or
    is not UTF-8.
    """
    file = format_path(path)
    kinds = {"pipe": path.is_fifo, "device": path.is_char_device, "block device": path.is_block_device}
    if kind := next((kind for kind, is_kind in kinds.items() if is_kind()), ""):  # opening it can block
        raise _reject("unreadable-file", file, None, f"The file can't be read: it is a {kind}.")
    try:
        return read_bytes(path, _BYTES_LIMIT).decode("utf-8-sig")
    except OSError as error:
        hint = f"Name the files in it: {file}/Pulumi.*.yaml." if isinstance(error, IsADirectoryError) else ""
        message = f"The file can't be read: {error.strerror or error}."
        raise _reject("unreadable-file", file, None, message, hint) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _reject("not-utf-8", file, line, "The file is not UTF-8.", "Save it as UTF-8.") from error


def parse_yaml_file(text: str, file: str) -> YamlFile:
    """Read the one document in ``text``; ``file`` is what problems call it. Raises as :func:`read_yaml_file`."""
    try:
        root = read_nodes(text, read_pulumi_scalar, most_values=_VALUES_LIMIT)
    except YamlError as error:
        fault = error.fault
        raise _reject(fault.rule, file, fault.line, fault.sentence, fault.hint) from error
    read_file = YamlFile(file)
    if root is not None:
        read_file.value = _value(root, (), read_file)
    read_file.faults.sort(key=lambda fault: fault.line or 0)
    return read_file


def _reject(rule: str, file: str, line: int | None, message: str, hint: str = "") -> StackError:
    return StackError([Problem(rule=rule, message=message, hint=hint, file=file, line=line)])


def _value(node: YamlNode, path: KeyPath, read_file: YamlFile) -> Any:  # noqa: ANN401  (any YAML value)
    """Return the value of a node, whose lines and faults are added to ``read_file``; aliases are followed."""
    node = get_target(node)
    read_file.faults += (replace(fault, path=(*path, *fault.path)) for fault in node.faults)
    if isinstance(node, MappingNode):
        made = {}
        for name, inner in node.values.items():
            read_file.lines[(*path, str(name))] = inner.key_line or inner.line
            made[name] = _value(inner, (*path, str(name)), read_file)
        return made
    if isinstance(node, SequenceNode):
        for index, inner in enumerate(node.items):
            read_file.lines[(*path, index)] = inner.line
        return [_value(inner, (*path, index), read_file) for index, inner in enumerate(node.items)]
    return node.value if isinstance(node, ScalarNode) else None
