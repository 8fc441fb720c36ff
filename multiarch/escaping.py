"""Text of others on its way out: shown as it is and obeyed by nothing, one function for each kind of output.

Names, reasons and messages come from manifests, registries, API servers and plugins. What is not printable could steer
a terminal (ESC, C1), hide or reorder text (bidirectional controls), or begin a line of its own.
"""

from __future__ import annotations

import re

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 # spreadsheets know both widths
_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>#|&~$]")
_BEGINS_A_BLOCK = re.compile(r"(\d{0,9})(?=[.)](?: |$)|[-+](?: |$)|[-=]+$)")


def escaped(text: str) -> str:
    r"""A text on one line for a terminal: what is not printable, line breaks and tabs included, as ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def json_text(value: object) -> str:
    r"""A JSON document with a line break at its end; in its strings, what is not printable as ``\u001b``."""
    import json  # noqa: PLC0415 (most commands print no JSON)

    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    # Outside of strings all is printable but line breaks; those in strings are escaped already.
    return "\n".join(line if line.isprintable() else _escaped_json(line) for line in text.split("\n")) + "\n"


def _escaped_json(line: str) -> str:
    import json  # noqa: PLC0415 (most commands print no JSON)

    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in line)


def csv_cell(text: str) -> str:
    """A cell: text by an apostrophe where a spreadsheet would compute it."""
    return f"'{escaped(text)}" if text.startswith(_FORMULA) else escaped(text)


def markdown(text: str) -> str:
    """Text that Markdown, GitHub's and GitLab's too, shows as it is: no markup, no HTML, no block of its own."""
    # Four blanks in front would begin a block of code.
    shown = _MARKDOWN.sub(r"\\\g<0>", escaped(text).lstrip(" "))
    block = _BEGINS_A_BLOCK.match(shown)
    return f"{block[1]}\\{shown[block.end() :]}" if block else shown
