"""Pulumi's output without the lines that say nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox.runner import plain

_WARNING = "    warning: "
# Every command refreshes first (options.refresh in Pulumi.yaml), with two similar lines for each resource.
_LOOKED_AT = re.compile(r"^ ~  \S+ \S+ refresh(?:ing)?(?: warning: .*)?\s*$")
_UNCHANGED = re.compile(r"^ {4}\S+:\S+ \S+\s*$")
_AT_WORK = re.compile(r"@ \S.*\.\.\s*")


def is_told(line: str) -> bool:
    """Return whether a line of a preview, coloured or not, says more than that it is at work or nothing changes."""
    text = plain(line)
    return not (_LOOKED_AT.search(text) or _AT_WORK.fullmatch(text) or _UNCHANGED.match(text))


def warnings(diagnostics: Sequence[str]) -> tuple[str, ...]:
    """Return the program's warnings, each once, without ``warning:`` before them."""
    found = (line.removeprefix(_WARNING) for line in diagnostics if line.startswith(_WARNING))
    return tuple(dict.fromkeys(found))
