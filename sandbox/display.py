"""Pulumi's output, without its remarks about the sandbox's own programs.

The engine warns of every program that it finds on PATH: the sandbox's providers and the language host, several times
each. They are left out, and the row of the stack, which counts all warnings, is held back until it is known how many
of them these were.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sandbox.runner import plain

_AMBIENT = re.compile(r"warning: using pulumi-(?:resource|language)-\S+ from \$PATH")
_COUNTED = re.compile(r"(?P<before>; )?(?P<count>\d+) warnings?\b")
_ROW = re.compile(r"^.{0,4}\s*pulumi:pulumi:Stack .*\b\d+ warnings?\s*$")
# Every command refreshes first (options.refresh in Pulumi.yaml), with two similar lines for each resource.
_LOOKED_AT = re.compile(r"^ ~  \S+ \S+ refresh(?:ing)?(?: warning: .*)?\s*$")
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
    """Passes a command's lines on to ``show`` as they come; ``end`` when the command has ended."""

    def __init__(self, show: Callable[[str], None]) -> None:
        """Start with no lines."""
        self._show = show
        self._held: list[str] = []
        self._hidden = 0
        self._in_diagnostics = False

    def __call__(self, line: str) -> None:
        """Take one line, without its end."""
        text = plain(line)
        if self._in_diagnostics and text and not text.startswith(" "):
            self.end()
        self._in_diagnostics = self._in_diagnostics or text == _DIAGNOSTICS
        if is_ambient(line):
            self._hidden += self._in_diagnostics
        elif is_look(line):
            return
        elif self._held or self._in_diagnostics or _ROW.search(text):
            self._held.append(line)
        else:
            self._show(line)

    def end(self) -> None:
        """Show what was held back."""
        held, self._held = self._held, []
        for line in _without_empty_diagnostics(held):
            self._show(self._recounted(line) if _ROW.search(plain(line)) else line)
        self._hidden, self._in_diagnostics = 0, False

    def _recounted(self, line: str) -> str:
        def count(match: re.Match[str]) -> str:
            left = int(match["count"]) - self._hidden
            return f"{match['before'] or ''}{left} {'warning' if left == 1 else 'warnings'}" if left > 0 else ""

        return _COUNTED.sub(count, line).rstrip()


def failures_last(lines: Sequence[str]) -> list[str]:
    """Sort diagnostics, which are without colours, so that the resource that failed stands below all else.

    That the stack's update failed follows from that, and is left out.
    """
    sections: list[list[str]] = []
    for line in lines:
        if not sections or _is_heading(line):
            sections.append([])
        sections[-1].append(line)
    failed = [section for section in sections if _has_error(section)]
    if any(_STACK not in section[0] for section in failed):
        sections = [[line for line in section if not _FOLLOWS.fullmatch(line)] for section in sections]
        sections = [section for section in sections if not _is_heading(section[0]) or len(section) > 1]
        sections.sort(key=_has_error)
    return [line for section in sections for line in section]


def _has_error(section: Sequence[str]) -> bool:
    return any(line.strip().startswith("error: ") for line in section)


def _is_heading(text: str) -> bool:
    return text.startswith("  ") and not text.startswith("   ") and text.endswith(":")


def _without_empty_diagnostics(lines: list[str]) -> list[str]:
    """Leave out a resource's heading with nothing below it, and the section's when nothing is left in it."""
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
