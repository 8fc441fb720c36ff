"""Pulumi's output without the lines that say nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox.runner import plain

_WARNING = "    warning: "
# Every command refreshes first (options.refresh in Pulumi.yaml), with two similar lines for each resource.
_LOOKED_AT = re.compile(r"^ ~  \S+ \S+ refresh(?:ing)?(?: warning: .*)?\s*$")
_UNCHANGED = re.compile(r"^ {4}\S+:\S+ \S+(?: running)?\s*$")
_SAID_AGAIN = re.compile(r"^.{4}\s*\w+:\S+:\S+ \S+ .*?\b(?:warning|error): ")  # below "Diagnostics:"
_AT_WORK = re.compile(r"@ \S.*\.\.\s*$")


def is_told(line: str) -> bool:
    """Return whether a line of a preview, coloured or not, says more than the others."""
    text = plain(line)
    return not any(each.match(text) for each in (_LOOKED_AT, _AT_WORK, _UNCHANGED, _SAID_AGAIN))


def warnings(diagnostics: Sequence[str]) -> tuple[str, ...]:
    """Return the program's warnings, each once, without ``warning:`` before them."""
    found = (line.removeprefix(_WARNING) for line in diagnostics if line.startswith(_WARNING))
    return tuple(dict.fromkeys(found))
