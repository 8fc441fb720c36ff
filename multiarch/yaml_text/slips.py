"""What was probably meant by a text that is not YAML: libyaml says where it stopped, often a line after the slip."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from multiarch.yaml_text.scalars import LOOK_ALIKE_SPACES, TYPOGRAPHIC_QUOTES, named

# No pattern looks at a part of a line again for each place where it could begin: a line can have megabytes.
_CONFLICT = re.compile(r"(?:<{7}|>{7}|\|{7}) .*|={7}")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%(?:(?!\{%).)*?%\}|\{\{.*")
_TYPOGRAPHIC = re.compile(f"[{TYPOGRAPHIC_QUOTES}][^{TYPOGRAPHIC_QUOTES}]*[{TYPOGRAPHIC_QUOTES}]")
_KEY = r"(?:(?:multiarch-eks|aws):)?[\w.-]+"
_NO_COLON = re.compile(rf"(?P<key>{_KEY})(?:[ \t]*=[ \t]*|[ \t]+)(?P<value>[^\s:#=].*)")
_NO_SPACE = re.compile(rf"(?P<key>{_KEY}):(?P<value>[^\s:].*)")
_AT_START = re.compile(_KEY)
_NO_VALUE = re.compile(rf"(?P<key>{_KEY})")
_UNCLOSED_QUOTE = re.compile(r"""(?:^\s*|:\s+|-\s+|[\[{,]\s*)(["'])(?:(?!\1).)*$""")
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"?|\'[^\']*\'')
_TOKENS = re.compile(r'"(?:\\.|[^"\\\n])*"?|\'[^\'\n]*\'|(?:^|\s)#[^\n]*|[\[\]{}]', re.MULTILINE)
_CLOSING = {"[": "]", "{": "}"}
_COLUMN_HINT = "Begin the keys of one mapping in the same column."
_LINES_BEFORE = 20
_LONGEST = 200
"""Characters of a message or hint: they quote the line."""


@dataclass(frozen=True, slots=True)
class Slip:
    """What is wrong with a line, counted from 0, and the way out. ``message`` is a clause without a full stop."""

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


def explain(text: str, stop: Stop) -> Slip:
    """The slip behind ``stop``, or libyaml's own words where none is known."""
    lines = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
    # At its end libyaml counts a line that is not there.
    line = min(stop.line, len(lines) - 1)
    for find in _FINDERS:
        for found in find(lines, line, stop):
            return Slip(found.line, _short(found.message), _short(found.hint))
    problem = "it does not fit the lines above" if "<block" in stop.problem else stop.problem
    return Slip(line, problem)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _conflict(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    for number, written in enumerate(lines):
        # The middle one alone may also be text.
        if _CONFLICT.fullmatch(written) and (written[0] != "=" or number in (line, stop.context_line)):
            yield Slip(number, "a marker of a merge conflict", "Resolve the conflict, and remove its markers.")


def _template(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    for number in _near(lines, line, stop):
        if found := _TEMPLATE.search(_unquoted(lines[number])):
            yield Slip(number, f"{found.group()} is a placeholder of a template", "Render the template first.")


def _tab(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    written = lines[line]
    if "\t" in written[: len(written) - len(written.lstrip())]:
        yield Slip(line, "indented with a tab", "Indent with spaces.")
    elif "cannot start any token" in stop.problem and stop.column < len(written):
        if written[stop.column] == "\t":
            before = "the colon" if written[: stop.column].rstrip().endswith(":") else "the dash"
            yield Slip(line, f"a tab after {before}", "Write a space in its place.")
        else:
            hint = "Put the value in quotes."
            yield Slip(line, f"a value can't begin with {written[stop.column]}", hint)


def _space(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    for number in _near(lines, line, stop):
        if found := next((each for each in _unquoted(lines[number]) if each in LOOK_ALIKE_SPACES), None):
            yield Slip(number, f"{named(found)} in place of a space", "Type the space again.")


def _typographic(lines: list[str], line: int, _stop: Stop) -> Iterator[Slip]:
    if found := _TYPOGRAPHIC.search(_unquoted(lines[line])):
        yield Slip(line, f"{found.group()} has typographic quotes", f'Write "{found.group()[1:-1]}".')


def _bracket(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    if (closing := lines[line][stop.column : stop.column + 1]) and closing in "]}":
        yield Slip(line, f"{closing} closes nothing", "Remove it, or add what opens it.")
    if "flow" not in stop.context:
        return
    opened: list[tuple[int, str]] = []
    first = max(0, line - _LINES_BEFORE)
    for number in range(first, line + 1):
        for token in _TOKENS.findall(lines[number]):
            if token in _CLOSING:
                opened.append((number, token))
            elif opened and token == _CLOSING[opened[-1][1]]:
                opened.pop()
    # What a line opens and a later line does not close; the line itself may go on.
    if opened:
        number, bracket = opened[-1]
        yield Slip(number, f"{bracket} is not closed", f"Add the missing {_CLOSING[bracket]}.")


def _quote(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    numbers = [stop.context_line] if "quoted scalar" in stop.context and stop.context_line is not None else []
    if not numbers and ("key" in stop.problem or "<block" in stop.problem or "flow" in stop.context):
        numbers = [number for number in (line - 1, line) if number >= 0]
    # A quote, or an apostrophe, that ends here what began lines above.
    ending = lines[line][: stop.column].rstrip()[-1:]
    above: Sequence[int] = range(line - 2, -1, -1) if numbers and ending in {'"', "'"} else ()
    for number in (*numbers, *above):
        if found := _UNCLOSED_QUOTE.search(lines[number].partition(" #")[0]):
            quote = found.group(1)
            if number in above and quote != ending:
                continue
            yield Slip(number, f"{quote} is not closed", f"Add the missing {quote}.")


def _colon(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    before = _before(lines, line)
    if "simple key" in stop.context and stop.context_line is not None:
        numbers = [stop.context_line]
    elif "mapping values" in stop.problem or "expected key" in stop.problem:
        numbers = [] if before is None else [before]
    else:
        return
    for number in numbers:
        if "expected key" in stop.problem and lines[number].lstrip().startswith("- "):
            continue  # an entry of a list before the key: text may have colons
        written = lines[number].strip().removeprefix("- ").partition(" #")[0].rstrip()
        if ": " in written or written.endswith(":"):
            continue
        if found := _NO_COLON.fullmatch(written):
            message = f"a colon is missing after {found['key']}"
            yield Slip(number, message, f"Write `{found['key']}: {found['value']}`.")
        elif _NO_VALUE.fullmatch(written):
            yield Slip(number, f"a colon is missing after {written}", f"Write `{written}:`.")
        elif found := _NO_SPACE.fullmatch(written):
            message = f"a space is missing after the colon of {found['key']}"
            yield Slip(number, message, f"Write `{found['key']}: {found['value']}`.")


def _others(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    if "alphabetic or numeric" in stop.problem:
        yield Slip(line, f"a name is missing after {lines[line][stop.column - 1]}", "Put the value in quotes.")
    elif "escape character" in stop.problem and "Unicode" not in stop.problem:
        yield Slip(
            line, "unknown escape sequence in double quotes", "Write \\\\ for a backslash, or use single quotes."
        )
    elif "'-' indicator" in stop.problem and _indent(lines[line]) >= 0 and not lines[line].lstrip().startswith("-"):
        yield Slip(
            line, "a key among the entries of a list", "Begin it in the column of the list's key, or with a dash."
        )


def _no_colon(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    number = None
    if "simple key" in stop.context:
        number = stop.context_line
    elif "mapping values" in stop.problem and (before := _before(lines, line)) is not None:
        written = lines[before].strip().partition(" #")[0].rstrip()
        number = None if ": " in written or written.endswith(":") else before
    if number is not None and number < len(lines):
        yield Slip(number, "a colon is missing", "Write `KEY: VALUE`.")


def _second_colon(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    written = lines[line]
    if "mapping values" in stop.problem and ": " in written[: stop.column]:
        key, _, value = written.strip().removeprefix("- ").partition(": ")
        yield Slip(line, "a second colon in one line", f'Put the value in quotes: `{key}: "{value}"`.')


def _deeper(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    before = _before(lines, line)
    if before is None or "flow" in stop.context or "mapping values" not in stop.problem:
        return
    here, above = _indent(lines[line]), _indent(lines[before])
    if here > above and _is_off(above, here, _columns(lines)):
        yield Slip(before, _indented(above, [here]), _COLUMN_HINT)
    elif here > above:
        key = _AT_START.match(lines[before].strip())
        yield Slip(line, f"indented more than {key[0] if key else 'the line'} above, which has a value", _COLUMN_HINT)


def _indentation(lines: list[str], line: int, stop: Stop) -> Iterator[Slip]:
    before, here = _before(lines, line), _indent(lines[line])
    if before is None or "flow" in stop.context:
        return
    if not ("expected key" in stop.problem or "<block" in stop.problem or "'-' indicator" in stop.problem):
        return
    opened: dict[int, int] = {}
    for number in range(before, -1, -1):
        if _has_content(lines[number]):
            column = _indent(lines[number])
            if not opened or column < min(opened):
                opened[column] = number
    if here in opened or here != stop.column:
        return
    least = min(abs(column - here) for column in opened)
    nearest = sorted(column for column in opened if abs(column - here) == least)
    columns = _columns(lines)
    off = next((column for column in nearest if _is_off(column, here, columns)), None)
    if off is not None:
        yield Slip(opened[off], _indented(off, [here]), _COLUMN_HINT)
    else:
        yield Slip(line, _indented(here, nearest), _COLUMN_HINT)


def _columns(lines: list[str]) -> Counter[int]:
    """How many lines begin in each column."""
    return Counter(_indent(each) for each in lines if _has_content(each))


def _is_off(column: int, other: int, columns: Counter[int]) -> bool:
    """Whether the only line in ``column`` was probably meant for ``other``: others are there, or it alone is even."""
    return columns[column] == 1 and (columns[other] > 1 or column % 2 > other % 2)


def _indented(by: int, expected: list[int]) -> str:
    spaces = "1 space" if by == 1 else f"{by} spaces"
    return f"indented by {spaces}, where {' or '.join(map(str, expected))} are expected"


def _near(lines: list[str], line: int, stop: Stop) -> Iterator[int]:
    """The line of the problem, that of its context, and the one before."""
    before = _before(lines, line)
    yield from dict.fromkeys(n for n in (stop.context_line, before, line) if n is not None and n < len(lines))


def _before(lines: list[str], line: int) -> int | None:
    """The last line before one that is neither empty nor a comment."""
    numbers = (number for number in range(line - 1, -1, -1) if lines[number].strip(" \r"))
    return next((number for number in numbers if not lines[number].lstrip().startswith("#")), None)


def _has_content(written: str) -> bool:
    return bool(written.strip()) and not written.lstrip().startswith("#")


def _unquoted(written: str) -> str:
    """A line without its comment and the content of quotes."""
    return _QUOTED.sub('""', written).partition(" #")[0]


def _indent(written: str) -> int:
    return len(written) - len(written.lstrip(" "))


_FINDERS: tuple[Callable[[list[str], int, Stop], Iterator[Slip]], ...] = (
    _conflict,
    _template,
    _tab,
    _space,
    _quote,
    _bracket,
    _colon,
    _typographic,
    _second_colon,
    _deeper,
    _indentation,
    _others,
    _no_colon,
)
"""In this order: those that are certain first."""
