"""Pulumi's output, each thing said once, and without its remarks about the sandbox's own programs.

The engine warns of every program that it finds on PATH: the sandbox's providers and the language host, several times
each. It writes every message twice, in the row of its resource when it comes and in the diagnostics at the end, and
counts a message each time that the program says it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sandbox.runner import plain

_AMBIENT = re.compile(r"warning: using pulumi-(?:resource|language)-\S+ from \$PATH")
_WARNING = "    warning: "
_COUNTED = re.compile(r"(?P<before>; )?\d+ (?P<colour>(?:\x1b\[[0-9;]*m)*)warnings?\b")
_ROW = re.compile(r"^.{0,4}\s*pulumi:pulumi:Stack .*\b\d+ warnings?\s*$")
_MESSAGE = re.compile(r"^.{4}\s*\S+ \S+ .*?\b(?:warning|error): ")
# Every command refreshes first (options.refresh in Pulumi.yaml), with two similar lines for each resource.
_LOOKED_AT = re.compile(r"^ ~  \S+ \S+ refresh(?:ing)?(?: warning: .*)?\s*$")
_UNCHANGED = re.compile(r"^ {4}\S+:\S+ \S+\s*$")
_AT_WORK = re.compile(r"@ \S.*\.\.\s*")
_DIAGNOSTICS = "Diagnostics:"
_STACK = "pulumi:pulumi:Stack "
_FOLLOWS = re.compile(r" +error: (?:update|destroy|preview) failed")


def is_ambient(line: str) -> bool:
    """Whether a line, coloured or not, is the engine's warning about a program that it found on PATH."""
    return bool(_AMBIENT.search(plain(line)))


def is_look(line: str) -> bool:
    """Whether a line only says that a resource was refreshed without changes."""
    return bool(_LOOKED_AT.search(plain(line)))


class Display:
    """Passes a preview's lines on to ``show``: rows of changes as they come, the rest when the command has ended."""

    def __init__(self, show: Callable[[str], None]) -> None:
        """Start with no lines."""
        self._show = show
        self._held: list[str] = []
        self._messages: list[str] = []

    def __call__(self, line: str) -> None:
        """Take one line, without its end."""
        text = plain(line)
        if is_ambient(line) or is_look(line) or _AT_WORK.fullmatch(text) or _UNCHANGED.match(text):
            return
        if self._held or text == _DIAGNOSTICS or _ROW.search(text):
            self._held.append(line)
        elif _MESSAGE.search(text):
            self._messages.append(line)
        else:
            self._show(line)

    def end(self, *, failed: bool = False) -> None:
        """Show what was held back; of a command that ``failed``, its error says what the diagnostics do."""
        texts = [plain(line) for line in self._held]
        if _DIAGNOSTICS not in texts:
            kept = [*([] if failed else self._messages), *self._held]
        else:
            start = texts.index(_DIAGNOSTICS)
            end = next((at for at in range(start + 1, len(texts)) if texts[at][:1].strip()), len(texts))
            diagnostics = [] if failed else _once(self._held[start:end])
            count = sum(plain(line).startswith(_WARNING) for line in diagnostics)
            rows = [self._recounted(line, count) for line in self._held[:start]]
            kept = [*rows, *_without_empty_diagnostics(diagnostics), *self._held[end:]]
        for line in kept:
            self._show(line)
        self._held, self._messages = [], []

    @staticmethod
    def _recounted(line: str, count: int) -> str:
        if not _ROW.search(plain(line)):
            return line

        def counted(match: re.Match[str]) -> str:
            word = "warning" if count == 1 else "warnings"
            return f"{match['before'] or ''}{count} {match['colour']}{word}" if count else match["colour"]

        return _COUNTED.sub(counted, line).rstrip()


def warnings(diagnostics: Sequence[str]) -> tuple[str, ...]:
    """Return the program's warnings, each once, without ``warning:`` before them."""
    found = (line for line in diagnostics if line.startswith(_WARNING) and not is_ambient(line))
    return tuple(dict.fromkeys(line.removeprefix(_WARNING) for line in found))


def failures_last(lines: Sequence[str]) -> list[str]:
    """Sort diagnostics, which are without colours, so that the resource that failed stands below all else.

    A message that is there twice is omitted, and so is that the stack's update failed, which follows from the rest.
    """
    sections: list[list[str]] = []
    for line in _once(lines):
        if not sections or _is_heading(line):
            sections.append([])
        sections[-1].append(line)
    sections = [section for section in sections if not _is_heading(section[0]) or len(section) > 1]
    failed = [section for section in sections if _has_error(section)]
    if any(_STACK not in section[0] for section in failed):
        sections = [[line for line in section if not _FOLLOWS.fullmatch(line)] for section in sections]
        sections = [section for section in sections if not _is_heading(section[0]) or len(section) > 1]
        sections.sort(key=_has_error)
    return [line for section in sections for line in section]


def _once(lines: Sequence[str]) -> list[str]:
    """Omit a resource's warning or error that stands above already; other lines may be parts of longer ones."""
    seen: set[str] = set()
    kept = []
    for line in lines:
        if _is_heading(plain(line)):
            seen.clear()
        text = plain(line).strip()
        if text.startswith(("warning: ", "error: ")):
            if text in seen:
                continue
            seen.add(text)
        kept.append(line)
    return kept


def _has_error(section: Sequence[str]) -> bool:
    return any(line.strip().startswith("error: ") for line in section)


def _is_heading(text: str) -> bool:
    return text.startswith("  ") and not text.startswith("   ") and text.endswith(":")


def _without_empty_diagnostics(lines: list[str]) -> list[str]:
    """Omit a resource's heading with nothing below it, and the section's when nothing is left in it."""
    kept: list[str] = []
    for line in reversed(lines):
        text = plain(line)
        below = plain(kept[-1]) if kept else ""
        if (_is_heading(text) and not below.startswith("    ")) or (
            text == _DIAGNOSTICS and not below.startswith("  ")
        ):
            while kept and not plain(kept[-1]).strip():
                kept.pop()
            continue
        kept.append(line)
    return kept[::-1]
