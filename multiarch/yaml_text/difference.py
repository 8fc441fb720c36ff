"""What an edit changes, as a patch."""

from __future__ import annotations

import difflib
import io

from multiarch.escaping import escape_terminal


def format_patch(name: str, old: str, new: str) -> str:
    """Return a patch of a file, as ``diff -u`` writes it and ``git apply`` takes it; empty where nothing changes.

    ``a/`` and ``b/`` begin a relative name, as in Git; an absolute one stays as it is.
    """
    # As patch does; Python would also split at form feeds and the like.
    before, after = (list(io.StringIO(text, newline="\n")) for text in (old, new))
    first, second = ("", "") if name.startswith("/") else ("a/", "b/")
    lines = difflib.unified_diff(before, after, first + escape_terminal(name), second + escape_terminal(name))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
