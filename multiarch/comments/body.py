"""The text of a comment: its hidden marker, and what fits into it."""

from __future__ import annotations

import re

from multiarch.errors import MultiarchError

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,98}[A-Za-z0-9])?")
_MARKER = re.compile(r"\A\s*(<!-- multiarch [^\n]{0,200}? -->)[ \t]*(?:\r?\n|\Z)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_UNNAMED = "report"
_ROOM = 400
"""Characters kept free for the end of a text that is cut; more if much has to be closed."""


def marker(name: str) -> str:
    """The hidden first line by which a comment is found again.

    Raises MultiarchError for a name that could end the HTML comment, or that is not readable.
    """
    if not _NAME.fullmatch(name) or "--" in name:
        raise MultiarchError(
            f"{name!r} can't name a comment.",
            hint="Use up to 100 letters, digits, dots, slashes, underscores and single hyphens.",
        )
    return f"<!-- multiarch post: {name} -->"


def marked(text: str, name: str | None) -> tuple[str, str]:
    """The marker, and the text that begins with it.

    Without a name a text that begins with a marker of this project's keeps it; otherwise the name's takes its place.
    """
    found = _MARKER.match(text)
    if found and name is None:
        return found[1], text.lstrip()
    line = marker(name or _UNNAMED)
    return line, f"{line}\n\n{(text[found.end() :] if found else text).lstrip()}"


def fitted(text: str, limit: int) -> str:
    """The text if it has at most ``limit`` characters, otherwise as many of its lines as fit, and a note that says so.

    A block of code and ``<details>`` that are open at the cut are closed.
    """
    if len(text) <= limit:
        return text
    room = _ROOM
    while True:
        kept = text[: max(0, limit - room)]
        kept = kept[: kept.rfind("\n") + 1] or kept
        note = f"\n\n*Cut to fit: {len(kept):,} of {len(text):,} characters.*\n"
        cut = f"{kept}{_closing(kept)}{note}"
        if len(cut) <= limit or room >= limit:
            return cut
        room *= 2


def same(one: str, other: str) -> bool:
    """Whether two texts are the same but for line ends and white space around them, which servers change."""
    return _plain(one) == _plain(other)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _closing(text: str) -> str:
    """What closes the code block and the details that ``text`` leaves open."""
    fence, details = "", 0
    for line in text.splitlines():
        stripped = line.strip()
        found = _FENCE.match(stripped)
        if fence:
            fence = "" if stripped.startswith(fence) and not stripped.strip(fence[0]) else fence
        elif found:
            fence = found[1]
        else:
            details += line.count("<details>") - line.count("</details>")
    ending = f"\n{fence}\n" if fence else ""
    return ending + "\n</details>\n" * max(0, details)
