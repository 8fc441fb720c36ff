"""What was probably meant by a string that is not YAML: libyaml says where it stopped, often a line after the slip."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# No pattern looks at a part of a line again for each place where it could begin: a line can have megabytes.
_CONFLICT = re.compile(r"(?:<{7}|>{7}|\|{7}) .*")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%(?:(?!\{%).)*?%\}|\{\{.*")
_KEY = r"(?:(?:multiarch-eks|aws):)?[\w.-]+"
_NO_COLON = re.compile(rf"(?P<key>{_KEY})(?:[ \t]*=[ \t]*|[ \t]+)(?P<value>[^\s:#=].*)")
_NO_SPACE = re.compile(rf"(?P<key>{_KEY}):(?P<value>[^\s:].*)")
_NO_VALUE = re.compile(rf"(?P<key>{_KEY})")
_UNCLOSED_QUOTE = re.compile(r"""(?:^\s*|:\s+|-\s+|[\[{,]\s*)(["'])(?:(?!\1).)*$""")
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"?|\'[^\']*\'')
_CLOSING = {"[": "]", "{": "}"}
_COLUMN_HINT = "Begin the keys of one mapping in the same column."
_LONGEST = 200
"""Characters of a message or hint: they quote the line."""


@dataclass(frozen=True, slots=True)
class Slip:
    """What is wrong with a line, counted from 0, and the fix. ``message`` is a clause without a full stop."""

    line: int
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where libyaml stopped: its words, the line and column of the problem, and those of what it was reading."""

    problem: str
    line: int
    column: int
    context: str = ""
    context_line: int | None = None


def explain_error(text: str, stop: Stop) -> Slip:
    """Return the slip behind ``stop``, or libyaml's own words where none is known."""
    lines = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
    # At its end libyaml counts a line that is not there.
    line = min(stop.line, len(lines) - 1)
    for find in _FINDERS:
        for found in find(lines, line, stop):
            return Slip(found.line, _shorten(found.message), _shorten(found.hint))
    problem = "it does not fit the lines above" if "<block" in stop.problem else stop.problem
    return Slip(line, problem)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _conflict(lines: list[str], _line: int, _stop: Stop) -> Iterator[Slip]:
    for number, written in enumerate(lines):
        if _CONFLICT.fullmatch(written):
            yield Slip(number, "a marker of a merge conflict", "Resolve the conflict, and remove its markers.")


def _template(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    for number in _near(lines, line, stop):
        if found := _TEMPLATE.search(_QUOTED.sub('""', lines[number]).partition(" #")[0]):
            yield Slip(number, f"{found.group()} is a placeholder of a template", "Render the template first.")


def _tab(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    written = lines[line]
    if "\t" in written[: len(written) - len(written.lstrip())]:
        yield Slip(line, "indented with a tab", "Indent with spaces.")
    elif "cannot start any token" in stop.problem and stop.column < len(written):
        if written[stop.column] == "\t":
            yield Slip(line, "a tab in place of a space", "Write a space in its place.")
        else:
            yield Slip(line, f"a value can't begin with {written[stop.column]}", "Put the value in quotes.")


def _quote(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    numbers = [stop.context_line] if "quoted scalar" in stop.context and stop.context_line is not None else []
    if not numbers and ("key" in stop.problem or "<block" in stop.problem or "flow" in stop.context):
        numbers = [number for number in (line - 1, line) if number >= 0]
    for number in numbers:
        if found := _UNCLOSED_QUOTE.search(lines[number].partition(" #")[0]):
            yield Slip(number, f"{found[1]} is not closed", f"Add the missing {found[1]}.")


def _bracket(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    if (closing := lines[line][stop.column : stop.column + 1]) and closing in "]}":
        yield Slip(line, f"{closing} closes nothing", "Remove it, or add what opens it.")
    elif "flow" in stop.context:
        for number in range(line, -1, -1):
            if found := re.findall(r"[\[{]", lines[number]):
                yield Slip(number, f"{found[-1]} is not closed", f"Add the missing {_CLOSING[found[-1]]}.")


def _colon(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    if "simple key" in stop.context:
        number = stop.context_line
    elif "mapping values" in stop.problem or "expected key" in stop.problem:
        number = _before(lines, line)
    else:
        return
    if number is None or ("expected key" in stop.problem and lines[number].lstrip().startswith("- ")):
        return
    written = lines[number].strip().removeprefix("- ").partition(" #")[0].rstrip()
    if ": " in written or written.endswith(":"):
        return
    if found := _NO_COLON.fullmatch(written):
        yield Slip(number, f"a colon is missing after {found['key']}", f"Write `{found['key']}: {found['value']}`.")
    elif _NO_VALUE.fullmatch(written):
        yield Slip(number, f"a colon is missing after {written}", f"Write `{written}:`.")
    elif found := _NO_SPACE.fullmatch(written):
        message = f"a space is missing after the colon of {found['key']}"
        yield Slip(number, message, f"Write `{found['key']}: {found['value']}`.")


def _second_colon(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    written = lines[line]
    if "mapping values" in stop.problem and ": " in written[: stop.column]:
        key, _, value = written.strip().removeprefix("- ").partition(": ")
        yield Slip(line, "a second colon in one line", f'Put the value in quotes: `{key}: "{value}"`.')


def _indentation(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    """Find a line in a column in which no mapping or list around it begins."""
    before, here = _before(lines, line), _indent(lines[line])
    if before is None or "flow" in stop.context or here != len(lines[line]) - len(lines[line].lstrip()):
        return
    if "mapping values" in stop.problem and here > _indent(lines[before]):
        yield Slip(line, "indented more than the line above, which has a value", _COLUMN_HINT)
    elif any(each in stop.problem for each in ("expected key", "<block", "'-' indicator")):
        opened: list[int] = []
        for written in reversed(lines[: before + 1]):
            if written.strip() and not written.lstrip().startswith("#") and _indent(written) < min(opened, default=999):
                opened.append(_indent(written))
        nearest = sorted(opened, key=lambda column: abs(column - here))[:2]
        if here not in opened:
            expected = " or ".join(map(str, sorted(nearest)))
            yield Slip(line, f"indented by {here} spaces, where {expected} are expected", _COLUMN_HINT)


def _near(lines: list[str], line: int, stop: Stop) -> Iterator[int]:
    """Yield the line of the problem, that of its context, and the one before."""
    before = _before(lines, line)
    yield from dict.fromkeys(n for n in (stop.context_line, before, line) if n is not None and n < len(lines))


def _before(lines: list[str], line: int) -> int | None:
    """Return the last line before one that is neither empty nor a comment."""
    numbers = (number for number in range(line - 1, -1, -1) if lines[number].strip(" \r"))
    return next((number for number in numbers if not lines[number].lstrip().startswith("#")), None)


def _indent(written: str) -> int:
    return len(written) - len(written.lstrip(" "))


_FINDERS: tuple[Callable[[list[str], int, Stop], Iterator[Slip]], ...] = (
    _conflict,
    _template,
    _tab,
    _quote,
    _bracket,
    _colon,
    _second_colon,
    _indentation,
)
"""In this order: those that are certain first."""
