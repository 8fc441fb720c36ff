"""Text of others in Markdown: shown as it is, one function for each use.

What Markdown makes of it is prevented here, the rest by :func:`multiarch.escaping.escape_terminal`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from multiarch.escaping import escape_terminal

_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>#|&~$]")
_BEGINS_A_BLOCK = re.compile(r"(\d{0,9})(?=[.)](?: |$)|[-+](?: |$)|[-=]+$)")

_ENDS = ".,;:"
_BREAKS = ".;:"
_WORDS = re.compile(r"`([^`]+)`([.,;:]?)(?!\S)|(\S+)")
_NAME = r"[A-Za-z][A-Za-z0-9]*(?:['-][A-Za-z0-9]+)*"
_NUMBER = r"[+-]?\d+(?:[.,]\d+)*%?|\d{4}-\d\d-\d\d"
_FIRST_WORD = re.compile(rf"[(\"']*(?:{_NAME})[)\"']*[.,;:!?]?|{_NUMBER}")
_PLAIN_WORD = re.compile(rf"[(\"']*(?:{_NAME}|{_NUMBER})[)\"']*[.,;:!?]?[)\"']*|[→…–×=]")
_REFERENCE = re.compile(r"(?i:(?<![a-z0-9])(?:gh-|[0-9a-f]{7,}(?![a-z0-9])))|(?<![A-Za-z0-9])[A-Z]+-\d")
"""What GitHub makes a link of without any markup: commits, GH-1 and the like."""


def escape_markdown(text: str) -> str:
    """Return text that Markdown, GitHub's and GitLab's too, shows as it is: no markup, no HTML, no block of its own."""
    # Four blanks in front would begin a block of code.
    shown = _MARKDOWN.sub(r"\\\g<0>", escape_terminal(text).lstrip(" "))
    block = _BEGINS_A_BLOCK.match(shown)
    return f"{block[1]}\\{shown[block.end() :]}" if block else shown


def escape_comment(text: str, *, in_table: bool = False) -> str:
    """Return a sentence of ours with names of others in it, for a comment on GitHub or GitLab.

    Plain words stay words. Everything else, and what is between backticks, becomes code, in which nothing is markup,
    HTML, a link, a mention, a reference or a quick action.
    """
    parts: list[str] = []
    pending: list[str] = []
    for quoted, end, word in _WORDS.findall(escape_terminal(text)):
        if quoted:
            parts += [*_code(pending, in_table=in_table), *_code([quoted + end], in_table=in_table)]
            pending = []
        elif (_PLAIN_WORD if parts or pending else _FIRST_WORD).fullmatch(word) and not _REFERENCE.search(word):
            parts += [*_code(pending, in_table=in_table), word]
            pending = []
        else:
            pending.append(word)
            if word[-1] in _BREAKS:
                parts += _code(pending, in_table=in_table)
                pending = []
    return " ".join([*parts, *_code(pending, in_table=in_table)])


def _code(words: list[str], *, in_table: bool) -> list[str]:
    """Return the words as one span of code; punctuation at its end stays behind it."""
    if not words:
        return []
    text = " ".join(words)
    end = len(text.rstrip(_ENDS)) or len(text)
    code, behind = text[:end], text[end:]
    before = ""
    if code[0] == "(" and len(code) > 1 and (code[-1] == ")" or ")" not in code):
        before, code = "(", code[1:]
    if code[-1] == ")" and len(code) > 1 and code.count(")") > code.count("("):
        code, behind = code[:-1], f"){behind}"
    ticks = "`" * (max((len(run) for run in re.findall("`+", code)), default=0) + 1)
    space = " " if code.startswith("`") or code.endswith("`") else ""
    # A backslash before the pipe would undo the escape, and end the cell within the code.
    shown = code.replace("|", "¦" if "\\" in code else "\\|") if in_table else code
    return [f"{before}{ticks}{space}{shown}{space}{ticks}{behind}"]


def format_table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table. Its cells are Markdown."""
    for cells in (columns, ["---"] * len(columns), *rows):
        yield f"| {' | '.join(cells)} |"


def cut_markdown(text: str, limit: int) -> str:
    """Return the Markdown, or the lines of it that fit into ``limit`` bytes, and a note.

    A code block and details that are left open are closed.
    """
    data = text.encode()
    if len(data) <= limit:
        return text
    kept = data[: limit - 400].decode(errors="ignore")
    kept = kept[: kept.rfind("\n") + 1] or kept
    closing = "\n```\n" if len(re.findall(r"^\s*```", kept, re.MULTILINE)) % 2 else ""
    closing += "\n</details>\n" * (kept.count("<details>") - kept.count("</details>"))
    return f"{kept}{closing}\n\n*Cut to fit: {len(kept):,} of {len(text):,} characters.*\n"
